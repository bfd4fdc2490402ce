"""Events with the same timestamp: none of them follows another. What is told where a window has no others, and where a
query meets many."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pyarrow as pa

from trendweave.planning.plan import MovingWindow, SessionWindow, SlidingWindow, WholeInput, Window
from trendweave.programs.program import Program
from trendweave.programs.ties import find_joinable
from trendweave.rows.codes import different_numbers
from trendweave.rows.times import as_steps, has_time, time_type

#: So many events of one time are told of, if they are one in so many of all.
_MANY, _ONE_IN = 20, 20
#: Of a table so many events are looked at.
_FIRST_EVENTS = 50_000
_LOG = logging.getLogger("trendweave")
#: Texts of queries of which it was told in this process.
_TOLD: set[str] = set()
_WAY_OUT = (
    "and events with the same timestamp never follow each other, unless order_by= names a column that orders them"
)


def find_events_at_once(column: pa.ChunkedArray, window: Window) -> str:
    """Tell that events of every window have one time; empty where there is nothing to tell.

    Args:
        column: The times of events, none of them missing.
        window: The windows that they lie in.
    """
    kind = time_type(column.type)
    times = different_numbers(as_steps(column, kind))
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


def tell_ties_again() -> None:
    """Tell of all queries once more, as to somebody else."""
    _TOLD.clear()


def look_for_ties(program: Program, events: pa.Table) -> None:
    """Warn, once of each query, where it could join many of the first events with others of the same time.

    Args:
        program: What reads them.
        events: Events as they came.
    """
    time, first = program.needs.time, events.slice(0, _FIRST_EVENTS)
    if time is None or program.text in _TOLD or not _has_ties(first.column(time)):
        return
    TieWarning().look(program, program.prepare(first)[0])


def _has_ties(column: pa.ChunkedArray) -> bool:
    """Whether two events have one time."""
    column = column.filter(has_time(column))
    steps = as_steps(column, time_type(column.type))
    steps = steps if (steps[1:] >= steps[:-1]).all() else np.sort(steps)
    return bool((steps[1:] == steps[:-1]).any())


class TieWarning:
    """Looks at events as they become final, and warns once of each query that could join many of them with others of
    the same time."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._joinable: Counter[str] = Counter()

    def look(self, program: Program, rows: pa.Table) -> None:
        """Look at some prepared rows, unless it was told already."""
        if program.text in _TOLD:
            return
        queries = []
        for text, joinable, seen in find_joinable(program, rows):
            self._seen[text] += seen
            self._joinable[text] += joinable
            if self._joinable[text] >= max(_MANY, self._seen[text] / _ONE_IN) and text not in _TOLD:
                queries.append(text)
        if queries:
            _TOLD.update(queries)
            worst = max(queries, key=lambda text: self._joinable[text])
            told = f"{self._joinable[worst]:,} of {self._seen[worst]:,}"
            others = f" in one of {len(queries)} queries that this concerns" if len(queries) > 1 else ""
            _LOG.warning("%s events have the time of others that they could follow%s, %s", told, others, _WAY_OUT)
