"""Times of columns of which only the kinds are known: what checks see of them once they are read."""

from __future__ import annotations

from trendweave.errors import DataError, Problem
from trendweave.events import ColumnType, Kind, Schema
from trendweave.rows.given_times.reading import TimeReading
from trendweave.rows.given_times.refusing import Family, refuse_unit, refuse_written
from trendweave.rows.given_times.units import PER_SECOND

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
