"""Numbers that are taken for one unit, and are probably something finer."""

from __future__ import annotations

import logging

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.rows.given_times.units import PER_SECOND, TIME_UNITS, UNIT_NAMES, TimeUnit

#: The year 2200, in seconds since 1970.
FAR_FUTURE = 7_258_118_400
_LOG = logging.getLogger("trendweave")


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
