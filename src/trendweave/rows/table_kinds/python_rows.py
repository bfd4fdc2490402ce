"""Rows as dictionaries of Python, also where there is no pandas for times in nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from trendweave.errors import DataError, Problem


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
            columns = [[value for chunk in column.chunks for value in _values(chunk)] for column in table.columns]
            return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def as_python_value(value: pa.Scalar) -> Any:
    """One value; see `as_python_rows`."""
    with _known_to_python():
        try:
            return value.as_py()
        except ValueError:
            return _values(pa.array([value.value], pa.int64()).cast(value.type))[0]


@contextmanager
def _known_to_python() -> Iterator[None]:
    """Say what Python cannot: the edge of a window may lie before its first year, or behind its last one."""
    try:
        yield
    except OverflowError:
        message = "times are out of range: those of Python's datetime lie in the years 1 to 9999"
        hint = "give events as an Arrow table (send_table in a session), and rows are one"
        raise DataError([Problem("TW310", message, hint)]) from None


def _values(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_temporal(kind) and getattr(kind, "unit", "") == "ns":
        coarser = _in_microseconds(kind)
        steps = array.cast(pa.int64()).to_pylist()
        return [None if step is None else _value(step, coarser) for step in steps]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        flat, lengths = _values(array.flatten()), array.value_lengths().to_pylist()
        found, begin = list[Any](), 0
        for length in lengths:
            found.append(None if length is None else flat[begin : begin + length])
            begin += length or 0
        return found
    if pa.types.is_struct(kind):
        names = [kind.field(place).name for place in range(kind.num_fields)]
        rows = zip(*map(_values, array.flatten()), strict=True)
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
