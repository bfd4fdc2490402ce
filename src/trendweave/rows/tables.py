"""Tables in, the same kind of table out: Arrow, pandas, polars, and whatever speaks Arrow's C interface."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem


def as_arrow(events: Any, knows_null: bool = False) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """Read events from any kind of table.

    Args:
        events: An Arrow table, batch or reader, a pandas or polars frame, or anything with the Arrow C stream
            interface.
        knows_null: Whole numbers of a result stay such beside NULLs, where pandas would make floats of them.

    Returns:
        The events as an Arrow table, and how to hand a result back in the caller's kind of table.

    Raises:
        DataError: It is no table, or one that cannot be read.
    """
    try:
        table, give_back = _read(events)
        if knows_null and give_back is _as_pandas:
            give_back = _as_pandas_with_null
    except (pa.ArrowException, AttributeError, TypeError, ValueError) as error:
        hint = "give every column one type and a name of its own"
        raise DataError([Problem("TW308", f"the table cannot be read: {error}", hint)]) from error
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"the table has two columns named {', '.join(twice)}"
        raise DataError([Problem("TW308", message, "rename or drop one of them")])
    return pa.table({name: _use_plain_type(table.column(name)) for name in names}), give_back


def arrow_schema(events: Any) -> pa.Schema:
    """Read the columns of events as `as_arrow` gives them.

    Args:
        events: Their schema, or a table that has it.

    Returns:
        The columns.

    Raises:
        DataError: It is no table, or one that cannot be read.
    """
    if not isinstance(events, pa.Schema):
        return as_arrow(events)[0].schema
    return pa.schema([field.with_type(_plain_type(field.type)) for field in events])


def _use_plain_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Types that Arrow itself can compute with only in part, as those that stand for the same values."""
    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string())) for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, _plain_type(kind))
    if pa.types.is_run_end_encoded(kind):
        return _use_plain_type(pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type))
    plain = _plain_type(kind)
    return column if plain == kind else column.cast(plain)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return pa.dictionary(kind.index_type, pa.string())
    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type):
        return kind.value_type
    if pa.types.is_decimal(kind) and kind.scale < 0:
        return pa.decimal256(76, 0)
    return kind


def _read(events: Any) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    if isinstance(events, pa.Table):
        return events, _unchanged
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events]), _unchanged
    if isinstance(events, pa.RecordBatchReader):
        return events.read_all(), _unchanged
    package = type(events).__module__.split(".")[0]
    if package == "pandas":
        return pa.Table.from_pandas(events, preserve_index=False), _as_pandas
    if package == "polars" and hasattr(events, "collect"):
        events = events.collect()
    if hasattr(events, "__arrow_c_stream__"):
        table = pa.table(events)
        return table, _as_polars if package == "polars" else _unchanged
    message = f"events cannot be read from {type(events).__name__}"
    hint = "pass an Arrow table or reader, a pandas or polars frame, or anything with the Arrow C stream interface"
    raise DataError([Problem("TW308", message, hint)])


def restore_types(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of a table as it came, in its own types; those of `as_arrow` stand for the same values.

    Args:
        rows: Some rows of the table.
        schema: The columns of the table.
    """
    for place, field in enumerate(schema):
        column = rows.column(place)
        if column.type == field.type:
            continue
        if pa.types.is_dictionary(field.type):
            column = column.dictionary_encode()
        elif pa.types.is_run_end_encoded(field.type):
            column = pa.chunked_array([pc.run_end_encode(chunk) for chunk in column.chunks], field.type)
        rows = rows.set_column(place, field.name, column.cast(field.type))
    return rows


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _unchanged(table: pa.Table) -> pa.Table:
    return table


def _as_pandas(table: pa.Table) -> Any:
    frame = table.to_pandas()
    frame.attrs |= {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    return frame


def _as_pandas_with_null(table: pa.Table) -> Any:
    """Columns of whole numbers in which something is NULL have the type of pandas that knows it."""
    frame = _as_pandas(table)
    for field in table.schema:
        column = table.column(field.name)
        if pa.types.is_integer(field.type) and column.null_count:
            kind = f"{'I' if pa.types.is_signed_integer(field.type) else 'UI'}nt{field.type.bit_width}"
            frame[field.name] = sys.modules["pandas"].array(column.to_pylist(), dtype=kind)
    return frame


def _as_polars(table: pa.Table) -> Any:
    # Whoever passed a polars frame has imported it.
    return sys.modules["polars"].from_arrow(table)
