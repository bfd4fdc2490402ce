"""Tables as bytes with their schema: Arrow's stream format."""

from __future__ import annotations

import pyarrow as pa


def as_stream(table: pa.Table) -> bytes:
    """Write a table as bytes.

    Args:
        table: The table.

    Returns:
        Arrow's stream format, which holds the schema too.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_stream(data: bytes) -> pa.Table:
    """Read a table that `as_stream` wrote.

    Args:
        data: The bytes.

    Returns:
        The table.

    Raises:
        pa.ArrowInvalid: They are no such table.
    """
    return pa.ipc.open_stream(data).read_all()
