"""Tables in, the same kind of table out: Arrow, pandas, polars, lists of dictionaries, and whatever speaks Arrow's C
interface.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.events import ColumnType, Kind, Schema, schema_of
from trendweave.rows.time_parsing import TimeReading, read_kinds
from trendweave.rows.unknown_types import TypedQuery, find_numbers, settle_types
from trendweave.table_files import read_columns_of_file, read_file


def refuse_pandas_on_spark(events: object) -> None:
    """Refuse a frame of `pyspark.pandas`, and say what to give instead.

    Args:
        events: Events of any kind.

    Raises:
        DataError: They are such a frame.
    """
    if type(events).__module__.startswith("pyspark.pandas"):
        message = "the events are a pandas-on-Spark frame"
        raise DataError([Problem("TW308", message, "give events.to_spark(), or events.to_pandas() if they are few")])


#: Where the metadata of a result's schema tells how its counts are written.
NUMBERS = "trendweave.numbers"
_LOG2 = "log2"


def mark_logarithms(rows: pa.Table) -> pa.Table:
    """Say in the metadata of a result's schema that its counts are logarithms."""
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), NUMBERS: _LOG2})


def are_logarithms(table: Any) -> bool:
    """Whether a result in this process says that its counts are logarithms.

    Args:
        table: A table of any kind; Arrow's has metadata, that of pandas attributes, and others say nothing.
    """
    if isinstance(table, pa.Table | pa.RecordBatch):
        return (table.schema.metadata or {}).get(NUMBERS.encode()) == _LOG2.encode()
    told = getattr(table, "attrs", None)
    return isinstance(told, dict) and told.get(NUMBERS) == _LOG2


#: The type of exact counts and sums.
_COUNT = pa.decimal128(38, 0)


