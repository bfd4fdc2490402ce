"""Situations -> matches, in blocks, with an evaluation order that follows the data (thesis, Section 5.5.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.intervals.joins import match_situations
from trendweave.planning.evaluation_order import Statistics, evaluation_order, order_cost
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.relations import ANY, inverse
from trendweave.programs.intervals.situations import SituationBuffers

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


@dataclass(frozen=True, slots=True)
class FoundMatches:
    """One situation of each kind per row (as places in the buffers), and when the match was certain."""

    situation: np.ndarray
    moment: np.ndarray

    @staticmethod
    def none(kinds: int) -> FoundMatches:
        return FoundMatches(np.empty((0, kinds), np.int64), np.empty(0, np.int64))

    @staticmethod
    def join_parts(parts: list[FoundMatches], kinds: int) -> FoundMatches:
        parts = [part for part in parts if part.moment.size]
        if not parts:
            return FoundMatches.none(kinds)
        if len(parts) == 1:
            return parts[0]
        return FoundMatches(
            np.concatenate([part.situation for part in parts]), np.concatenate([part.moment for part in parts])
        )

    def keep(self, mask: np.ndarray) -> FoundMatches:
        return FoundMatches(self.situation[mask], self.moment[mask])


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
    _masks: tuple[np.ndarray, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self._masks = constraint_masks(self.plan)

    def all_matches(
        self, situations: SituationBuffers, low: np.ndarray | None = None, high: np.ndarray | None = None
    ) -> FoundMatches:
        """The matches of all situations, or of those between the bounds of each kind and partition, in blocks."""
        if low is None or high is None:
            low, high = situations.bounds()
        parts = [self.join(situations, *block) for block in self._blocks(situations, low, high)]
        return FoundMatches.join_parts(parts, len(self.plan.situations))

    def join(self, situations: SituationBuffers, low: np.ndarray, high: np.ndarray) -> FoundMatches:
        """The matches of the situations between the bounds of each kind and partition."""
        sizes = self._sizes(situations, low, high)
        if min(sizes) == 0:
            return FoundMatches.none(len(sizes))
        order = self.fixed or self._planned(sizes)
        most = MOST_COUNTED if self.plan.returns == "counts" else MOST_SHOWN
        left = most - self.matches
        found = match_situations(situations.buffers(low, high), order, *self._masks, self.within, left)
        if not found.complete:
            raise ExecutionError([self._too_many(most)])
        self.matches += found.moment.size
        self._observe(order, sizes, found.tried, found.passed)
        return FoundMatches(found.situation, found.moment)

    def _too_many(self, most: int) -> Problem:
        ways = ["add WITHIN" if self.within is None else "use a shorter WITHIN", "add constraints"]
        if self.plan.returns != "counts":
            ways.append("count matches with COUNT(*) EVERY")
        hint = f"{', '.join(ways[:-1])}, or {ways[-1]}" if len(ways) > 2 else " or ".join(ways)
        return Problem("TW451", f"the pattern has more than {most:,} matches", hint)

    def _blocks(
        self, situations: SituationBuffers, low: np.ndarray, high: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Groups of partitions; a large partition is cut by the start of one kind of situation."""
        per_partition = (high - low).sum(axis=0)
        total = np.cumsum(per_partition)
        first = 0
        while first < per_partition.size:
            before = total[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(total, before + BLOCK, side="right")))
            if last == first + 1 and per_partition[first] > BLOCK and self.within:
                yield from self._cut(situations, low[:, first : first + 1], high[:, first : first + 1])
            else:
                yield np.ascontiguousarray(low[:, first:last]), np.ascontiguousarray(high[:, first:last])
            first = last

    def _cut(
        self, situations: SituationBuffers, low: np.ndarray, high: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of one partition. The kind that the order begins with tells which block a match belongs to; the others
        may begin a window earlier or later."""
        assert self.within is not None
        sizes = self._sizes(situations, low, high)
        if min(sizes) == 0:
            return
        anchor = (self.fixed or self._planned(sizes))[0]
        start = situations.start
        place = int(low[anchor, 0])
        share = max(1, int(BLOCK * (high[anchor, 0] - low[anchor, 0]) / max(1, (high - low).sum())))
        while place < high[anchor, 0]:
            until = min(place + share, int(high[anchor, 0]))
            shortest = int(start[place]) + _WINDOWS * self.within
            until = max(until, int(np.searchsorted(start[place : high[anchor, 0]], shortest)) + place)
            until = min(until, int(high[anchor, 0]))
            earliest, latest = int(start[place]) - self.within, int(start[until - 1]) + self.within
            block_low, block_high = low.copy(), high.copy()
            for k in range(low.shape[0]):
                own = start[low[k, 0] : high[k, 0]]
                block_low[k, 0] = low[k, 0] + np.searchsorted(own, earliest)
                block_high[k, 0] = low[k, 0] + np.searchsorted(own, latest, side="right")
            block_low[anchor, 0], block_high[anchor, 0] = place, until
            yield block_low, block_high
            place = until

    # Statistics

    def _sizes(self, situations: SituationBuffers, low: np.ndarray, high: np.ndarray) -> list[float]:
        """How many situations of each kind a window holds, on average over the partitions that have any."""
        counts = (high - low).sum(axis=1)
        used = max(1, int(((high - low) > 0).any(axis=0).sum()))
        if self.within is None or not counts.min():
            return [float(count) / used for count in counts]
        span = 0
        for k in range(low.shape[0]):
            filled = high[k] > low[k]
            if filled.any():
                lengths = situations.start[high[k][filled] - 1] - situations.start[low[k][filled]]
                span = max(span, int(lengths.mean()))
        share = min(1.0, self.within / max(1, span))
        return [max(float(count) / used * share, 1e-6) for count in counts]

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

    def _observe(self, order: tuple[int, ...], sizes: list[float], tried: np.ndarray, passed: np.ndarray) -> None:
        """What the steps of the join have let through, as moving averages per constraint."""
        if self.statistics is None:
            return
        shares = self.statistics.shares
        for depth in range(1, len(order)):
            pairs = [
                (min(order[depth], other), max(order[depth], other))
                for other in order[:depth]
                if (min(order[depth], other), max(order[depth], other)) in shares
            ]
            pairs_tried = float(passed[depth - 1]) * sizes[order[depth]]
            if not pairs or pairs_tried < _ENOUGH_PAIRS:
                continue
            observed = max(float(passed[depth]), 0.1) / pairs_tried
            expected = float(np.prod([shares[pair] for pair in pairs]))
            # Constraints of one step are seen together; each takes its part of what was wrong.
            correction = (observed / max(expected, 1e-12)) ** (1 / len(pairs))
            for pair in pairs:
                self.statistics.observe_share(pair, min(1.0, shares[pair] * correction), _SHARE_WEIGHT)
