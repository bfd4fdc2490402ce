"""Parts of moments and days, all in UTC. `spark_sql` says the same in Spark SQL.

A moment is a timestamp or a date; days are counted from the epoch in the Gregorian calendar, whatever the year.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow.numbers import multiply_by
from trendweave.expressions.arrow.times import count_ticks, from_ticks, time_unit
from trendweave.expressions.arrow.values import INTEGER, TICKS_PER_SECOND

_SECONDS_PER_DAY = 86_400
#: Units of DATE_TRUNC that have the same length everywhere, in milliseconds.
_FIXED_UNITS = {"MILLISECOND": 1, "SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}


def _part(of_days: Callable[[np.ndarray], np.ndarray]) -> Callable[[pa.Array], pa.Array]:
    """A function of the day on which a moment lies."""

    def part(moments: pa.Array) -> pa.Array:
        return _integers(of_days(_days(moments)), moments)

    return part


def _clock(modulo: int, seconds: int) -> Callable[[pa.Array], pa.Array]:
    """A function of the time of the day."""

    def part(moments: pa.Array) -> pa.Array:
        return _integers(_seconds(moments) % modulo // seconds, moments)

    return part


def _months_of(days: np.ndarray) -> np.ndarray:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _first_days(months: np.ndarray) -> np.ndarray:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _years_of(days: np.ndarray) -> np.ndarray:
    return _months_of(days) // 12 + 1970


def _days_of_year(days: np.ndarray) -> np.ndarray:
    return days - _first_days(_months_of(days) // 12 * 12) + 1


def _weekdays(days: np.ndarray) -> np.ndarray:
    """0 is Monday; the epoch was a Thursday."""
    return (days + 3) % 7


def _weeks(days: np.ndarray) -> np.ndarray:
    """Of ISO 8601: a week belongs to the year of its Thursday."""
    return (_days_of_year(days - _weekdays(days) + 3) - 1) // 7 + 1


find_year = _part(_years_of)
find_quarter = _part(lambda days: _months_of(days) % 12 // 3 + 1)
find_month = _part(lambda days: _months_of(days) % 12 + 1)
find_day = _part(lambda days: days - _first_days(_months_of(days)) + 1)
find_day_of_week = _part(lambda days: (days + 4) % 7 + 1)  # 1 is Sunday, as in Spark
find_weekday = _part(_weekdays)
find_day_of_year = _part(_days_of_year)
find_week = _part(_weeks)
find_hour = _clock(86_400, 3_600)
find_minute = _clock(3_600, 60)
find_second = _clock(60, 1)


def to_date(moments: pa.Array) -> pa.Array:
    """DATE: find the day on which a moment lies.

    Args:
        moments: Timestamps or dates.

    Returns:
        Dates.
    """
    if types.is_date(moments.type):
        return moments
    return pc.cast(pc.cast(_integers(_days(moments), moments), pa.int32()), pa.date32())


def count_days(end: pa.Array, start: pa.Array) -> pa.Array:
    """DATEDIFF: count the days between two moments, as the calendar does.

    Args:
        end: The later moments.
        start: The earlier ones.

    Returns:
        Integers, below zero where the first is the earlier one.
    """
    return pc.subtract(_integers(_days(end), end), _integers(_days(start), start))


def count_seconds(moments: pa.Array) -> pa.Array:
    """UNIX_TIMESTAMP: count whole seconds since the epoch.

    Args:
        moments: Timestamps or dates.

    Returns:
        Integers.
    """
    return _integers(_seconds(moments), moments)


def truncate_moment(unit: str, moments: pa.Array) -> pa.Array:
    """DATE_TRUNC: go back to the beginning of a unit of time.

    Args:
        unit: Its name in upper case; weeks begin on Mondays.
        moments: Timestamps or dates.

    Returns:
        Timestamps; NULL where 64 bits are not enough.
    """
    ticks_unit = time_unit([moments])
    per_second = TICKS_PER_SECOND[ticks_unit]
    if unit in _FIXED_UNITS:
        ticks = count_ticks(moments, ticks_unit)
        size = _FIXED_UNITS[unit] * per_second // 1_000
        return from_ticks(_integers(_filled(ticks) // size * size, ticks), ticks_unit, is_duration=False)
    days = _days(moments)
    if unit == "WEEK":
        first = days - _weekdays(days)
    else:
        size = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]
        first = _first_days(_months_of(days) // size * size)
    ticks = multiply_by(_integers(first, moments), _SECONDS_PER_DAY * per_second)
    return from_ticks(ticks, ticks_unit, is_duration=False)


def _days(moments: pa.Array) -> np.ndarray:
    if types.is_date(moments.type):
        return _filled(pc.cast(moments, pa.int32())).astype(np.int64)
    return _seconds(moments) // _SECONDS_PER_DAY


def _seconds(moments: pa.Array) -> np.ndarray:
    """Whole seconds since the epoch; those of NULL mean nothing."""
    if types.is_date(moments.type):
        return _days(moments) * _SECONDS_PER_DAY
    return _filled(pc.cast(moments, INTEGER)) // TICKS_PER_SECOND[moments.type.unit]


def _filled(column: pa.Array) -> np.ndarray:
    filled: np.ndarray = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    return filled


def _integers(values: np.ndarray, source: pa.Array) -> pa.Array:
    """NULL where what they were made of is."""
    return pa.array(values, INTEGER, mask=pc.is_null(source).to_numpy(zero_copy_only=False))
