"""Situations of all kinds, ordered for matching, and when each of them counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trendweave.kernels.intervals.joins import Buffers
from trendweave.kernels.intervals.situations import RUNNING, Situations, derive_situations, rows_reaching
from trendweave.kernels.sorting import stable_order
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.programs.intervals.rows import IntervalRows
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


@dataclass(frozen=True, slots=True)
class SituationBuffers:
    """Sorted by (kind, partition, start); situations of kind k are `offsets[k]:offsets[k + 1]`.

    `certain` is when a situation is known to have a good length (at the end of the input: RUNNING where that is never).
    """

    kind: np.ndarray
    partition: np.ndarray
    start: np.ndarray
    end: np.ndarray
    certain: np.ndarray
    first_row: np.ndarray
    end_row: np.ndarray
    carried: np.ndarray
    offsets: np.ndarray
    partitions: int
    disjoint: bool = True

    @property
    def size(self) -> int:
        return self.kind.size

    @property
    def kinds(self) -> int:
        return self.offsets.size - 1

    def keep(self, mask: np.ndarray) -> SituationBuffers:
        if mask.all():
            return self
        kind = self.kind[mask]
        return replace(
            self,
            kind=kind,
            partition=self.partition[mask],
            start=self.start[mask],
            end=self.end[mask],
            certain=self.certain[mask],
            first_row=self.first_row[mask],
            end_row=self.end_row[mask],
            carried=self.carried[mask],
            offsets=np.searchsorted(kind, np.arange(self.kinds + 1)),
        )

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """`low[k, p]` and `high[k, p]`: the situations of kind k and partition p."""
        edges = np.empty((self.kinds, self.partitions + 1), np.int64)
        for k in range(self.kinds):
            first, last = self.offsets[k], self.offsets[k + 1]
            edges[k] = first + np.searchsorted(self.partition[first:last], np.arange(self.partitions + 1))
        return np.ascontiguousarray(edges[:, :-1]), np.ascontiguousarray(edges[:, 1:])

    def buffers(self, low: np.ndarray, high: np.ndarray) -> Buffers:
        return Buffers(self.start, self.end, self.certain, low, high, self.disjoint)


def order_situations(found: Situations, certain: np.ndarray, kinds: int, partitions: int) -> SituationBuffers:
    """Derived situations come by (partition, end), which within a kind is also the order of their starts."""
    order, offsets = stable_order(found.kind, kinds)
    return SituationBuffers(
        kind=found.kind[order],
        partition=found.partition[order],
        start=found.start[order],
        end=found.end[order],
        certain=certain[order],
        first_row=found.first_row[order],
        end_row=found.end_row[order],
        carried=found.carried[order],
        offsets=offsets,
        partitions=partitions,
    )


def find_all_situations(plan: IntervalPlan, rows: IntervalRows, lengths: Lengths) -> SituationBuffers:
    """All situations of the rows, of any length."""
    found = derive_situations(rows.bits, rows.time, rows.starts, len(plan.situations))
    return order_situations(
        found, find_certain_times(plan, found, rows.time, lengths), len(plan.situations), rows.partitions
    )


def find_certain_times(plan: IntervalPlan, found: Situations, time: np.ndarray, lengths: Lengths) -> np.ndarray:
    """When a situation is known to have a good length; RUNNING where that is never."""
    running = found.end == RUNNING
    certain = found.end.copy() if plan.at_end else found.start.copy()
    for k, situation in enumerate(plan.situations):
        of_kind = found.kind == k
        low, high = lengths.low[k], lengths.high[k]
        if high is not None or plan.at_end:
            certain[of_kind] = found.end[of_kind]
        elif situation.low is not None:
            places = np.flatnonzero(of_kind)
            last = found.end_row[places] - running[places]
            row = rows_reaching(time, found.start[places] + low, found.first_row[places], last)
            enough = (row <= last) & (row < time.size)
            enough[enough] &= time[row[enough]] >= found.start[places[enough]] + low
            certain[places] = np.where(enough, time[np.where(enough, row, 0)] if time.size else 0, RUNNING)
        certain[of_kind & ~running & ~good_length(found.end - found.start, low, high)] = RUNNING
    return certain


def good_length(length: np.ndarray, low: int, high: int | None) -> np.ndarray:
    return (length >= low) if high is None else (length >= low) & (length <= high)