def as_pandas(table: pa.Table) -> Any:
    """Rows as a frame; whoever asks for one has imported pandas.

    Whole numbers beside NULLs have the type of pandas that knows them, counts that do not fit 64 bits are integers of
    Python, and times inside of lists and structs are timestamps.

    Args:
        table: The rows.
    """
    frame = table.to_pandas()
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if field.type == _COUNT:
            frame[field.name] = _counts(column, frame.index)
        elif pa.types.is_integer(field.type) and column.null_count:
            frame[field.name] = _with_null(column)
        elif pa.types.is_nested(field.type) and _has_times(field.type):
            frame[field.name] = _objects(column, frame.index)
    frame.attrs |= {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    return frame


def write_counts(rows: list[dict[str, Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    """Rows of Python whose exact counts are integers.

    Args:
        rows: As Arrow writes them.
        schema: Their columns.
    """
    counts = [field.name for field in schema if field.type == _COUNT]
    for row in rows:
        for name in counts:
            row[name] = None if row[name] is None else int(row[name])
    return rows


def _counts(column: pa.ChunkedArray, index: Any) -> Any:
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        values = [None if value is None else int(value) for value in column.to_pylist()]
        return sys.modules["pandas"].Series(values, index, dtype=object)
    return _with_null(whole) if whole.null_count else whole.to_numpy()


def _with_null(column: pa.ChunkedArray) -> Any:
    kind = f"{'I' if pa.types.is_signed_integer(column.type) else 'UI'}nt{column.type.bit_width}"
    return sys.modules["pandas"].array(column.to_pylist(), dtype=kind)


def _has_times(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind):
        return True
    return any(_has_times(kind.field(place).type) for place in range(kind.num_fields))


def _objects(column: pa.ChunkedArray, index: Any) -> Any:
    values = np.empty(len(column), dtype=object)
    values[:] = [value for chunk in column.chunks for value in _values(chunk)]
    return sys.modules["pandas"].Series(values, index)


def _values(array: pa.Array) -> list[Any]:
    """Values of Python; lists are arrays of objects, as pandas has them."""
    if pa.types.is_timestamp(array.type):
        return [None if value is sys.modules["pandas"].NaT else value for value in array.to_pandas()]
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        flat, lengths = _values(array.flatten()), array.value_lengths().to_pylist()
        found, begin = list[Any](), 0
        for length in lengths:
            found.append(None if length is None else _array(flat[begin : begin + length]))
            begin += length or 0
        return found
    if pa.types.is_struct(array.type):
        fields = [_values(field) for field in array.flatten()]
        names = [array.type.field(place).name for place in range(array.type.num_fields)]
        rows = zip(*fields, strict=True)
        known = array.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, known, strict=True)]
    return array.to_pylist()


def _array(values: list[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def as_python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as Arrow writes them.

    Times in nanoseconds are timestamps of pandas. Where it is not installed, those of a whole microsecond are what
    Python has for them, and others are nanoseconds as whole numbers, so that nothing of them is lost.

    Args:
        table: The rows.

    Raises:
        DataError: A time is one that Python has not.
    """
    with _known_to_python():
        try:
            return table.to_pylist()
        except ValueError:  # without pandas Arrow refuses what is finer than a microsecond
            columns = [[value for chunk in column.chunks for value in _row_values(chunk)] for column in table.columns]
            return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def as_python_value(value: pa.Scalar) -> Any:
    """One value; see `as_python_rows`."""
    with _known_to_python():
        try:
            return value.as_py()
        except ValueError:
            return _row_values(pa.array([value.value], pa.int64()).cast(value.type))[0]


@contextmanager
def _known_to_python() -> Iterator[None]:
    """Say what Python cannot: the edge of a window may lie before its first year, or behind its last one."""
    try:
        yield
    except OverflowError:
        message = "times are out of range: those of Python's datetime lie in the years 1 to 9999"
        hint = "give events as an Arrow table (send_table in a session), and rows are one"
        raise DataError([Problem("TW310", message, hint)]) from None


def _row_values(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_temporal(kind) and getattr(kind, "unit", "") == "ns":
        coarser = _in_microseconds(kind)
        steps = array.cast(pa.int64()).to_pylist()
        return [None if step is None else _value(step, coarser) for step in steps]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        flat, lengths = _row_values(array.flatten()), array.value_lengths().to_pylist()
        found, begin = list[Any](), 0
        for length in lengths:
            found.append(None if length is None else flat[begin : begin + length])
            begin += length or 0
        return found
    if pa.types.is_struct(kind):
        names = [kind.field(place).name for place in range(kind.num_fields)]
        rows = zip(*map(_row_values, array.flatten()), strict=True)
        known = array.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, known, strict=True)]
    return array.to_pylist()


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) else pa.time64("us")


def _value(nanoseconds: int, coarser: pa.DataType) -> Any:
    if nanoseconds % 1_000:
        return nanoseconds
    return pa.scalar(nanoseconds // 1_000, pa.int64()).cast(coarser).as_py()


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


def find_columns(source: Any, queries: Collection[TypedQuery], times: tuple[str, ...], reading: TimeReading) -> Schema:
    """The columns of events once their times are read.

    Args:
        source: A table of any kind, a schema of Arrow or Spark, or a mapping from names of columns to types.
        queries: What is checked.
        times: The columns that hold times.
        reading: How these are read.

    Raises:
        DataError: There are no columns in it, or times are not read so.
    """
    table = None if isinstance(source, Mapping) else _read_few_rows(source)
    if table is not None:
        source = settle_types(table, queries, times, reading)
    columns = schema_of(source)
    unknown = {name for name, found in columns.items() if found.kind is Kind.NULL}
    if unknown:
        columns |= dict.fromkeys(unknown & find_numbers(queries), ColumnType(Kind.FLOAT))
    return read_kinds(columns, times, reading)


def _read_few_rows(events: Any) -> pa.Table | None:
    """A table with the columns of events that have no schema of their own; None of those that have one."""
    package = type(events).__module__.split(".")[0]
    if package == "polars" and hasattr(events, "collect"):
        return as_arrow(events.head(0))[0]
    if isinstance(events, str | Path):
        return read_columns_of_file(events)
    without_rows = package == "pandas" and hasattr(events, "columns") and not len(events)
    return as_arrow(events)[0] if without_rows or isinstance(events, list | tuple) else None
