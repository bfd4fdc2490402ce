"""Events of which no two in a window have different times: none of them follows another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.planning.plan import MovingWindow, SessionWindow, SlidingWindow, WholeInput, Window
from trendweave.rows.times import as_steps, time_type

_WAY_OUT = "and events of one time never follow each other, unless order_by= names a column that orders them"


def find_events_at_once(column: pa.ChunkedArray, window: Window) -> str:
    """Tell that events of every window have one time; empty where there is nothing to tell.

    Args:
        column: The times of events, none of them missing.
        window: The windows that they lie in.
    """
    kind = time_type(column.type)
    times = np.unique(as_steps(column, kind))
    if len(times) == len(column):
        return ""  # nothing happens at once
    if len(times) == 1:
        return f"all {len(column):,} events have the same time, {_WAY_OUT}"
    if isinstance(window, WholeInput) or np.any(_lie_together(times[:-1], times[1:], window, kind.step)):
        return ""
    return f"all events of a window have the same time, {_WAY_OUT}"


def _lie_together(earlier: np.ndarray, later: np.ndarray, window: Window, step: int) -> np.ndarray:
    """Which times lie in one window with the time after them; a step is so many nanoseconds."""
    match window:
        case SlidingWindow(length, slide):
            # The last window that the earlier one lies in, if it does not lie between two.
            slide, length = max(slide // step, 1), length // step
            return later - earlier // slide * slide < length
        case MovingWindow(length):
            return later - earlier < -(-length // step)  # it need not be whole steps
        case SessionWindow(gap):
            return later - earlier < gap // step
    return np.ones(len(earlier), np.bool_)
