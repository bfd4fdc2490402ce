"""Times as people have them, numbers since 1970 in some unit or text, read as timestamps.

Only the kinds of columns are known to checks; Spark reads the same texts by the same regular expressions. Other
times than those of the years 1 to 9999 fit no datetime of Python, and numbers that are probably something finer than
the unit they are taken for are reported.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, OptionError, Problem, near_names
from trendweave.events import ColumnType, Kind, Schema
from trendweave.expressions.arrow.values import join_chunks
from trendweave.planning.checks.trends import CAST

#: The first second of the year 1, and that of the year 10000.
_FIRST, _END = -62_135_596_800, 253_402_300_800


def check_years(column: pa.ChunkedArray, name: str, unit: TimeUnit) -> None:
    """Refuse times that numbers put into a year that is not written.

    Args:
        column: Times as timestamps.
        name: The name of the column that they come from.
        unit: What its numbers are said to count.

    Raises:
        DataError: A time lies in another year.
    """
    ends = pc.min_max(column.cast(pa.int64())).as_py()
    for step in (ends["max"], ends["min"]):
        if step is not None:
            check_year(step, column.type.unit, name, unit)


def check_year(step: int, counted: str, name: str, unit: TimeUnit) -> None:
    """The same for one time.

    Args:
        step: It, in steps since 1970.
        counted: The unit of these steps.
        name: The name of the column that it comes from.
        unit: What numbers of the column are said to count.

    Raises:
        DataError: It lies in another year.
    """
    second = step // PER_SECOND[counted]
    if _FIRST <= second < _END:
        return
    time = count_in(step, counted, unit)
    place = "the year 9999" if second >= _END else "the year 1"
    message = f"{describe_place(name, time, unit, 'beyond' if second >= _END else 'before')} {place}"
    raise DataError([Problem("TW310", message, suggest_unit(time, unit))])


TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
TIME_UNITS: tuple[TimeUnit, ...] = ("s", "ms", "us", "ns")
UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: Microseconds in one of a unit, of those that floats can be of.
MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
#: How many of a unit are a second.
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read_time_options(unit: object, format: object) -> TimeReading:
    """Check `time_unit` and `time_format`.

    Args:
        unit: One of `TIME_UNITS`; None where it is not given.
        format: "iso", or how times are written; None where it is not given.

    Raises:
        OptionError: One of them is not understood, or both are given.
    """
    if unit is None and format is None:
        return AS_THEY_ARE
    if unit is not None and format is not None:
        hint = "time_unit is for numbers, time_format for text"
        raise _refuse_option("time_unit and time_format are both given", hint)
    if format is not None:
        if not isinstance(format, str):
            hint = "write 'iso', or such as '%d.%m.%Y %H:%M:%S'"
            raise _refuse_option(f"time_format is a text, not {format!r}", hint)
        return TimeReading(written=read_format(format))
    for known in TIME_UNITS:
        if unit == known or unit == UNIT_NAMES[known]:
            return TimeReading(unit=known)
    names = (*TIME_UNITS, *UNIT_NAMES.values())
    written = str(unit).lower()
    hint = f"write {written!r}" if written in names else near_names(written, UNIT_NAMES.values())
    units = ", ".join(f"{short} ({name})" for short, name in UNIT_NAMES.items())
    raise _refuse_option(f"time_unit is one of {units}, not {unit}", hint or "write 'ms' for milliseconds since 1970")


def _refuse_option(message: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", message, hint)])


#: What a column of times holds.
Family: TypeAlias = Literal["text", "whole numbers", "decimals", "dates", "timestamps", "others"]


def refuse_written(written: Written, family: Family) -> tuple[str, str] | None:
    """Why a column is not read by `time_format`, and the hint; None where it is.

    Args:
        written: How times are written.
        family: What the column holds. Timestamps stay what they are where "iso" is asked for.
    """
    match family:
        case "text":
            return None
        case "decimals":
            return "time_format is for text", f"{CAST}, and give time_unit for numbers since 1970"
        case "dates":
            if written.is_iso:
                return None
            return "this time_format is for text", "give time_format='iso', which takes dates too"
        case "timestamps":
            return "time_format is for text", "leave time_format out"
        case "whole numbers" if written.fits_numbers:
            return None
        case "whole numbers" if not written.is_iso:
            return "numbers lose zeros that a text begins with", "make it text, or begin time_format with %Y"
    hint = "give time_unit for numbers since 1970, or such as time_format='%Y%m%d%H%M%S' for 20240506140000"
    return "time_format is for text", hint


def refuse_unit(family: Family) -> tuple[str, str]:
    """Why a column that holds no numbers is not read by `time_unit`, and the hint.

    Args:
        family: What the column holds.
    """
    if family == "decimals":
        return "time_unit is for whole numbers and floats", CAST
    hints: dict[Family, str] = {
        "text": f"give time_format instead; of numbers that are text, {CAST}",
        "dates": "give time_format='iso' instead",
    }
    return "time_unit is for numbers", hints.get(family, "leave time_unit out")


#: The name of the usual way: 2024-05-01, 2024-05-01 12:30, 2024-05-01T12:30:59.123456+02:00.
ISO = "iso"
MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_ZONE = r"[Zz]|[+-]\d\d(?::?\d\d)?"
_MONTH_NAMES = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_LONG_NAMES = "january|february|march|april|may|june|july|august|september|october|november|december"
#: What stands for a part of a time: the name of the part, and how it is written.
_DIRECTIVES = {
    "Y": ("year", r"\d{4}"),
    "y": ("short_year", r"\d{2}"),
    "m": ("month", r"\d{1,2}"),
    "b": ("month_name", f"(?i:{_MONTH_NAMES})"),
    "B": ("month_name", f"(?i:{_LONG_NAMES})"),
    "d": ("day", r"\d{1,2}"),
    "H": ("hour", r"\d{1,2}"),
    "I": ("half_hour", r"\d{1,2}"),
    "p": ("half", "(?i:am|pm)"),
    "M": ("minute", r"\d{1,2}"),
    "S": ("second", r"\d{1,2}"),
    "f": ("fraction", r"\d{1,9}"),
    "z": ("zone", _ZONE),
}
_TOGETHER = {"T": "%H:%M:%S", "F": "%Y-%m-%d", "R": "%H:%M", "D": "%m/%d/%y"}
_ISO_PARTS = (
    ("year", "month", "day", "hour", "minute", "second", "fraction", "zone"),
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2})(?::(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?)?\s*(" + _ZONE + ")?",
)


@dataclass(frozen=True, slots=True)
class Written:
    """How times are written.

    Attributes:
        parts: The names of the parts, in the order of the groups of the expression.
        expression: A regular expression that a whole text fits. RE2, Java and Python read it alike.
    """

    parts: tuple[str, ...]
    expression: str

    @property
    def is_iso(self) -> bool:
        """Whether it is the usual way."""
        return self == USUAL

    @property
    def fits_numbers(self) -> bool:
        """Whether numbers can be texts that are written so: one that begins with a year has lost no zeros."""
        return not self.is_iso and self.parts[0] == "year"

    def named(self) -> str:
        """The expression with names for its groups, as RE2 has them."""
        names = iter(self.parts)
        return re.sub(r"(?<!\\)\((?!\?)", lambda _: f"(?P<{next(names)}>", self.expression)


def _whole(expression: str) -> str:
    return rf"\A\s*{expression}\s*\z"


USUAL = Written(_ISO_PARTS[0], _whole(_ISO_PARTS[1]))


def read_format(text: str) -> Written:
    """Read how times are written.

    Args:
        text: "iso", or a text in which `%Y %y %m %b %B %d %H %I %p %M %S %f %z %T %F %R %D` stand for parts of a time,
            as in Python's `strptime`.

    Raises:
        OptionError: A part is not known, stands there twice, or the day is not told.
    """
    if text.lower() == ISO:
        return USUAL
    spelled = re.sub(r"%%|%([TFRD])", lambda found: _TOGETHER[found[1]] if found[1] else found[0], text)
    parts, expression = list[str](), ""
    for found in re.finditer(r"%(.?)|(\s+)|([^%\s]+)", spelled, re.DOTALL):
        directive, space, literal = found.groups()
        if space:
            expression += r"\s+"
        elif literal:
            expression += "".join(map(_literal, literal))
        elif directive == "%":
            expression += "%"
        elif directive in _DIRECTIVES:
            part, written = _DIRECTIVES[directive]
            parts.append(part)
            expression += f"({written})"
        else:
            known = " ".join(f"%{one}" for one in (*_DIRECTIVES, *_TOGETHER))
            raise _refuse_format(text, f"%{directive} is not known", f"known are {known}")
    _check(text, parts)
    return Written(tuple(parts), _whole(expression))


def _check(text: str, parts: list[str]) -> None:
    twice = sorted({part for part in parts if parts.count(part) > 1})
    if twice:
        raise _refuse_format(text, f"it tells the {twice[0].replace('_', ' ')} twice", "keep one of them")
    of_each = (("year", "short_year"), ("month", "month_name"), ("day",))
    for choice in of_each:
        if sum(part in parts for part in choice) != 1:
            raise _refuse_format(
                text, f"it does not tell the {choice[0]} once", "write it such as '%Y-%m-%d %H:%M:%S', or 'iso'"
            )
    if ("half_hour" in parts) != ("half" in parts) or ("hour" in parts and "half_hour" in parts):
        raise _refuse_format(text, "%I and %p go together, and without %H", "write %I with %p, or %H alone")


def _literal(character: str) -> str:
    """A character that stands for itself, in every kind of regular expression."""
    return character if character.isalnum() or character in "_ ,:;/-'\"" else rf"\x{{{ord(character):x}}}"


def _refuse_format(text: str, why: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", f"time_format is {text!r}: {why}", hint)])


_MOMENT = pa.timestamp("us", "UTC")
_NAMES = pa.array([MONTHS[place : place + 3] for place in range(0, len(MONTHS), 3)])


def read_texts(column: pa.ChunkedArray, written: Written) -> pa.ChunkedArray:
    """Read texts as moments.

    Args:
        column: Texts.
        written: How they are written.

    Returns:
        Microseconds since 1970 as timestamps of UTC; NULL where a text does not fit, or tells no day that there is.
    """
    if written.is_iso:
        # Most files have one way of writing them, which Arrow reads quickly; it refuses a column that has several.
        for kind in (_MOMENT, pa.timestamp("us")):
            with suppress(pa.ArrowInvalid):
                return column.cast(kind).cast(_MOMENT)
    found = join_chunks(pc.extract_regex(column.cast(pa.large_string()), written.named()))
    fits = np.asarray(pc.is_valid(found))
    parts = {name: pc.struct_field(found, name) for name in written.parts}
    moments, there_is = _moments(parts, len(found))
    micros = pa.array(moments, pa.int64(), mask=~(fits & there_is))
    return pa.chunked_array([micros.cast(_MOMENT)])


def _moments(parts: dict[str, pa.Array], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Microseconds, and whether there is such a time."""
    year = _number(parts, "year", rows, 1970)
    if "short_year" in parts:
        short = _number(parts, "short_year", rows)
        year = np.where(short >= 69, 1900, 2000) + short
    month = _number(parts, "month", rows, 1)
    if "month_name" in parts:
        first = pc.utf8_lower(pc.utf8_slice_codeunits(parts["month_name"], 0, 3))
        month = np.asarray(pc.fill_null(pc.index_in(first, _NAMES.cast(first.type)), 0)).astype(np.int64) + 1
    day, hour = _number(parts, "day", rows, 1), _number(parts, "hour", rows)
    good = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24)
    if "half_hour" in parts:
        half = _number(parts, "half_hour", rows, 12)
        good &= (half >= 1) & (half <= 12)
        after_noon = np.asarray(pc.fill_null(pc.equal(pc.utf8_lower(parts["half"]), "pm"), False))
        hour = half % 12 + 12 * after_noon
    minute, second = _number(parts, "minute", rows), _number(parts, "second", rows)
    good &= (minute < 60) & (second < 60)
    months = (year - 1970) * 12 + np.clip(month, 1, 12) - 1
    first_day = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    next_first = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64)
    good &= first_day + day <= next_first
    seconds = ((first_day + day - 1) * 24 + hour) * 3600 + minute * 60 + second
    offset, fits = _offset(parts, rows)
    return (seconds - offset) * 1_000_000 + _micros(parts, rows), good & fits


