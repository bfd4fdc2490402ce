"""Which windows there are over rows in order, and the places where their rows begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer
from trendweave.planning.operator_plans import RowCount, Window
from trendweave.rows.times import TimeType, as_steps, as_times, check_edges, steps_of

#: Rows of a result that would not fit a usual memory.
MOST_WINDOWS = 1_000_000_000
#: Further back than any time.
_FAR = 2**62
#: The first and the last number of a window.
ALL_WINDOWS = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class WindowEdges:
    """Windows, key by key, in order.

    Attributes:
        key: The key of each.
        low: The place of its first row.
        high: The place behind its last row.
        number: Of windows of time, i in `[i * slide, i * slide + length)`; else None.
        regular: The places of first rows, where they are all of one key and follow each other in one distance.
    """

    key: np.ndarray
    low: np.ndarray
    high: np.ndarray
    number: np.ndarray | None = None
    regular: slice | None = None

    def first(self, values: np.ndarray) -> np.ndarray:
        """What stands at the first row of each window."""
        return values[self.low] if self.regular is None else np.ascontiguousarray(values[self.regular])

    def last(self, values: np.ndarray) -> np.ndarray:
        """What stands at the last row of each window."""
        if self.regular is None or not self.low.size:
            return values[self.high - 1]
        length = int(self.high[0] - self.low[0])
        moved = slice(self.regular.start + length - 1, self.regular.stop + length - 1, self.regular.step)
        return np.ascontiguousarray(values[moved])

    def count(self, values: np.ndarray) -> np.ndarray:
        """How many flags are set in each window, or the sums of whole numbers that 64 bits hold; no window is empty."""
        total = np.zeros(values.size + 1, np.int64)
        np.cumsum(values, out=total[1:])
        return self.last(total[1:]) - self.first(total[:-1])

    def choose(self, chosen: np.ndarray) -> WindowEdges:
        """Some of them."""
        number = None if self.number is None else self.number[chosen]
        return WindowEdges(self.key[chosen], self.low[chosen], self.high[chosen], number)


@dataclass(frozen=True, slots=True)
class StepSpan:
    """Windows of time, `[i * slide, i * slide + length)` in steps of the time column. The last one whose end is not
    after t + 1 is active at t."""

    length: int
    slide: int

    @property
    def reach(self) -> int:
        """How far back the active window reaches at most."""
        return self.length + self.slide - 2


@dataclass(frozen=True, slots=True)
class Moving:
    """A window that moves with every moment: at t it holds times from t - reach to t, in steps."""

    reach: int


def in_steps(
    window: Window, kind: TimeType, names: tuple[str, str] = ("the window", "its slide")
) -> StepSpan | Moving | RowCount:
    """A window in steps of the time column.

    Args:
        window: Of time, with a slide or without, or of events.
        kind: How the time column counts.
        names: What messages call its length and its slide.

    Raises:
        DataError: A window that slides is finer than the time column.
    """
    if isinstance(window, RowCount):
        return window
    if window.slide is not None:
        return StepSpan(steps_of(window.length, kind, names[0]), steps_of(window.slide, kind, names[1]))
    length = Fraction(window.length, kind.step)
    whole = length.numerator // length.denominator
    return Moving(min(whole - 1 if whole == length else whole, _FAR))


def count_windows(starts: np.ndarray, window: RowCount, skipped: np.ndarray | None = None) -> WindowEdges:
    """Full windows of events.

    Args:
        starts: Where each key begins, and the end of the last.
        window: How many events a window has, and how many it moves by.
        skipped: How many events of each key come before its first window.
    """
    begin = starts[:-1] if skipped is None else starts[:-1] + skipped
    counts = np.maximum((starts[1:] - begin - window.rows) // window.slide + 1, 0)
    if counts.size == 1:
        count, first = int(counts[0]), int(begin[0])
        regular = slice(first, first + window.slide * count, window.slide)
        low = np.arange(regular.start, regular.stop, regular.step)
        return WindowEdges(np.zeros(count, np.int64), low, low + window.rows, regular=regular)
    key = np.repeat(np.arange(counts.size), counts)
    number = np.arange(key.size) - np.repeat(np.cumsum(counts) - counts, counts)
    low = begin[key] + window.slide * number
    return WindowEdges(key, low, low + window.rows)


def time_windows(
    moment: np.ndarray, starts: np.ndarray, window: StepSpan, bounds: tuple[int, int] = ALL_WINDOWS
) -> WindowEdges:
    """Windows of time that hold an event.

    Args:
        moment: Times in steps, ascending inside each key.
        starts: Where each key begins, and the end of the last.
        window: The windows.
        bounds: The first and the last number of those that are asked for.

    Raises:
        DataError: The edge of a window does not fit 64 bits.
        ExecutionError: There are more than any memory holds.
    """
    if moment.size:
        check_windows((int(moment.min()), int(moment.max())), moment.size, starts.size - 1, window)
    number, key, low, high = find_time_windows(moment, starts, window.length, window.slide, bounds)
    return WindowEdges(key, low, high, number)


@outer
def _find_time_windows(
    times: np.ndarray,
    starts: np.ndarray,
    length: int,
    slide: int,
    least: int,
    most: int,
    number: np.ndarray,
    key: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> int:
    """Fills the arrays as far as they reach, and counts all windows."""
    count = 0
    for own in range(starts.size - 1):
        first, end = starts[own], starts[own + 1]
        behind = first
        window = least
        while first < end:
            holding = (times[first] - length) // slide + 1
            if holding > window:
                window = holding
            if window > most:
                break
            begin = window * slide
            if times[first] < begin:
                first += 1
                continue
            if behind < first:
                behind = first
            while behind < end and times[behind] < begin + length:
                behind += 1
            if count < number.size:
                number[count], key[count], low[count], high[count] = window, own, first, behind
            count += 1
            window += 1
            while first < end and times[first] < begin + slide:
                first += 1
    return count


def find_time_windows(
    times: np.ndarray, starts: np.ndarray, length: int, slide: int, bounds: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, keys, first rows and ends of the windows `[i * slide, i * slide + length)` that hold a row.

    Args:
        times: Ascending inside each key; windows around them fit 64 bits.
        starts: Where the rows of each key begin, and the end of the last.
        length: In steps.
        slide: The same.
        bounds: The first and the last number of the windows that are asked for.
    """
    least, most = max(bounds[0], -(2**63)), min(bounds[1], 2**63 - 1)
    guess = times.size + times.size // 4 + 16
    while True:
        number, key, low, high = (np.empty(guess, np.int64) for _ in range(4))
        count = _find_time_windows(
            read_only(times), read_only(starts), length, slide, least, most, number, key, low, high
        )
        if count <= guess:
            return number[:count], key[:count], low[:count], high[:count]
        guess = count


