"""Times: timestamps, dates and durations, counted in ticks of microseconds or nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow.numbers import calculate, multiply_by
from trendweave.expressions.arrow.values import INTEGER, TICKS_PER_SECOND, Value

_SECONDS_PER_DAY = 86_400


def write_duration(nanoseconds: int | None) -> pa.Scalar:
    """Write a length of time as a scalar: in microseconds where that is exact.

    Args:
        nanoseconds: The length.

    Returns:
        The duration.
    """
    assert nanoseconds is not None, "a problem was reported for it"
    if nanoseconds % 1_000:
        return pa.scalar(nanoseconds, pa.duration("ns"))
    return pa.scalar(nanoseconds // 1_000, pa.duration("us"))


def is_of_time(value: Value) -> bool:
    """Tell timestamps, dates and durations from other values.

    Args:
        value: A column, or a scalar where all rows have the same value.

    Returns:
        Is it one?
    """
    return types.is_timestamp(value.type) or types.is_date(value.type) or types.is_duration(value.type)


def has_unit(kind: pa.DataType, unit: str) -> bool:
    """Test the unit of a timestamp or duration.

    Args:
        kind: Any type.
        unit: The unit as Arrow writes it.

    Returns:
        Does it count in this unit?
    """
    return (types.is_timestamp(kind) or types.is_duration(kind)) and kind.unit == unit


def time_unit(values: Sequence[Value]) -> str:
    """Find the unit in which values meet.

    Args:
        values: Columns or scalars.

    Returns:
        Nanoseconds where one of them has them, else microseconds.
    """
    return "ns" if any(has_unit(value.type, "ns") for value in values) else "us"


def count_ticks(value: Value, unit: str) -> Value:
    """Count units since the epoch, or in a duration.

    Args:
        value: A column, or a scalar where all rows have the same value.
        unit: The unit as Arrow writes it.

    Returns:
        Integers; NULL where 64 bits are not enough.
    """
    if types.is_date(value.type):
        days = pc.cast(pc.cast(value, pa.int32()), INTEGER)
        return multiply_by(days, _SECONDS_PER_DAY * TICKS_PER_SECOND[unit])
    return multiply_by(pc.cast(value, INTEGER), TICKS_PER_SECOND[unit] // TICKS_PER_SECOND[value.type.unit])


def from_ticks(ticks: Value, unit: str, is_duration: bool) -> Value:
    """Turn counted units into times.

    Args:
        ticks: How many units.
        unit: The unit as Arrow writes it.
        is_duration: Durations, or timestamps in UTC?

    Returns:
        The times.
    """
    return pc.cast(ticks, pa.duration(unit) if is_duration else pa.timestamp(unit, "UTC"))


def calculate_times(operator: str, left: Value, right: Value) -> Value:
    """Add or subtract times.

    Args:
        operator: + or -.
        left: A column, or a scalar where all rows have the same value.
        right: A column, or a scalar where all rows have the same value.

    Returns:
        A duration or a timestamp; NULL where 64 bits are not enough.
    """
    unit = time_unit([left, right])
    moments = [not types.is_duration(value.type) for value in (left, right)]
    ticks = calculate(operator, count_ticks(left, unit), count_ticks(right, unit))
    # The difference of two moments is a duration; a moment and a duration make a moment.
    return from_ticks(ticks, unit, is_duration=moments[0] == moments[1])
