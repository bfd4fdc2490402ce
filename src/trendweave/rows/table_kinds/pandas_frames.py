"""Rows as a frame of pandas: whole numbers stay whole numbers, and times are timestamps wherever they stand."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

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
