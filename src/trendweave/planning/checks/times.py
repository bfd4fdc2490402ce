"""Columns of times: which kinds they may have, and what helps where they have another."""

from __future__ import annotations

from trendweave.events import ColumnType, Kind

TIME_KINDS = (Kind.TIMESTAMP, Kind.INTEGER, Kind.FLOAT)


def time_hint(found: ColumnType) -> str:
    """The way out where a column of times has another kind.

    Args:
        found: The type of the column.
    """
    if found.kind is Kind.STRING:
        return "give time_format='iso', or how times are written, such as time_format='%d.%m.%Y %H:%M:%S'"
    if found.kind is Kind.DATE:
        return "cast it to a timestamp"
    return "use a timestamp or a number of seconds"
