"""How far rows that share a window can be apart."""

from __future__ import annotations

import numpy as np

from trendweave.planning.plan import MovingWindow, SessionWindow, SlidingWindow, WholeInput, Window
from trendweave.rows.sessions import number_sessions
from trendweave.rows.times import TimeType, moving_span, steps_of


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
