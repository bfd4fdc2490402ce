"""Windows as numbers: kernels know a row by the first and last number of the windows that hold it. Sessions hold
their own rows and no others; windows of single trends stand where a trend may end, or may begin; and how far rows
that share a window can be apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.kernels.columns import zeros
from trendweave.planning.outputs import window_names
from trendweave.planning.plan import MovingWindow, SessionWindow, SlidingWindow, WholeInput, Window
from trendweave.rows.codes import different_numbers
from trendweave.rows.times import TimeType, as_times, edges_of, moving_reach, moving_span, sliding_range, steps_of


@dataclass(frozen=True, slots=True)
class SessionNumbers:
    """Sessions are numbered by partition and time. `edges` are the first and the last time of each."""

    of_tick: np.ndarray
    edges: np.ndarray

    def first(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return self.of_tick[tick]

    def last(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return self.of_tick[tick]

    def keys(self, windows: np.ndarray) -> np.ndarray:
        """Their numbers; the rows of a task tell their edges."""
        return windows


def session_gap(window: SessionWindow, kind: TimeType) -> int:
    """The gap in steps of the time column."""
    return steps_of(window.gap, kind, "WITHIN SESSION")


def number_sessions(
    window: SessionWindow, kind: TimeType, steps: np.ndarray, partition_starts: np.ndarray
) -> SessionNumbers:
    """Number the sessions of some partitions.

    Args:
        window: The window of the plan.
        kind: How the time column counts.
        steps: Times by (partition, time).
        partition_starts: Where each partition begins.

    Returns:
        The numbers.

    Raises:
        DataError: A session would end outside of 64 bits.
    """
    gap = session_gap(window, kind)
    begins = np.ones(steps.size, np.bool_)
    # Unsigned, as times may be as far apart as 64 bits.
    begins[1:] = np.diff(steps.view(np.uint64)) >= np.uint64(gap)
    begins[partition_starts] = True
    at = np.flatnonzero(begins)
    edges = np.stack([steps[at], steps[np.append(at, steps.size)[1:] - 1]], axis=1)
    if edges.size and int(edges.max()) > np.iinfo(np.int64).max - gap:
        message = "times are out of range: a session would end outside of 64 bits"
        raise DataError([Problem("TW310", message, "remove broken times, or cast the time column to a coarser type")])
    return SessionNumbers(np.cumsum(begins) - 1, edges)


def find_reach(
    window: Window, kind: TimeType, tick_steps: np.ndarray, partition_starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Find the ticks that may share a window with each tick.

    Args:
        window: The window of the plan.
        kind: How the time column counts.
        tick_steps: The times of the ticks.
        partition_starts: The first tick of each partition.

    Returns:
        Per tick the first of them, and the one after the last; None where all of a partition do.
    """
    match window:
        case WholeInput():
            return None
        case SessionWindow():
            of_tick = number_sessions(window, kind, tick_steps, partition_starts).of_tick
            return np.searchsorted(of_tick, of_tick), np.searchsorted(of_tick, of_tick, side="right")
        case SlidingWindow():
            span = steps_of(window.length, kind, "WITHIN")
        case MovingWindow():
            span = moving_span(window, kind)
    return (
        find_far_ticks(tick_steps, partition_starts, span, back=True),
        find_far_ticks(tick_steps, partition_starts, span, back=False),
    )


def find_far_ticks(tick_steps: np.ndarray, partition_starts: np.ndarray, span: int, back: bool) -> np.ndarray:
    """Find where the reach of each tick ends.

    Args:
        tick_steps: The times of the ticks.
        partition_starts: The first tick of each partition.
        span: Times are in reach that are less than so many steps apart.
        back: Look back, instead of ahead.

    Returns:
        The first later tick of the partition that is out of reach or, back, the first that is in reach.
    """
    times, rank = np.unique(tick_steps, return_inverse=True)
    limits = np.iinfo(np.int64)
    if back:
        bound = np.where(times < limits.min + span, limits.min, times - min(span, limits.max))
        place = np.searchsorted(times, bound, side="right")
        place[times < limits.min + span] = 0
    else:
        bound = np.where(times > limits.max - span, limits.max, times + min(span, limits.max))
        place = np.searchsorted(times, bound)
        place[times > limits.max - span] = times.size
    width = times.size + 1
    partition = np.zeros(tick_steps.size, np.int64)
    partition[partition_starts[1:]] = 1
    base = np.cumsum(partition) * width
    return np.searchsorted(base + rank, base + place[rank])


#: NULLs that are kept to be shared: as many as a batch of trends has rows.
_SHARED = 1 << 16