def _number(parts: dict[str, pa.Array], name: str, rows: int, without: int = 0) -> np.ndarray:
    if name not in parts:
        return np.full(rows, without, np.int64)
    return np.asarray(_digits(parts[name], without))


def _digits(text: pa.Array, without: int = 0) -> pa.Array:
    known = pc.if_else(pc.equal(pc.binary_length(text), 0), None, text)
    return pc.fill_null(known.cast(pa.int64()), without)


def _micros(parts: dict[str, pa.Array], rows: int) -> np.ndarray:
    """Of a fraction of a second; what is finer is cut off."""
    if "fraction" not in parts:
        return np.zeros(rows, np.int64)
    six = pc.utf8_slice_codeunits(pc.utf8_rpad(parts["fraction"], 6, "0"), 0, 6)
    return np.asarray(_digits(six))


def _offset(parts: dict[str, pa.Array], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds that a zone is ahead of UTC, and whether there is such a zone."""
    if "zone" not in parts:
        return np.zeros(rows, np.int64), np.ones(rows, np.bool_)
    zone = pc.fill_null(parts["zone"], "")
    digits = pc.replace_substring_regex(zone, "[^0-9]", "")
    padded = pc.utf8_rpad(digits, 4, "0")
    hours = np.asarray(_digits(pc.utf8_slice_codeunits(padded, 0, 2)))
    minutes = np.asarray(_digits(pc.utf8_slice_codeunits(padded, 2, 4)))
    sign = np.where(np.asarray(pc.starts_with(zone, "-")), -1, 1)
    # As Java has it: 18 hours at most.
    return sign * (hours * 3600 + minutes * 60), (minutes < 60) & (hours * 60 + minutes <= 18 * 60)


#: The year 2200, in seconds since 1970.
FAR_FUTURE = 7_258_118_400


def warn_of_far_future(
    column: pa.ChunkedArray,
    name: str,
    unit: TimeUnit | None = None,
) -> None:
    """Warn where times that are, or were, numbers lie beyond the year 2200.

    Args:
        column: Times as they are counted, or as timestamps where they are read.
        name: The name of the column.
        unit: What they are said to count; None for seconds that stay numbers.
    """
    if text := describe_far_future(column, name, unit):
        _LOG.warning("%s", text)


def describe_far_future(
    column: pa.ChunkedArray,
    name: str,
    unit: TimeUnit | None = None,
) -> str:
    """What there is to warn of; empty where there is nothing. See `warn_of_far_future`."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        if unit is None:
            return ""
        latest = pc.max(column.cast(pa.int64())).as_py()
        latest = None if latest is None else count_in(latest, kind.unit, unit)
    # Small floats and integers hold no such time.
    elif (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and kind.bit_width >= 32:
        latest = pc.max(column).as_py()
    else:
        return ""
    if latest is None or not FAR_FUTURE * PER_SECOND[unit or "s"] < latest < float("inf"):
        return ""
    return f"{describe_place(name, latest, unit)} the year 2200; {suggest_unit(latest, unit)}"


def count_in(steps: float, counted: str, unit: TimeUnit) -> float:
    """Steps of one unit as those of another; whole ones stay whole.

    Args:
        steps: How many there are since 1970.
        counted: Their unit.
        unit: The other one.
    """
    many = steps * PER_SECOND[unit]
    return many / PER_SECOND[counted] if many % PER_SECOND[counted] else many // PER_SECOND[counted]


def describe_place(name: str, time: float, unit: TimeUnit | None, side: str = "beyond") -> str:
    """The begin of a sentence about a time that is far off."""
    return f"times of {name} are taken for {UNIT_NAMES[unit or 's']} since 1970, and {time} lies {side}"


def suggest_unit(time: float, unit: TimeUnit | None = None) -> str:
    """Suggest the unit that such a time probably has.

    Args:
        time: It, as it is counted.
        unit: What it is said to count.
    """
    finer = TIME_UNITS[TIME_UNITS.index(unit or "s") + 1 :]
    if not finer:
        return "remove broken times"
    likely = next((one for one in finer if abs(time) / PER_SECOND[one] <= FAR_FUTURE), finer[-1])
    return f"give time_unit={likely!r} if they are {UNIT_NAMES[likely]}"


_FAMILIES: dict[Kind, Family] = {
    Kind.STRING: "text",
    Kind.INTEGER: "whole numbers",
    Kind.DECIMAL: "decimals",
    Kind.DATE: "dates",
    Kind.TIMESTAMP: "timestamps",
}
_MICROSECOND = 1_000


def read_kinds(columns: Schema, names: tuple[str, ...], reading: TimeReading) -> Schema:
    """The columns of events once their times are read.

    Args:
        columns: The columns as they come.
        names: Those that hold times; one that is not there is for checks to tell.
        reading: How they are read.

    Raises:
        DataError: A column is not read so.
    """
    if not reading.changes:
        return columns
    return columns | {name: _read_kind(columns[name], name, reading) for name in names if name in columns}


def _read_kind(column: ColumnType, name: str, reading: TimeReading) -> ColumnType:
    family = _FAMILIES.get(column.kind, "others")
    if reading.written is not None:
        if reading.written.is_iso and column.kind is Kind.TIMESTAMP:
            return column
        refused = refuse_written(reading.written, family)
    else:
        refused = None if column.kind in (Kind.INTEGER, Kind.FLOAT) else refuse_unit(family)
    if refused is not None:
        message = f"the time column {name} is {column.kind.value}, and {refused[0]}"
        raise DataError([Problem("TW303", message, refused[1])])
    if reading.unit is not None and column.kind is Kind.INTEGER:
        return ColumnType(Kind.TIMESTAMP, step=10**9 // PER_SECOND[reading.unit])
    return ColumnType(Kind.TIMESTAMP, step=_MICROSECOND)


#: So many digits are rather a number since 1970 than a day.
_NUMBER = re.compile(r"\s*\d{9,19}(\.\d*)?\s*")
_LOG = logging.getLogger("trendweave")


@dataclass(frozen=True, slots=True)
class TimeReading:
    """How columns of times are read.

    Attributes:
        unit: What numbers count, since 1970; None for seconds, which stay numbers.
        written: How texts are written; None where times are no text.
    """

    unit: TimeUnit | None = None
    written: Written | None = None

    @property
    def changes(self) -> bool:
        """Whether columns of times are not taken as they are."""
        return self.unit is not None or self.written is not None


AS_THEY_ARE = TimeReading()


def read_type(kind: pa.DataType, name: str, reading: TimeReading) -> pa.DataType:
    """The type that times of a column get.

    Args:
        kind: The type that the column has.
        name: The name of the column.
        reading: How it is read.

    Raises:
        DataError: A column of this type is not read so.
    """
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if reading.written is not None:
        if reading.written.is_iso and pa.types.is_timestamp(plain):
            return plain
        refused = refuse_written(reading.written, _family(plain))
        if refused is not None:
            raise _refuse(name, kind, *refused)
        return pa.timestamp("us", "UTC")
    if reading.unit is None:
        return kind
    if pa.types.is_integer(plain):
        return pa.timestamp(reading.unit, "UTC")
    if pa.types.is_floating(plain):
        if reading.unit == "ns":
            raise _refuse(name, kind, "floats do not hold nanoseconds since 1970 exactly", "cast it to int64")
        return pa.timestamp("us", "UTC")
    raise _refuse(name, kind, *refuse_unit(_family(plain)))


def _family(kind: pa.DataType) -> Family:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_integer(kind):
        return "whole numbers"
    if pa.types.is_decimal(kind):
        return "decimals"
    if pa.types.is_date(kind):
        return "dates"
    return "timestamps" if pa.types.is_timestamp(kind) else "others"


def read_schema(schema: pa.Schema, names: tuple[str, ...], reading: TimeReading) -> pa.Schema:
    """The columns of events once their times are read.

    Args:
        schema: The columns as they came.
        names: Those that hold times; one that is not there is for checks to tell.
        reading: How they are read.

    Raises:
        DataError: A column is not read so.
    """
    if not reading.changes:
        return schema
    for name in names:
        place = schema.get_field_index(name)
        if place >= 0:
            schema = schema.set(place, pa.field(name, read_type(schema.field(place).type, name, reading)))
    return schema


def read_times(events: pa.Table, names: tuple[str, ...], reading: TimeReading) -> pa.Table:
    """Events whose times are read. A text that is no time is NULL, as a failed cast is.

    Args:
        events: Events as they came.
        names: The columns that hold times.
        reading: How they are read.

    Raises:
        DataError: A column is not read so, a number is no time of the years 1 to 9999,
            or no text of a column is a time.
    """
    if not reading.changes:
        return events
    for name in names:
        place = events.schema.get_field_index(name)
        if place >= 0:
            events = events.set_column(place, name, read_column(events.column(place), name, reading))
    return events


def read_column(column: pa.ChunkedArray, name: str, reading: TimeReading) -> pa.ChunkedArray:
    """One column; see `read_times`."""
    kind = read_type(column.type, name, reading)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if reading.written is not None:
        return _read_written(column, kind, name, reading.written)
    assert reading.unit is not None
    if pa.types.is_floating(column.type):
        found = _read_floats(column, name, MICROS[reading.unit])
    else:
        try:
            found = column.cast(pa.int64()).cast(kind)
        except pa.ArrowInvalid:
            raise _out_of_range(name) from None
    check_years(found, name, reading.unit)
    return found


def read_value(value: Any, kind: pa.DataType, name: str, reading: TimeReading) -> Any:
    """One time that came as a value of Python; None where it is no time.

    Args:
        value: A value of a column of type `kind`.
        kind: The type of the column as it comes.
        name: The name of the column.
        reading: How it is read.
    """
    if value is None:
        return None
    if reading.unit is not None and pa.types.is_integer(kind):
        if isinstance(value, int):
            check_year(value, reading.unit, name, reading.unit)
        return value  # whole numbers are steps of the timestamps already
    try:
        column = pa.chunked_array([pa.array([value], kind)])
    except (pa.ArrowException, TypeError) as error:
        message = f"the time {value!r} of {name} is not of the column's type, which is {kind}"
        raise DataError([Problem("TW312", message, "give it as a value of that type")]) from error
    if reading.written is not None and _family(kind) in ("text", "whole numbers"):
        return read_texts(column.cast(pa.large_string()), reading.written).cast(pa.int64())[0].as_py()
    return read_column(column, name, reading).cast(pa.int64())[0].as_py()


def _read_written(column: pa.ChunkedArray, kind: pa.DataType, name: str, written: Written) -> pa.ChunkedArray:
    match _family(column.type):
        case "timestamps":
            return column
        case "dates":
            return column.cast(pa.timestamp("us")).cast(kind)
        case "whole numbers":
            return _read_texts(column.cast(pa.large_string()), name, written)
        case _:
            return _read_texts(column, name, written)


def _read_texts(column: pa.ChunkedArray, name: str, written: Written) -> pa.ChunkedArray:
    moments = read_texts(column, written)
    unread = moments.null_count - column.null_count
    if unread and moments.null_count == len(moments):
        example = column.drop_null()[0].as_py()
        message = f"no text of {name} has the time_format; the first is {example!r}"
        hint = "write '%d.%m.%Y %H:%M' for 24.12.2025 18:30, and 'iso' for 2025-12-24T18:30"
        if _NUMBER.fullmatch(str(example)):
            hint = f"of numbers since 1970 that are text, {CAST}, and give time_unit instead"
        raise DataError([Problem("TW303", message, hint)])
    if unread:
        example = column.filter(pc.and_(pc.is_valid(column), pc.is_null(moments)))[0].as_py()
        _LOG.warning("%d texts of %s do not have the time_format; the first is %r", unread, name, example)
    return moments


def _read_floats(column: pa.ChunkedArray, name: str, factor: int) -> pa.ChunkedArray:
    """To the nearest microsecond, the fraction apart, so that it is not lost beside a large number."""
    values = column.cast(pa.float64()).to_numpy()
    known = np.isfinite(values)
    values = np.where(known, values, 0.0)
    if values.size and np.abs(values).max() * factor > 9.2e18:
        raise _out_of_range(name)
    whole = np.floor(values)
    micros = whole.astype(np.int64) * factor + np.rint((values - whole) * factor).astype(np.int64)
    return pa.chunked_array([pa.array(micros, pa.int64(), mask=~known).cast(pa.timestamp("us", "UTC"))])


def _refuse(name: str, kind: pa.DataType, why: str, hint: str) -> DataError:
    return DataError([Problem("TW303", f"the time column {name} is {kind}, and {why}", hint)])


def _out_of_range(name: str) -> DataError:
    message = f"times are out of range: some of {name} do not fit 64 bits in their unit"
    return DataError([Problem("TW310", message, "remove broken times, or give another time_unit")])


def check_result_times(rows: pa.Table, time: str, options: Mapping[str, Any]) -> None:
    """Warn of times beyond the year 2200, and refuse those that are not written as dates.

    Args:
        rows: The result.
        time: The name of the time column of the events.
        options: Those of the run; without a `time_unit`, times that are numbers are seconds.

    Raises:
        DataError: A time is none of the years 1 to 9999.
    """
    unit = options.get("time_unit")
    if unit is None:
        numbers = _find_numbers(rows, time)
        if numbers is not None:
            warn_of_far_future(numbers, time)
        return
    moments = [field.name for field in rows.schema if pa.types.is_timestamp(field.type)]
    for name in moments:
        check_years(rows.column(name), time, unit)
    if moments:
        warn_of_far_future(rows.column(moments[0]), time, unit)


def _find_numbers(rows: pa.Table, time: str) -> pa.ChunkedArray | None:
    """The first column that holds times, which may be numbers; other numbers of a result are no times."""
    names = rows.column_names
    of_situations = ("start",) if {"name", "start", "end"} <= set(names) else ()
    for name in ("window_start", "time", *of_situations, time):
        if name in names and rows.column(name).null_count < rows.num_rows:
            return rows.column(name)
    # Trends of one window over the whole input have the times of their events alone.
    if "events" not in names or not pa.types.is_list(rows.schema.field("events").type):
        return None
    listed = pc.list_flatten(rows.column("events"))
    if not pa.types.is_struct(listed.type) or listed.type.get_field_index("time") < 0:
        return None
    return pc.struct_field(listed, "time")
