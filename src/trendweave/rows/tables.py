"""Tables in, the same kind of table out: Arrow, pandas, polars, lists of dictionaries, and whatever speaks Arrow's C
interface."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.rows.table_kinds.pandas_frames import as_pandas, write_counts
from trendweave.rows.table_kinds.python_rows import as_python_rows
from trendweave.table_files import read_file


def as_arrow(events: Any) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """Read events from any kind of table.

    Args:
        events: An Arrow table, batch or reader, a pandas or polars frame, a relation of DuckDB, anything with the
            Arrow C stream interface, a list of dictionaries, or the path of a file.

    Returns:
        The events as an Arrow table, and how to hand a result back in the caller's kind of table.

    Raises:
        DataError: It is no table, or one that cannot be read.
    """
    try:
        table, give_back = _read(events)
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
    if package in ("pandas", "polars") and type(events).__name__ == "Series":
        raise _no_table(events)
    if package == "pandas":
        return pa.Table.from_pandas(events, preserve_index=False), as_pandas
    if package == "polars" and hasattr(events, "collect"):
        events = events.collect()
    if hasattr(events, "__arrow_c_stream__") or hasattr(events, "__arrow_c_array__"):
        table = pa.table(events)
        return table, _as_polars if package == "polars" else _unchanged
    if hasattr(events, "to_arrow_table"):  # relations of DuckDB that lack the interface
        return events.to_arrow_table(), _unchanged
    if isinstance(events, str | Path):
        return read_file(events), _unchanged
    if isinstance(events, list | tuple) and all(isinstance(event, Mapping) for event in events):
        return _read_mappings(events), _as_mappings
    raise _no_table(events)


def _no_table(events: Any) -> DataError:
    return DataError([Problem("TW308", f"events cannot be read from {type(events).__name__}", _hint(events))])


def _read_mappings(events: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Columns are those of all of them; what one lacks is NULL."""
    names = list(dict.fromkeys(name for event in events for name in event))
    if not names:
        message = "the list of events is empty, so its columns are unknown"
        raise DataError([Problem("TW308", message, "give an Arrow table, which knows its columns without rows")])
    return pa.table({name: pa.array([event.get(name) for event in events]) for name in names})


def _hint(events: Any) -> str:
    """How events of another kind become such as are read."""
    if type(events).__name__ == "Series":
        return "a Series is one column; give the frame with all columns"
    if isinstance(events, Mapping) and events and all(isinstance(kind, str | pa.DataType) for kind in events.values()):
        return "of types by name, make a schema: pyarrow.schema(events)"
    if isinstance(events, Mapping):
        return "of columns by name, make a table: pyarrow.table(events)"
    if isinstance(events, Iterator):
        return "of single events take them one by one with push(), or make a list of them"
    return (
        "pass an Arrow table or reader, a pandas or polars frame, a list of dictionaries, the path of a file, or "
        "anything with the Arrow C stream interface"
    )


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


def _as_mappings(table: pa.Table) -> list[dict[str, Any]]:
    return write_counts(as_python_rows(table), table.schema)


def _as_polars(table: pa.Table) -> Any:
    # Whoever passed a polars frame has imported it.
    return sys.modules["polars"].from_arrow(table)
