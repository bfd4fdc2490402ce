"""Moments as seconds since 1970. A time without a zone is drawn as it is written, whatever the zone of the machine."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa


def seconds_of(moment: Any) -> float:
    """Tell where a time lies on an axis.

    Args:
        moment: A datetime with or without a zone, a date, or a number of seconds.

    Returns:
        Seconds since 1970 in UTC; a time without a zone counts as one in UTC.
    """
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(moment, date):
        return datetime(moment.year, moment.month, moment.day, tzinfo=UTC).timestamp()
    return float(moment)


def seconds_of_column(column: pa.ChunkedArray) -> list[float]:
    """Tell the same of all times of a column, also of those before year 1 or after 9999, which Python cannot write."""
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64())
        return [value / 1e6 for value in micros.to_pylist()]
    return [seconds_of(value) for value in column.to_pylist()]
