"""Situations -> matches, in blocks, with an evaluation order that follows the data (thesis, Section 5.5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.aggregates.blocks import find_first
from trendweave.kernels.intervals import PASSED, match_situations
from trendweave.planning.interval_plan import ANY, IntervalPlan, Statistics, evaluation_order, inverse, order_cost
from trendweave.programs.intervals.situations import Situations

#: Situations that are joined with one order before it is looked at again.
BLOCK = 30_000
#: A block of one partition is at least so many windows long: matches of a block reach one window into its neighbours.
_WINDOWS = 50
#: Weights of a block in the moving averages. Its sizes are known before it is joined, its shares only afterwards.
_SIZE_WEIGHT = 0.8
_SHARE_WEIGHT = 0.3
#: A new order must promise to cost less than this part of the old one.
_WORTH_IT = 0.9
#: Pairs of which a share says something.
_ENOUGH_PAIRS = 100
#: Matches of one run or task, at most: a row takes about 120 bytes until it is written, a match that is only counted
#: about 100, and no others are in memory with it.
MOST_SHOWN = 20_000_000
MOST_COUNTED = 100_000_000


#: Situations between bounds, of each kind and partition.
Bounds: TypeAlias = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class Matches:
    """One situation of each kind per row, as places among all, and when the match was certain."""

    situation: np.ndarray
    moment: np.ndarray

    def keep(self, places: np.ndarray) -> Matches:
        """Some of them, by places or by a mask."""
        return Matches(self.situation[places], self.moment[places])


def constraint_masks(plan: IntervalPlan) -> tuple[np.ndarray, np.ndarray]:
    """What the query says of each pair, and what agrees with everything that it says."""
    count = len(plan.situations)
    written = np.full((count, count), ANY, np.int64)
    for pair in plan.pairs:
        written[pair.left, pair.right], written[pair.right, pair.left] = pair.mask, inverse(pair.mask)
    return written, np.array(plan.allowed, np.int64)


@dataclass(slots=True)
class Matcher:
    """Joins block after block. Its order is planned from the statistics, and again when they drift.

    `fixed` forces an order, for tests and comparisons. `matches` is how many were found so far.
    """

    plan: IntervalPlan
    within: int | None
    statistics: Statistics | None = None
    fixed: tuple[int, ...] | None = None
    plans: int = 0
    matches: int = 0
    _order: tuple[int, ...] = ()
    _planned_with: Statistics | None = None

    def all_matches(self, situations: Situations, asked: Iterable[Bounds] | None = None) -> Matches:
        """The matches of all situations, or of those between the bounds that are asked for, one after the other."""
        kinds = len(self.plan.situations)
        parts = [(np.empty((0, kinds), np.int64), np.empty(0, np.int64))]
        for low, high in [situations.bounds(kinds)] if asked is None else asked:
            self.statistics = None
            found = (self.join(situations, *block) for block in self._blocks(situations, low, high))
            parts += [(one.situation, one.moment) for one in found if one.moment.size]
        return Matches(*map(np.concatenate, zip(*parts, strict=True)))

    def join(self, situations: Situations, low: np.ndarray, high: np.ndarray) -> Matches:
        """The matches of the situations between the bounds of each kind and partition."""
        sizes = self._sizes(situations, low, high)
        if min(sizes) == 0:
            return Matches(np.empty((0, len(sizes)), np.int64), np.empty(0, np.int64))
        order = self.fixed or self._planned(sizes)
        most = MOST_COUNTED if self.plan.returns == "counts" else MOST_SHOWN
        situation, moment, size, search, complete = match_situations(
            situations.start, situations.end, situations.certain, low, high, situations.disjoint,
            np.array(order, np.int64), *constraint_masks(self.plan), -1 if self.within is None else self.within,
            most - self.matches,
        )  # fmt: skip
        if not complete:
            raise ExecutionError([self._too_many(most)])
        self.matches += size
        self._observe(order, sizes, search[:, PASSED])
        return Matches(situation[:size], moment[:size])

    def _too_many(self, most: int) -> Problem:
        ways = ["add WITHIN" if self.within is None else "use a shorter WITHIN", "add constraints"]
        if self.plan.returns != "counts":
            ways.append("count matches with COUNT(*) EVERY")
        hint = f"{', '.join(ways[:-1])}, or {ways[-1]}" if len(ways) > 2 else " or ".join(ways)
        return Problem("TW451", f"the pattern has more than {most:,} matches", hint)

    def _blocks(self, situations: Situations, low: np.ndarray, high: np.ndarray) -> Iterator[Bounds]:
        """Partitions with situations of each kind, several in a block; a large one is cut into blocks of its own."""
        used = (high > low).all(axis=0)
        low, high = low[:, used], high[:, used]
        total = np.cumsum((high - low).sum(axis=0))
        first = before = 0
        while first < total.size:
            last = max(first + 1, int(np.searchsorted(total, before + BLOCK, side="right")))
            block = np.ascontiguousarray(low[:, first:last]), np.ascontiguousarray(high[:, first:last])
            if total[last - 1] - before > BLOCK and self.within:
                yield from self._cut(situations, *block, self.within)
            else:
                yield block
            first, before = last, int(total[last - 1])

    def _cut(self, situations: Situations, low: np.ndarray, high: np.ndarray, within: int) -> Iterator[Bounds]:
        """Blocks of one partition. The kind that the order begins with tells which block a match belongs to; the others
        may begin a window earlier or later."""
        start = situations.start
        anchor = (self.fixed or self._planned(self._sizes(situations, low, high)))[0]
        place, until = int(low[anchor, 0]), int(high[anchor, 0])
        share = max(1, int(BLOCK * (until - place) / (high - low).sum()))
        while place < until:
            shortest = place + int(np.searchsorted(start[place:until], start[place] + _WINDOWS * within))
            last = min(max(place + share, shortest), until)
            around = start[place] - within, start[last - 1] + within + 1
            edges = [find_first(start, low[:, 0], high[:, 0], np.repeat(one, len(low))) for one in around]
            edges[0][anchor], edges[1][anchor] = place, last
            yield edges[0][:, None], edges[1][:, None]
            place = last

    # Statistics

    def _sizes(self, situations: Situations, low: np.ndarray, high: np.ndarray) -> list[float]:
        """How many situations of each kind a window holds, on average over the partitions that have any."""
        filled = high > low
        sizes = (high - low).sum(axis=1) / max(1, int(filled.any(axis=0).sum()))
        if self.within is None or not sizes.min():
            return [float(size) for size in sizes]
        spans = situations.start[np.where(filled, high - 1, 0)] - situations.start[np.where(filled, low, 0)]
        span = max(int(own[some].mean()) for own, some in zip(spans, filled, strict=True))
        share = min(1.0, self.within / max(1, span))
        return [max(float(size) * share, 1e-6) for size in sizes]

    def _planned(self, sizes: list[float]) -> tuple[int, ...]:
        if self.statistics is None:
            self.statistics = Statistics.of_plan(self.plan, sizes)
        for k, size in enumerate(sizes):
            self.statistics.observe_size(k, size, _SIZE_WEIGHT)
        if self._planned_with is None or self.statistics.drifted_from(self._planned_with):
            best = evaluation_order(self.plan, self.statistics)
            cost = order_cost(self.statistics, best)
            # Orders that cost about the same are not worth going back and forth.
            if not self._order or cost < _WORTH_IT * order_cost(self.statistics, self._order):
                self._order = best
            self._planned_with = self.statistics.copy()
            self.plans += 1
        return self._order

    def _observe(self, order: tuple[int, ...], sizes: list[float], passed: np.ndarray) -> None:
        """What the steps of the join have let through, as moving averages per constraint."""
        if self.statistics is None:
            return
        shares = self.statistics.shares
        for depth in range(1, len(order)):
            own = [(min(order[depth], other), max(order[depth], other)) for other in order[:depth]]
            pairs = [pair for pair in own if pair in shares]
            pairs_tried = float(passed[depth - 1]) * sizes[order[depth]]
            if not pairs or pairs_tried < _ENOUGH_PAIRS:
                continue
            observed = max(float(passed[depth]), 0.1) / pairs_tried
            expected = float(np.prod([shares[pair] for pair in pairs]))
            # Constraints of one step are seen together; each takes its part of what was wrong.
            correction = (observed / max(expected, 1e-12)) ** (1 / len(pairs))
            for pair in pairs:
                self.statistics.observe_share(pair, min(1.0, shares[pair] * correction), _SHARE_WEIGHT)
