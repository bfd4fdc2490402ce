"""Replay intervals: the stretches of time in which all trends lie that candidates may be part of (thesis, 3.4.2 and the
shortening of 3.4.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.store.patterns.intervals.chains import Candidates, in_order
from trendweave.store.patterns.intervals.reach import Reach
from trendweave.store.patterns.intervals.stretches import NOWHERE, Stretches
from trendweave.store.patterns.rewriting.necessary import Steps


@dataclass(frozen=True, slots=True)
class Pace:
    """The least and the greatest number of steps of time from an event to the next one. The least counts between events
    of one trend, which never share a time; the greatest is known only where a trend takes every event."""

    least: int = 1
    greatest: int | None = None

    def at_most(self, steps: Steps) -> int | None:
        """How much time so many steps of a trend take at most."""
        if steps.most == 0:
            return 0
        return None if steps.most is None or self.greatest is None else steps.most * self.greatest


def find_intervals(candidates: Candidates, before: Steps, after: Steps, reach: Reach, pace: Pace) -> Stretches:
    """Where trends lie that hold a candidate each.

    Args:
        candidates: What indexes, or the coarse pattern map, have found.
        before: The steps from a trend's first event to the first symbol of the candidates.
        after: Those from their last symbol to the trend's last event.
        reach: How far apart the events of a trend can be.
        pace: How far apart neighbours are.

    Returns:
        The stretches. In the thesis' words: without steps before, case S1; without steps before and after, S2; without
        steps after, S3; else the base case, shortened by the steps that are still to come.
    """
    first = candidates.first
    if not first.count or not candidates.last.count:
        return NOWHERE
    lows = reach.earliest_begin(candidates.ends + after.least * pace.least)
    back = pace.at_most(before)
    if back is not None:
        lows = np.maximum(lows, first.begin_low - back)
    highs = reach.latest_end(first.begin_high - before.least * pace.least)
    ahead = pace.at_most(after)
    if ahead is not None and candidates.is_one_symbol:
        highs = np.minimum(highs, first.end_high + ahead)
    elif ahead is not None:
        order = in_order(candidates.last.end_low)
        latest = np.maximum.accumulate(candidates.last.end_high[order])
        reached = np.searchsorted(candidates.last.end_low[order], highs, side="right")
        highs = np.minimum(highs, latest[np.maximum(reached, 1) - 1] + ahead)
    return Stretches.of(lows, highs)
