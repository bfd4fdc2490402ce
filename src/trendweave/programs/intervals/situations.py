"""Situations of all kinds, ordered for matching, and when each of them counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.kernels.intervals.joins import Buffers
from trendweave.kernels.intervals.situations import RUNNING, Situations, rows_reaching
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.rows.times import TimeType


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of a plan in steps of the time column. What is finer than a step is rounded to what it means there:
    a time difference is a whole number of steps."""

    low: tuple[int, ...]
    high: tuple[int | None, ...]
    within: int | None

    @staticmethod
    def of(plan: IntervalPlan, kind: TimeType) -> Lengths:
        return Lengths(
            tuple(-(-(situation.low or 0) // kind.step) for situation in plan.situations),
            tuple(None if situation.high is None else situation.high // kind.step for situation in plan.situations),
            None if plan.within is None else plan.within // kind.step,
        )

    def fit(self, kind: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Which lengths are good ones of their kinds."""
        high = np.array([RUNNING if most is None else most for most in self.high], np.int64)
        return (length >= np.array(self.low, np.int64)[kind]) & (length <= high[kind])


@dataclass(frozen=True, slots=True)
class SituationBuffers:
    """Sorted by (kind, partition, start); situations of kind k are `offsets[k]:offsets[k + 1]`.

    `certain` is when a situation is known to have a good length (at the end of the input: RUNNING where that is never).
    The first attributes are those of `Situations`.
    """

    kind: np.ndarray
    partition: np.ndarray
    start: np.ndarray
    end: np.ndarray
    first_row: np.ndarray
    end_row: np.ndarray
    carried: np.ndarray
    certain: np.ndarray
    offsets: np.ndarray
    partitions: int
    disjoint: bool = True

    @staticmethod
    def of(
        found: Situations, certain: np.ndarray, order: np.ndarray, kinds: int, partitions: int, disjoint: bool = True
    ) -> SituationBuffers:
        """Some situations, or all of them, in the order that sorts them."""
        sorted_ones = Situations._make(column[order] for column in found)
        offsets = np.searchsorted(sorted_ones.kind, np.arange(kinds + 1))
        return SituationBuffers(*sorted_ones, certain[order], offsets, partitions, disjoint)

    @property
    def size(self) -> int:
        return self.kind.size

    @property
    def kinds(self) -> int:
        return self.offsets.size - 1

    def keep(self, mask: np.ndarray) -> SituationBuffers:
        if mask.all():
            return self
        found = Situations._make(getattr(self, name) for name in Situations._fields)
        return SituationBuffers.of(found, self.certain, mask, self.kinds, self.partitions, self.disjoint)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """`low[k, p]` and `high[k, p]`: the situations of kind k and partition p."""
        edges = np.empty((self.kinds, self.partitions + 1), np.int64)
        for k in range(self.kinds):
            first, last = self.offsets[k], self.offsets[k + 1]
            edges[k] = first + np.searchsorted(self.partition[first:last], np.arange(self.partitions + 1))
        return np.ascontiguousarray(edges[:, :-1]), np.ascontiguousarray(edges[:, 1:])

    def buffers(self, low: np.ndarray, high: np.ndarray) -> Buffers:
        return Buffers(self.start, self.end, self.certain, low, high, self.disjoint)


def find_certain_times(
    plan: IntervalPlan, lengths: Lengths, found: Situations, times: np.ndarray, first: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """When a situation is known to have a good length; RUNNING where that is never.

    Args:
        plan: The query.
        lengths: Its lengths.
        found: The situations.
        times: The moments at which time passes.
        first: Per situation, the first of them that it sees.
        last: Up to but without this one.
    """
    kind, start, end = found.kind, found.start, found.end
    running = end == RUNNING
    certain = end.copy() if plan.at_end else start.copy()
    for k, situation in enumerate(plan.situations):
        of_kind = kind == k
        if lengths.high[k] is not None or plan.at_end:
            certain[of_kind] = end[of_kind]
        elif situation.low is not None:
            places = np.flatnonzero(of_kind)
            row = rows_reaching(times, start[places] + lengths.low[k], first[places], last[places])
            certain[places] = np.where(row < last[places], times[np.minimum(row, times.size - 1)], RUNNING)
    certain[~running & ~lengths.fit(kind, end - start)] = RUNNING
    return certain
