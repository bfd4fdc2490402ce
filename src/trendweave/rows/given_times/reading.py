"""Columns of times that are not what the engine counts in: whole numbers since 1970 in a finer unit, text, and dates.

They are read as timestamps where events come in, so that everything behind knows timestamps alone: windows, conditions,
and rows of the result.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.planning.checks.times import CAST
from trendweave.rows.given_times.known_years import check_year, check_years
from trendweave.rows.given_times.refusing import Family, refuse_unit, refuse_written
from trendweave.rows.given_times.text import read_texts
from trendweave.rows.given_times.units import MICROS, TimeUnit
from trendweave.rows.given_times.written import Written

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
