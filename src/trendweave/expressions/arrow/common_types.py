"""The one type of each kind of values, and the types in which values of several kinds meet.

whole numbers     int64; a uint64 that does not fit is NULL
floats            float64
decimals          as they are, compared exactly with decimals and whole numbers; arithmetic takes them as float64
strings, binary   large_string, large_binary; dictionaries are decoded
timestamps        UTC, in microseconds, or in nanoseconds where the column has them; naive ones are UTC wall clock
dates             date32; next to a timestamp it is midnight UTC
durations         microseconds, or nanoseconds where needed; next to a number the number of seconds as float64
NULL              null, a type of its own
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow.numbers import common_decimal, digits_of, multiply_by, to_decimal
from trendweave.expressions.arrow.times import count_ticks, from_ticks, has_unit, is_of_time, time_unit
from trendweave.expressions.arrow.values import (
    FLOAT,
    INTEGER,
    LARGEST,
    SMALLEST,
    STRING,
    Value,
    drop_wrapped,
    to_float,
)


def use_one_type(column: pa.Array) -> pa.Array:
    """Convert a column to the one type of its kind; kinds that can only be tested for NULL stay as they are.

    Args:
        column: A column of any type.

    Returns:
        The column.
    """
    kind = column.type
    if types.is_dictionary(kind):
        return use_one_type(column.dictionary_decode())
    if types.is_uint64(kind):
        return drop_wrapped(pc.cast(column, INTEGER, safe=False), pc.cast(column, FLOAT, safe=False))
    if types.is_integer(kind):
        return pc.cast(column, INTEGER)
    if types.is_floating(kind):
        return pc.cast(column, FLOAT)
    if types.is_decimal(kind):
        digits, scale = digits_of(kind)
        return to_decimal(column, digits, scale)
    if types.is_string(kind) or types.is_string_view(kind):
        return pc.cast(column, STRING)
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return pc.cast(column, pa.large_binary())
    if types.is_date(kind):
        return pc.cast(column, pa.date32())
    if types.is_timestamp(kind) or types.is_duration(kind):
        unit = time_unit([column])
        return from_ticks(count_ticks(column, unit), unit, types.is_duration(kind))
    return column


def convert_to_common_type(values: Sequence[Value]) -> list[Value]:
    """Convert values to the type in which one of them is picked.

    Args:
        values: Columns or scalars.

    Returns:
        The same values in one type.
    """
    target = _common_type(values)
    return [_convert(value, target) for value in values]


def make_comparable(values: Sequence[Value]) -> list[Value]:
    """Convert values to the type in which they are compared.

    A time too far away for nanoseconds is at the end of their range: before or after all others, as it must be.

    Args:
        values: Columns or scalars.

    Returns:
        The same values in one type.
    """
    target = _common_type(values)
    convert = _clamp_to_nanoseconds if has_unit(target, "ns") else _convert
    return [convert(value, target) for value in values]


def _common_type(values: Sequence[Value]) -> pa.DataType:
    """What Spark SQL would turn values into before it compares them or picks one of them."""
    kinds = [value.type for value in values if not types.is_null(value.type)]
    if not kinds:
        return pa.null()
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(map(types.is_duration, kinds)):
        return pa.duration(time_unit(values))
    if any(types.is_floating(kind) or types.is_duration(kind) for kind in kinds):
        return FLOAT
    if any(map(types.is_decimal, kinds)):
        return common_decimal(kinds)
    return pa.timestamp(time_unit(values), "UTC")


def _convert(value: Value, target: pa.DataType) -> Value:
    if value.type == target:
        return value
    if types.is_null(value.type):
        return pc.cast(value, target)
    if types.is_floating(target):
        return to_float(value)
    if types.is_decimal(target):
        return to_decimal(value, target.precision - target.scale, target.scale)
    return from_ticks(count_ticks(value, target.unit), target.unit, types.is_duration(target))


def _clamp_to_nanoseconds(value: Value, target: pa.DataType) -> Value:
    if not is_of_time(value) or has_unit(value.type, "ns"):
        return _convert(value, target)
    ticks = count_ticks(value, "us")
    end_of_range = pc.if_else(pc.less(ticks, 0), SMALLEST, LARGEST)
    return from_ticks(pc.coalesce(multiply_by(ticks, 1_000), end_of_range), "ns", types.is_duration(target))