class WindowNumbers(Protocol):
    """What kernels know of windows: numbers in their order."""

    def first(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Find the first window that holds each time.

        Args:
            tick: The numbers of some times.
            group: The group of each, which only moving windows ask for.

        Returns:
            Its number.
        """

    def last(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Find the last window that holds each time.

        Args:
            tick: The numbers of some times.
            group: The group of each, which only moving windows ask for.

        Returns:
            Its number; smaller than the first where there is none.
        """

    def keys(self, windows: np.ndarray) -> np.ndarray:
        """Write windows as what tells them apart everywhere.

        Args:
            windows: Their numbers.

        Returns:
            The number of a sliding window, the time of a moving one in steps, the number of a session of the task.
        """


@dataclass(frozen=True, slots=True)
class SlidingNumbers:
    """Windows are numbered by their start."""

    firsts: np.ndarray
    lasts: np.ndarray

    def first(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return self.firsts.take(tick)

    def last(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return self.lasts.take(tick)

    def keys(self, windows: np.ndarray) -> np.ndarray:
        return windows


@dataclass(frozen=True, slots=True)
class OneWindow:
    """Everything is in window 0, which has no edges."""

    def first(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return zeros(tick.size, np.int64)

    def last(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return zeros(tick.size, np.int64)

    def keys(self, windows: np.ndarray) -> np.ndarray:
        return windows


@dataclass(frozen=True, slots=True)
class MovingNumbers:
    """One window `(t - length, t]` per group and time at which a trend may end, numbered by group and time.

    `rank` numbers the distinct times of the whole table; `beyond` is the number of times that are too early for a
    window to hold the tick's time no longer. `starts` are the windows as `group * width + rank`, sorted.
    """

    times: np.ndarray
    rank: np.ndarray
    beyond: np.ndarray
    starts: np.ndarray

    @property
    def width(self) -> int:
        """Places per group, with one behind the last time."""
        return self.times.size + 1

    def first(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.starts, group * self.width + self.rank[tick])

    def last(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.starts, group * self.width + self.beyond[tick]) - 1

    def own(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Find the window that ends at each time itself.

        Args:
            tick: The numbers of some times.
            group: The group of each, which only moving windows ask for.

        Returns:
            Its number; -1 where there is none.
        """
        place = self.first(tick, group)
        found = np.append(self.starts, -1)[place] == group * self.width + self.rank[tick]
        return np.where(found, place, -1)

    def keys(self, windows: np.ndarray) -> np.ndarray:
        return self.times[self.starts[windows] % self.width]


@lru_cache(maxsize=16)
def _shared_nulls(kind: pa.DataType) -> pa.Array:
    return pa.nulls(_SHARED, kind)


def _nulls(kind: pa.DataType, size: int) -> pa.Array:
    """NULLs, of which batches share one array: they take as much room as values."""
    return _shared_nulls(kind).slice(0, size) if size <= _SHARED else pa.nulls(size, kind)


def window_columns(window: Window, kind: TimeType, keys: np.ndarray) -> dict[str, pa.Array]:
    """Write windows as the result columns that tell them apart.

    Args:
        window: The window of the plan.
        kind: How the time column counts.
        keys: What tells windows apart everywhere, as `WindowNumbers.keys` gives it; of sessions, their first and last
            times, as `EncodedRows.label_windows` gives them.

    Returns:
        Columns by name, in the type of the time column; a window over the whole input has no edges.
    """
    match window:
        case SlidingWindow():
            columns: tuple[pa.Array, ...] = edges_of(keys, window, kind)
        case MovingWindow():
            columns = (as_times(keys, kind),)
        case SessionWindow():
            columns = (as_times(keys[:, 0], kind), as_times(keys[:, 1] + steps_of(window.gap, kind, "WITHIN"), kind))
        case WholeInput():
            nothing = _nulls(kind.arrow, keys.size)
            columns = (nothing, nothing)
    return dict(zip(window_names(window), columns, strict=True))


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks of time: the number of each tick's chunk, and their length in steps.

    A chunk owns the windows that start in it or, of moving windows, those that end in it.
    """

    of_tick: np.ndarray
    length: int


def number_windows(
    window: Window,
    kind: TimeType,
    tick_steps: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    only: tuple[int, int] | None = None,
    chunks: Chunks | None = None,
) -> WindowNumbers:
    """Number the windows of a query.

    Args:
        window: The window of the plan.
        kind: How the time column counts.
        tick_steps: The times of the ticks.
        ends: Ticks and groups at which trends may end, for moving windows.
        only: Keeps a range of windows, both ends included: numbers of sliding windows, or times of moving ones.
        chunks: Keeps the windows that each chunk of time owns.

    Returns:
        The numbers.
    """
    match window:
        case WholeInput():
            return OneWindow()
        case SlidingWindow():
            first, last = sliding_range(tick_steps, window, kind)
            if only is not None:
                first, last = np.maximum(first, only[0]), np.minimum(last, only[1])
            if chunks is not None:
                windows = chunks.length // steps_of(window.slide, kind, "SLIDE")
                first = np.maximum(first, chunks.of_tick * windows)
                last = np.minimum(last, chunks.of_tick * windows + windows - 1)
            return SlidingNumbers(first, last)
        case MovingWindow():
            if chunks is not None:
                own = np.floor_divide(tick_steps[ends[0]], chunks.length) == chunks.of_tick[ends[0]]
                ends = (ends[0][own], ends[1][own])
            return _number_moving_windows(window, kind, tick_steps, ends, only)
        case SessionWindow():
            raise AssertionError("sessions depend on partitions: see number_sessions")


def _number_moving_windows(
    window: MovingWindow,
    kind: TimeType,
    tick_steps: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    only: tuple[int, int] | None,
) -> MovingNumbers:
    times, rank = np.unique(tick_steps, return_inverse=True)
    reach, exact = moving_reach(window, kind)
    # t - reach < p, so t < p + reach; a length that is no whole number of steps also lets t = p + reach in.
    highest = np.iinfo(np.int64).max
    beyond = np.searchsorted(times, np.minimum(times, highest - reach) + reach, side="left" if exact else "right")
    beyond = np.where(times > highest - reach, times.size, beyond)
    ticks, groups = ends
    if only is not None:
        inside = (tick_steps[ticks] >= only[0]) & (tick_steps[ticks] <= only[1])
        ticks, groups = ticks[inside], groups[inside]
    starts = different_numbers(groups * (times.size + 1) + rank[ticks])
    return MovingNumbers(times, rank, beyond[rank], starts)


#: After the number of every window.
NO_WINDOW = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class TrendNumbers:
    """Windows numbered by the tick that they stand at, in order; partitions have windows of their own.

    `at` are these ticks. Of each tick, `firsts` and `lasts` are the numbers of the windows that hold it, and `own` that
    of the window that stands at it, or -1. `asked`: which windows are to be shown; others are there for completeness.
    """

    from_first: bool
    at: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray
    own: np.ndarray
    asked: np.ndarray
    tick_steps: np.ndarray

    def first(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return self.firsts[tick]

    def last(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return self.lasts[tick]

    def keys(self, windows: np.ndarray) -> np.ndarray:
        """The times at which they stand."""
        return self.tick_steps[self.at[windows]]


def number_trend_windows(
    window: MovingWindow,
    kind: TimeType,
    tick_steps: np.ndarray,
    partition_starts: np.ndarray,
    ticks: np.ndarray,
    only: tuple[int, int] | None = None,
    chunks: Chunks | None = None,
    wanted: np.ndarray | None = None,
) -> TrendNumbers:
    """Number the windows of single trends.

    Args:
        window: The window of the plan, by last or by first events.
        kind: How the time column counts.
        tick_steps: The times of the ticks.
        partition_starts: The first tick of each partition.
        ticks: Those at which trends may end or, by first events, begin.
        only: Shows the windows that stand between these times, both ends included.
        chunks: Shows the windows that stand in their chunk of time.
        wanted: Per tick, whether the window that stands there is shown; None: all are.

    Returns:
        The numbers.
    """
    stands = np.zeros(tick_steps.size, np.bool_)
    stands[ticks] = True
    at = np.flatnonzero(stands)
    asked = np.ones(at.size, np.bool_)
    if only is not None:
        asked &= (tick_steps[at] >= only[0]) & (tick_steps[at] <= only[1])
    if chunks is not None:
        asked &= np.floor_divide(tick_steps[at], chunks.length) == chunks.of_tick[at]
    if wanted is not None:
        asked &= wanted[at]
    if not window.wide:
        at, asked = at[asked], asked[asked]
    here = np.arange(tick_steps.size)
    from_first = window.by == "first"
    far = find_far_ticks(tick_steps, partition_starts, moving_span(window, kind), from_first)
    own = np.full(tick_steps.size, -1, np.int64)
    own[at] = np.arange(at.size)
    if from_first:
        firsts, lasts = np.searchsorted(at, far), np.searchsorted(at, here, side="right") - 1
    else:
        firsts, lasts = np.searchsorted(at, here), np.searchsorted(at, far) - 1
    return TrendNumbers(from_first, at, firsts, lasts, own, asked, tick_steps)