def check_windows(between: tuple[int, int], rows: int, keys: int, window: StepSpan) -> None:
    """Refuse windows of time that nothing can hold.

    Args:
        between: The first and the last time.
        rows: How many rows there are.
        keys: How many keys.
        window: The windows.

    Raises:
        DataError: The edge of a window does not fit 64 bits.
        ExecutionError: There are more than any memory holds.
    """
    check_edges(np.array(between), max(window.length, window.slide))
    each = -(-window.length // window.slide)
    span = (between[1] - between[0]) // window.slide + each + 1
    if min(each * rows, span * keys) > MOST_WINDOWS:
        message = f"there may be more than {MOST_WINDOWS:,} windows with an event"
        raise ExecutionError([Problem("TW432", message, "ask for a longer slide, or for less time")])


def last_moments(ends: np.ndarray, kind: TimeType) -> pa.Array:
    """The last moment before each end, as a time: one step before it, or what is nearest below where a time column of
    few digits has none there."""
    if not kind.is_float:
        return as_times(ends - 1, kind)
    moments = pa.array((ends - 1) / 1e6, pa.float64()).cast(kind.arrow, safe=False)
    values = moments.to_numpy(zero_copy_only=False)
    behind = as_steps(pa.chunked_array([moments]), kind) >= ends
    if behind.any():
        values = np.where(behind, np.nextafter(values, values.dtype.type(-np.inf)), values)
    return pa.array(values, kind.arrow)
