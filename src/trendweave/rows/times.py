"""Times as integers in the unit of the time column, and the windows that hold them.

A time column is a timestamp or a number of seconds. Float seconds are read to the nearest microsecond, so that 0.3
lies in the window that begins at 0.3 although no float is exactly that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.planning.checks.trends import too_fine
from trendweave.planning.plan import MovingWindow, SlidingWindow

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
#: Float seconds beyond this do not fit 64 bits of microseconds.
MOST_SECONDS = 9.2e12


@dataclass(frozen=True, slots=True)
class TimeType:
    """How a time column counts: its Arrow type, and the nanoseconds in one step of the integers that stand for it."""

    arrow: pa.DataType
    step: int

    @property
    def is_float(self) -> bool:
        """Is it a number of seconds with a fraction?"""
        return pa.types.is_floating(self.arrow)


def time_type(arrow: pa.DataType) -> TimeType:
    """Find how a time column counts.

    Args:
        arrow: Its type.

    Returns:
        The type with the length of a step.
    """
    if pa.types.is_timestamp(arrow):
        return TimeType(arrow, _NANOSECONDS[arrow.unit])
    return TimeType(arrow, 1_000 if pa.types.is_floating(arrow) else 10**9)


def steps_of(length: int, kind: TimeType, what: str) -> int:
    """Count the steps of a length of time, which must be a whole number of them.

    Args:
        length: The length in nanoseconds.
        kind: How the time column counts.
        what: The clause that asks, for errors.

    Returns:
        How many steps.

    Raises:
        DataError: The length is finer than the time column.
    """
    if length % kind.step:
        raise DataError([too_fine(what, length, kind.step)])
    return length // kind.step


def has_time(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Tell which rows have a time: it is there, and it is a finite number. `runners.spark.prepare.has_time` is the same
    in Spark SQL.

    Args:
        column: The time column.

    Returns:
        True or False per row, never NULL.
    """
    return pc.fill_null(pc.is_finite(column), False) if pa.types.is_floating(column.type) else pc.is_valid(column)


def keep_rows_with_time(events: pa.Table, time: str) -> tuple[pa.Table, int]:
    """Drop the rows that have no time.

    Args:
        events: Rows as they came.
        time: The name of the time column.

    Returns:
        The other rows, and how many were dropped.
    """
    column = events.column(time)
    if not column.null_count and not pa.types.is_floating(column.type):
        return events, 0
    known = has_time(column)
    missing = events.num_rows - (pc.sum(known).as_py() or 0)
    return (events.filter(known), missing) if missing else (events, 0)


