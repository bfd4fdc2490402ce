"""Tables as bytes with their schema: Arrow's stream format."""

from __future__ import annotations

import pyarrow as pa


def as_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_stream(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
