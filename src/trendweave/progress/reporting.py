"""Where work tells how far it is: loops of whoever computes, and one tracker that listens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_Part = TypeVar("_Part")
#: Rows of a part of work that is cut only to tell how far it is, at least, and such parts at most.
LEAST_TO_TELL, _MOST_PARTS = 50_000, 50


class Tracker:
    """What is known of a run: the share of the parts that are done, of the loop that runs now; whether the last loop
    went to its end; and how many seconds were expected for all of it.

    One thread writes it, and another one reads it now and then; a number that is a moment old does no harm.
    """

    def __init__(self) -> None:
        self.done: float | None = None
        self.counted = False
        self.expected: float | None = None
        self.inside = False


_CURRENT: ContextVar[Tracker | None] = ContextVar("trendweave_progress", default=None)


@contextmanager
def listening() -> Iterator[Tracker]:
    """Listen to what is told in this thread until the end of the block."""
    tracker = Tracker()
    token = _CURRENT.set(tracker)
    try:
        yield tracker
    finally:
        _CURRENT.reset(token)


def count_parts_to_tell(rows: int) -> int:
    """Into how many parts work on so many rows is cut so that it can tell how far it is; one where nobody listens.

    Args:
        rows: How many rows there are.
    """
    tracker = _CURRENT.get()
    if tracker is None or tracker.inside:
        return 1
    return min(max(rows // LEAST_TO_TELL, 1), _MOST_PARTS)


def expect(seconds: float) -> None:
    """Tell how long a run is expected to take."""
    tracker = _CURRENT.get()
    if tracker is not None:
        tracker.expected = seconds


def follow(
    parts: Iterable[_Part], total: float | None, size: Callable[[_Part], float] = lambda part: 1.0
) -> Iterator[_Part]:
    """Go over the parts of some work, and tell how many are done. Loops inside of another one tell nothing.

    Args:
        parts: The parts.
        total: How much there is in all; None where that is not known.
        size: How much a part is; one unless given.
    """
    tracker = _CURRENT.get()
    if tracker is None or tracker.inside or not total or total < 2:
        yield from parts
        return
    tracker.inside, tracker.done, tracker.counted = True, 0.0, False
    try:
        so_far = 0.0
        for part in parts:
            yield part
            so_far += size(part)
            tracker.done = min(so_far / total, 1.0)
        tracker.counted = True
    finally:
        tracker.inside, tracker.done = False, None
