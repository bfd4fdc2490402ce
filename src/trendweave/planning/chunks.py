"""Chunks of time: how one large key, or none at all, still makes many tasks.

A chunk owns the windows that start in it and also reads the events that follow it up to the end of those windows
(for a window that moves: owns the times in it, and reads the window length before it).
"""

from __future__ import annotations

from dataclasses import dataclass

from trendweave.errors import ExecutionError, Problem
from trendweave.language.durations import duration_text
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import MovingWindow, Plan, SlidingWindow

#: How many times as long as what it reads in addition a chunk is: one event in nine is read twice.
_WITH_KEYS = 9
#: Without keys, chunks are the only tasks there are; one event in five is read twice.
_WITHOUT_KEYS = 5


@dataclass(frozen=True, slots=True)
class TimeChunks:
    """In nanoseconds: the length of a chunk, and how far before or after it the chunk reads."""

    length: int
    before: int = 0
    after: int = 0

    @property
    def read_twice(self) -> float:
        return (self.before + self.after) / self.length


def choose_chunks(plan: Plan, wanted: int | None = None) -> TimeChunks | None:
    """None where there is one window over the whole input, or windows look to both sides. `wanted` is a length that the
    user asks for."""
    factor = _WITH_KEYS if plan.partition_key else _WITHOUT_KEYS
    if plan.selection is not None and isinstance(plan.window, MovingWindow):
        return None  # what a trend takes away may lie in the next chunk
    match plan.window:
        case SlidingWindow(length=length, slide=slide):
            beyond = length - slide
            windows = max(1, -(-(factor * beyond if wanted is None else wanted) // slide))
            return _check_length(TimeChunks(windows * slide, after=beyond))
        case MovingWindow(wide=True):
            return None
        case MovingWindow(length=length, by="first"):
            return _check_length(TimeChunks(factor * length if wanted is None else wanted, after=length))
        case MovingWindow(length=length):
            return _check_length(TimeChunks(factor * length if wanted is None else wanted, before=length))
    return None


def choose_interval_chunks(plan: IntervalPlan, wanted: int | None = None) -> TimeChunks | None:
    """Chunks that own the matches that begin in them; each also reads the last time before it.

    None where partitions make tasks, where nothing bounds a match, and where conditions look back: whether one of those
    held before a chunk would take more than the last time before it to tell.
    """
    if plan.partition_by or not plan.within or plan.looks_back or plan.returns == "situations" or plan.intervals:
        return None
    return TimeChunks(max(_WITH_KEYS * plan.within if wanted is None else wanted, plan.within), after=plan.within)


def _check_length(chunks: TimeChunks) -> TimeChunks:
    """A chunk that is shorter than what it reads in addition would need the events of several others."""
    beyond = chunks.before + chunks.after
    if chunks.length < max(beyond, 1):
        message = f"chunks of {duration_text(chunks.length)} are shorter than what they read in addition"
        hint = f"make them at least {duration_text(beyond)} long, or leave the choice to the planner"
        raise ExecutionError([Problem("TW407", message, hint)])
    return chunks