def as_steps(column: pa.ChunkedArray, kind: TimeType) -> np.ndarray:
    """Read times as whole steps.

    Args:
        column: Times, none of them missing.
        kind: How the time column counts.

    Returns:
        int64 steps.

    Raises:
        DataError: A time does not fit 64 bits.
    """
    if kind.is_float:
        return _microseconds(pc.cast(column, pa.float64()).to_numpy())
    try:
        return pc.cast(column, pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        raise _out_of_range("some do not fit 64 bits") from None


def _microseconds(seconds: np.ndarray) -> np.ndarray:
    if seconds.size and np.abs(seconds).max() > MOST_SECONDS:
        raise _out_of_range("some do not fit 64 bits of microseconds")
    # In two parts, so that the fraction is not lost beside large whole seconds.
    whole = np.floor(seconds)
    return whole.astype(np.int64) * 1_000_000 + np.rint((seconds - whole) * 1e6).astype(np.int64)


def sliding_range(steps: np.ndarray, window: SlidingWindow, kind: TimeType) -> tuple[np.ndarray, np.ndarray]:
    """Find the windows `[i * slide, i * slide + length)` that hold each time.

    Args:
        steps: The times.
        window: The window of the plan.
        kind: How the time column counts.

    Returns:
        The first and the last number i.

    Raises:
        DataError: The edge of a window does not fit 64 bits.
    """
    length, slide = steps_of(window.length, kind, "WITHIN"), steps_of(window.slide, kind, "SLIDE")
    check_edges(steps, length)
    last = np.floor_divide(steps, slide)
    if length == slide:
        return last, last
    return np.floor_divide(steps - length, slide) + 1, last


def check_edges(steps: np.ndarray, length: int) -> None:
    """Check that windows of this length around some times have edges that fit 64 bits.

    Args:
        steps: The times.
        length: The length of the windows.

    Raises:
        DataError: An edge does not fit.
    """
    if steps.size and (int(steps.min()) < -(2**63) + length or int(steps.max()) > 2**63 - 1 - length):
        raise _out_of_range("a window around them would begin or end outside of 64 bits")


def moving_reach(window: MovingWindow, kind: TimeType) -> tuple[int, bool]:
    """Find how far a window that moves with the stream looks back.

    Args:
        window: The window of the plan.
        kind: How the time column counts.

    Returns:
        (steps, exact): time p lies in the window of t iff p > t - steps, or p >= t - steps where the length is not
        exact.
    """
    steps = Fraction(window.length, kind.step)
    whole = steps.numerator // steps.denominator
    return whole, whole == steps


def moving_span(window: MovingWindow, kind: TimeType) -> int:
    """Count the steps within which the times of a trend lie: two of them are less than so many steps apart.

    Args:
        window: The window of the plan.
        kind: How the time column counts.

    Returns:
        The length in steps, rounded up.
    """
    return -(-window.length // kind.step)


def ends_of(begins: np.ndarray, length: int) -> np.ndarray:
    """Find the ends of windows of some trends' own.

    Args:
        begins: Where they begin, in steps.
        length: How long they are.

    Returns:
        Where they end.

    Raises:
        DataError: An end does not fit 64 bits.
    """
    if begins.size and int(begins.max()) > 2**63 - 1 - length:
        raise _out_of_range("NOT at the end of a trend would wait until after the end of 64 bits")
    return begins + length


def edges_of(windows: np.ndarray, window: SlidingWindow, kind: TimeType) -> tuple[pa.Array, pa.Array]:
    """Write windows as their edges.

    Args:
        windows: Their numbers.
        window: The window of the plan.
        kind: How the time column counts.

    Returns:
        Start and end in the type of the time column.
    """
    slide, length = window.slide // kind.step, window.length // kind.step
    start = windows * slide
    return as_times(start, kind), as_times(start + length, kind)


def as_times(steps: np.ndarray, kind: TimeType) -> pa.Array:
    """Write steps as times.

    Args:
        steps: int64 steps.
        kind: How the time column counts.

    Returns:
        Times in the type of the time column.

    Raises:
        DataError: A time does not fit that type.
    """
    if kind.is_float:
        seconds = pa.array(steps / 1e6, pa.float64()).cast(kind.arrow, safe=False)
        if not np.array_equal(np.rint(seconds.cast(pa.float64()).to_numpy() * 1e6), steps.astype(np.float64)):
            hint = "cast the time column to float64"
            raise _out_of_range(f"a window edge does not fit the time column, which is {kind.arrow}", hint)
        return seconds
    numbers = pa.array(steps, pa.int64())
    return numbers.cast(kind.arrow) if pa.types.is_timestamp(kind.arrow) else _narrow(numbers, kind.arrow)


def _narrow(numbers: pa.Array, target: Any) -> pa.Array:
    try:
        return numbers.cast(target)
    except pa.ArrowInvalid:
        hint = "cast the time column to a wider, signed type"
        raise _out_of_range(f"a window edge does not fit the time column, which is {target}", hint) from None


def _out_of_range(why: str, hint: str = "remove broken times, or cast the time column to a coarser type") -> DataError:
    return DataError([Problem("TW310", f"times are out of range: {why}", hint)])
