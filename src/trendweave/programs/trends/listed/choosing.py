"""LIMIT, LONGEST n and SAMPLE where nobody can count trends beforehand: they are chosen while they are found.

A sample is those of the smallest marks; a trend's mark looks random and depends on the seed, its key, its times and its
variables alone, so every place draws the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from trendweave.kernels.lists.selection import mark_at_random
from trendweave.planning.plan import Choice, Plan
from trendweave.planning.preparation import Preparation
from trendweave.results.shown_trends import ShownTrends, find_partitions, join_trends
from trendweave.rows.encoded import EncodedRows

#: Trends that wait to be compared, at least.
_AT_ONCE = 65_536


@dataclass(slots=True)
class Chooser:
    """Keeps so many trends per window and group: the first ones found, the longest, or those of the smallest marks."""

    choice: Choice
    rows: EncodedRows
    seeds: np.ndarray
    waiting: list[ShownTrends] = field(default_factory=list)
    thinned: int = 0

    @staticmethod
    def of(plan: Plan, preparation: Preparation, rows: EncodedRows) -> Chooser:
        assert plan.choice is not None, "only a plan that chooses has a chooser"
        return Chooser(plan.choice, rows, _seed_partitions(plan.choice.seed, preparation, rows))

    def add(self, trends: ShownTrends) -> None:
        """Add trends, in any order."""
        self.waiting.append(trends)
        if sum(part.count for part in self.waiting) > 2 * self.thinned + _AT_ONCE:
            self._thin_out()

    def take(self) -> ShownTrends | None:
        """Take what is chosen among all trends that were added."""
        if not self.waiting:
            return None
        self._thin_out()
        (trends,) = self.waiting
        self.waiting, self.thinned = [], 0
        return trends

    def _thin_out(self) -> None:
        trends = join_trends(self.waiting)
        place = trends.group
        if trends.count:
            _, place = np.unique(places_of(trends, self.rows), axis=0, return_inverse=True)
            place = place.reshape(-1)
        # The last key counts most; what is equal in all of them stays in the order in which it was found.
        order = np.lexsort((*self._ranks(trends), place))
        rank = np.arange(order.size) - np.searchsorted(place[order], place[order])
        kept = trends.take(np.sort(order[rank < self.choice.count]))
        self.waiting, self.thinned = [kept], kept.count

    def _ranks(self, trends: ShownTrends) -> tuple[np.ndarray, ...]:
        if self.choice.kind == "limit":
            return ()
        marks = self._marks(trends)
        return (marks,) if self.choice.kind == "sample" else (marks, -trends.lengths)

    def _marks(self, trends: ShownTrends) -> np.ndarray:
        moments = self.rows.tick_steps[self.rows.tick[trends.rows]].view(np.uint64)
        # In nanoseconds modulo 2^64: the same time is the same number in whatever unit a table has it.
        moments = moments * np.uint64(self.rows.time_type.step)
        marks = np.empty(trends.count, np.uint64)
        seeds = self.seeds[find_partitions(self.rows, trends)]
        mark_at_random(trends.starts, moments, trends.variables, seeds, marks)
        return marks


def places_of(trends: ShownTrends, rows: EncodedRows) -> np.ndarray:
    """What tells the window and group of each trend; sessions of several partitions may have the same times."""
    places = [trends.window, trends.group]
    if trends.window.ndim > 1:
        places.append(find_partitions(rows, trends))
    return np.column_stack(places)


def _seed_partitions(seed: int, preparation: Preparation, rows: EncodedRows) -> np.ndarray:
    """A number per partition that depends on the seed and the values of its key alone."""
    first = rows.partitions.starts[:-1]
    keys = [rows.table.column(name).take(first).to_pylist() for name in preparation.partition_key]
    values = zip(*keys, strict=True) if keys else [()] * first.size
    digests = [hashlib.blake2b(repr((seed, value)).encode(), digest_size=8).digest() for value in values]
    return np.frombuffer(b"".join(digests), np.uint64).copy()
