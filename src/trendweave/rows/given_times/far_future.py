"""Numbers that are taken for seconds, and are probably something finer."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.rows.given_times.reading import UNIT_NAMES

#: The year 2200, in seconds since 1970.
FAR_FUTURE = 7_258_118_400
_FACTORS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_LOG = logging.getLogger("trendweave")


def find_latest(column: pa.ChunkedArray) -> float | None:
    """The latest of times that are numbers; None where there is no time.

    Args:
        column: Times as they are counted.
    """
    latest: float | None = pc.max(column).as_py()
    return latest


def warn_of_far_future(
    column: pa.ChunkedArray, name: str, find: Callable[[pa.ChunkedArray], float | None] = find_latest
) -> None:
    """Warn where times that are numbers lie beyond the year 2200.

    Args:
        column: Times as they are counted.
        name: The name of the column.
        find: What finds the latest time.
    """
    if text := describe_far_future(column, name, find):
        _LOG.warning("%s", text)


def describe_far_future(
    column: pa.ChunkedArray, name: str, find: Callable[[pa.ChunkedArray], float | None] = find_latest
) -> str:
    """What there is to warn of; empty where there is nothing.

    Args:
        column: Times as they are counted.
        name: The name of the column.
        find: What finds the latest time.
    """
    kind = column.type
    # Small floats and integers hold no such time.
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) or kind.bit_width < 32:
        return ""
    latest = find(column)
    return far_future_text(name, latest) if latest is not None and FAR_FUTURE < latest < float("inf") else ""


def far_future_text(name: str, latest: float) -> str:
    """What is told of such a time, with the unit that it probably has."""
    unit = next((unit for unit, factor in _FACTORS.items() if latest / factor <= FAR_FUTURE), "ns")
    return (
        f"times of {name} are taken for seconds since 1970, and {latest} lies beyond the year 2200; "
        f"give time_unit={unit!r} if they are {UNIT_NAMES[unit]}"
    )
