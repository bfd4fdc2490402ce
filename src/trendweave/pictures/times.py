"""Moments as seconds since 1970, and zones. A time without a zone is drawn as it is written, whatever the machine's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, OptionError, Problem, near_names

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400
#: After 400 years a calendar begins again, on the same day of the week: so do the rules of zones.
_CYCLE = 146_097 * _DAY
#: Seconds that are a datetime of Python in every zone: from the second day of the year 1, up to the last one of 9999.
_FIRST, _END = -62_135_596_800 + _DAY, 253_402_300_800 - _DAY
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


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


def write_far_times(table: pa.Table) -> pa.Table:
    """Write times before year 1 and after 9999 as text, which no datetime of Python is, as Spark does.

    Args:
        table: Rows with times anywhere, also inside of lists.

    Returns:
        The same rows. All times of a column that has such a time are text: ISO 8601 with a sign before years of more
        than four digits and before those of before year 0, `+12024-02-29 12:00:00+01:00`.
    """
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if _has_far_times(column):
            texts = pa.chunked_array([_write_times(chunk) for chunk in column.chunks])
            table = table.set_column(place, field.name, texts)
    return table


def refuse_far_times(table: pa.Table) -> None:
    """Refuse to draw times before year 1 and after 9999.

    Raises:
        DataError: There is one.
    """
    if any(_has_far_times(column) for column in table.columns):
        message = "times are out of range: pictures of matches are drawn of the years 1 to 9999"
        raise DataError([Problem("TW310", message, "remove broken times, or write rows to a file")])


def _has_far_times(column: pa.ChunkedArray) -> bool:
    return any(_is_far(times) for chunk in column.chunks for times in _find_times(chunk))


def _find_times(values: pa.Array) -> Iterator[pa.Array]:
    if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
        yield values
    elif pa.types.is_list(values.type):
        yield from _find_times(values.flatten())
    elif pa.types.is_struct(values.type):
        for one in values.flatten():
            yield from _find_times(one)


def _is_far(times: pa.Array) -> bool:
    ends, per_second = pc.min_max(_as_numbers(times)).as_py(), _per_second(times.type)
    if ends["min"] is None:
        return False
    return bool(ends["min"] < _FIRST * per_second or ends["max"] >= _END * per_second)


def _write_times(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = read_zone(kind.tz) if pa.types.is_timestamp(kind) and kind.tz else None
        numbers = _as_numbers(values).to_pylist()
        return pa.array([None if one is None else _write_time(one, kind, zone) for one in numbers], pa.string())
    if pa.types.is_list(kind):
        # All that lies behind the list, also what a slice leaves out, as its offsets are those of the whole.
        inner = _write_times(values.values)
        validity, offsets = values.buffers()[:2]
        about = (len(values), [validity, offsets], values.null_count, values.offset)
        return pa.ListArray.from_buffers(pa.list_(inner.type), *about, children=[inner])
    if pa.types.is_struct(kind):
        inner = [_write_times(values.field(place)) for place in range(kind.num_fields)]
        names = [kind.field(place).name for place in range(kind.num_fields)]
        return pa.StructArray.from_arrays(inner, names, mask=values.is_null())
    return values


def _as_numbers(times: pa.Array) -> pa.Array:
    return (times.cast(pa.int32()) if pa.types.is_date32(times.type) else times).cast(pa.int64())


def _per_second(kind: pa.DataType) -> Fraction:
    if pa.types.is_date(kind):
        return Fraction(1, _DAY) if pa.types.is_date32(kind) else Fraction(_PER_SECOND["ms"])
    return Fraction(_PER_SECOND[kind.unit])


def _write_time(number: int, kind: pa.DataType, zone: tzinfo | None) -> str:
    """As Python writes times that it has."""
    second, part = divmod(Fraction(number) / _per_second(kind), 1)
    cycles = 0
    if second < _FIRST:
        cycles = (second - _FIRST) // _CYCLE
    elif second >= _END:
        cycles = (second - _END) // _CYCLE + 1
    moment = _EPOCH + timedelta(seconds=second - cycles * _CYCLE)
    moment = moment.replace(tzinfo=None) if zone is None else moment.astimezone(zone)
    year = moment.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    # The year of a moment has four digits.
    day, clock, offset = moment.isoformat()[4:10], moment.isoformat()[11:19], moment.isoformat()[19:]
    written = f"{sign}{abs(year):04}{day}"
    if pa.types.is_date(kind):
        return written
    parts = f".{int(part * 10**9):09}".removesuffix("000") if part else ""
    return f"{written} {clock}{parts}{offset}"
