"""Windows of single trends, for lists that show each trend once: one stands where a trend may end, or may begin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.planning.plan import MovingWindow
from trendweave.rows.reach import find_far_ticks
from trendweave.rows.times import TimeType, moving_span
from trendweave.rows.windows import Chunks

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
