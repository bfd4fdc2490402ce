"""Moments as seconds since 1970, and zones. A time without a zone is drawn as it is written, whatever the machine's."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from trendweave.errors import OptionError, Problem, near_names

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


def seconds_of(moment: Any) -> float:
    """Tell where a time lies on an axis.

    Args:
        moment: A datetime with or without a zone, a date, or a number of seconds.

    Returns:
        Seconds since 1970 in UTC; a time without a zone counts as one in UTC.
    """
    if isinstance(moment, datetime):
        # Arrow gives nanoseconds as timestamps of pandas. All are exact: the distance to a float would be a float.
        if hasattr(moment, "nanosecond"):
            return _exactly(cast("Any", moment).value)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(moment, date):
        return datetime(moment.year, moment.month, moment.day, tzinfo=UTC).timestamp()
    return float(moment)


def seconds_of_column(column: pa.ChunkedArray) -> list[float]:
    """Tell the same of all times of a column, also of those before year 1 or after 9999, which Python cannot write."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        numbers = column.cast(pa.int64()).to_pylist()
        if any(number % 1_000 for number in numbers):
            return [_exactly(number) for number in numbers]
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64())
        return [value / 1e6 for value in micros.to_pylist()]
    return [seconds_of(value) for value in column.to_pylist()]


def _exactly(nanoseconds: int) -> float:
    """Seconds as a fraction: floats of our days tell microseconds apart, but no nanoseconds. It takes part in sums and
    comparisons as floats do."""
    return cast("float", Fraction(nanoseconds, 10**9))


def read_zone(name: str) -> tzinfo:
    """Read a zone as Arrow writes it: a name such as Europe/Berlin, or a distance such as +02:00.

    Raises:
        OptionError: There is no such zone.
    """
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        distance = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-distance if offset[1] == "-" else distance)
    if name.upper() in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        from zoneinfo import available_timezones

        hint = near_names(name, sorted(available_timezones())) or "give a name such as Europe/Berlin, or UTC"
        raise OptionError([Problem("TW408", f"there is no time zone {name}", hint)]) from error


def choose_zone(kind: pa.DataType, wanted: str | None) -> tuple[tzinfo | None, str]:
    """Choose the zone in which times of a column are written.

    Args:
        kind: The type of the column.
        wanted: The zone that was asked for; None for that of the column.

    Returns:
        The zone, and how it is called; None and no name for times without a zone.

    Raises:
        OptionError: There is no such zone, or one is asked for where times have none.
    """
    known = kind.tz if pa.types.is_timestamp(kind) else None
    if known is None:
        if wanted is not None:
            message = f"times have no zone and are drawn as they are, not in {wanted}"
            raise OptionError([Problem("TW408", message, "leave zone out, or give times with a zone")])
        return None, ""
    return read_zone(wanted or known), wanted or known
