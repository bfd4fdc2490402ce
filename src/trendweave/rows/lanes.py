"""Copies of rows: one for each value that a trend may remember when it reads the row.

A row needs a copy only for values of events before it, as far back as a window reaches. Events of one value are one
lane: a row is copied for the latest of them, so each anchoring event serves a stretch of rows, up to the next event of
its value or the end of its reach, and all copies are found by searching the ends of stretches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.sorting import list_ranges, stable_order
from trendweave.rows.segments import Segments

#: Copies of rows that are made at most; each takes some hundred bytes in a kernel.
MAX_LANE_COPIES = 20_000_000


@dataclass(frozen=True, slots=True)
class Moments:
    """The rows of segments on one scale of numbers that grow with segment and time, and how far windows reach.

    `beyond` is, per row, the first number that no window holds together with the row.
    """

    own: np.ndarray
    beyond: np.ndarray

    @staticmethod
    def of(segments: Segments, tick: np.ndarray, beyond: np.ndarray) -> Moments:
        """Place the rows of segments.

        Args:
            segments: The segments.
            tick: Per row of the segments its tick.
            beyond: Per row of the segments the first later tick that is out of its reach.

        Returns:
            Their places.
        """
        width = int(beyond.max(initial=0)) + 1
        first = segments.of_rows() * width
        return Moments(first + tick, first + beyond)


@dataclass(frozen=True, slots=True)
class Choices:
    """Which earlier events each of some rows may remember: `events[starts[i]:starts[i+1]]` of row i, as places in the
    segments; -1 for none."""

    starts: np.ndarray
    events: np.ndarray


def find_choices(rows: np.ndarray, events: np.ndarray, value: np.ndarray, moments: Moments, missing: bool) -> Choices:
    """Find, for each of some rows, the latest earlier event of each value.

    Args:
        rows: Places of rows in the segments, ascending.
        events: Places of anchoring events in the segments, ascending.
        value: Per place in the segments the number of its value.
        moments: When places are.
        missing: Whether a row may also remember nothing.

    Returns:
        The choices of each row.

    Raises:
        ExecutionError: TW415 where there are too many.
    """
    at = moments.own[rows]
    first = np.searchsorted(at, moments.own[events], side="right")
    last = np.searchsorted(at, moments.beyond[events])
    # Behind the next event of the same value, that one is remembered; in another segment it is out of reach anyway.
    order = np.argsort(value[events], kind="stable")
    same = value[events[order[1:]]] == value[events[order[:-1]]]
    earlier, later = order[:-1][same], order[1:][same]
    last[earlier] = np.minimum(last[earlier], first[later])
    lengths = np.maximum(last - first, 0)
    check_copies(int(lengths.sum()) + missing * rows.size, events.size)
    row = list_ranges(first, lengths)
    event = np.repeat(events, lengths)
    if missing:
        row = np.concatenate([np.arange(rows.size), row])
        event = np.concatenate([np.full(rows.size, -1), event])
    order, starts = stable_order(row, rows.size)
    return Choices(starts, event[order])


def combine(rows: int, choices: list[Choices]) -> tuple[np.ndarray, np.ndarray]:
    """All combinations of choices of each row.

    Args:
        rows: How many rows there are.
        choices: One for each anchor.

    Returns:
        Per copy the number of its row, and int64[copies, anchors] the events.

    Raises:
        ExecutionError: TW415 where there are too many.
    """
    counts = [np.diff(choice.starts) for choice in choices]
    product = np.ones(rows)
    for count in counts:
        product = product * count
    check_copies(product.sum(), rows)
    row = np.arange(rows)
    chosen = np.empty((rows, 0), np.int64)
    for choice, count in zip(choices, counts, strict=True):
        repeats = count[row]
        event = choice.events[list_ranges(choice.starts[row], repeats)]
        row, chosen = np.repeat(row, repeats), np.repeat(chosen, repeats, axis=0)
        chosen = np.concatenate([chosen, event[:, None]], axis=1)
    return row, chosen


def check_copies(copies: float, events: int) -> None:
    """Refuse to make more copies than memory is good for."""
    if copies > MAX_LANE_COPIES:
        message = f"a condition on earlier events would be tested for {copies:,.0f} pairs of {events:,} events"
        hint = "use smaller windows, an equivalence that splits the events, or compare with a rounded value"
        raise ExecutionError([Problem("TW415", message, hint)])
