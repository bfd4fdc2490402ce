"""The coarse pattern map: the mandatory symbols of a query matched over blocks, by what the light index knows of them
(thesis, 3.4.3, Adaption to Non-Uniform Data). Blocks that it leaves out cannot be part of any trend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.store.patterns.intervals.chains import Occurrences, find_candidates, find_participants
from trendweave.store.patterns.intervals.reach import Reach
from trendweave.store.patterns.intervals.replay_intervals import Pace, find_intervals
from trendweave.store.patterns.intervals.stretches import Stretches
from trendweave.store.patterns.rewriting.necessary import Necessary


@dataclass(frozen=True, slots=True)
class CoarseMap:
    """Attributes:
    stretches: Where all trends lie.
    possible: Per symbol and block, whether it may hold an event of the symbol that is part of a trend.
    """

    stretches: Stretches
    possible: np.ndarray


def make_coarse_map(
    necessary: Necessary, possible: np.ndarray, firsts: np.ndarray, lasts: np.ndarray, reach: Reach, pace: Pace
) -> CoarseMap:
    """The map over some blocks, in any order; they may overlap in time.

    Args:
        necessary: What every trend has.
        possible: Per symbol and block, whether the block may hold an event of it.
        firsts: The first time of each block.
        lasts: The last time of each.
        reach: How far apart the events of a trend can be.
        pace: How far apart neighbours are.
    """
    places = [np.flatnonzero(row) for row in possible]
    symbols = [Occurrences.within(firsts[place], lasts[place]) for place in places]
    gaps = [gap.least * pace.least for gap in necessary.gaps]
    kept = np.zeros(possible.shape, np.bool_)
    for row, place, taken in zip(kept, places, find_participants(symbols, gaps, reach), strict=True):
        row[place[taken]] = True
    candidates = find_candidates(symbols, gaps, reach)
    nothing = necessary.steps_between(0, 0)
    return CoarseMap(find_intervals(candidates, nothing, nothing, reach, pace), kept)
