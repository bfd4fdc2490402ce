"""Situations: maximal runs of steps that fulfil a condition (thesis, Algorithm 5.1), and when each of them counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trendweave.kernels.intervals import RUNNING
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

    def fit(self, kind: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Which lengths are good ones of their kinds."""
        high = np.array([RUNNING if most is None else most for most in self.high], np.int64)
        return (length >= np.array(self.low, np.int64)[kind]) & (length <= high[kind])


@dataclass(frozen=True, slots=True)
class Situations:
    """Sorted by kind, partition and start.

    Attributes:
        kind: Which situation of the query it is.
        partition: Where it was found.
        start: When it began.
        end: When it ended; RUNNING where it still runs.
        first_row: The first row that it covers.
        end_row: The row that ends it; the end of the partition where it still runs.
        known: Its place among those that a state holds; -1 where it began after them.
        certain: When it is known to have a good length; RUNNING where that is never.
        partitions: How many partitions there are.
        disjoint: Whether those of one kind and partition never overlap; given intervals may.
    """

    kind: np.ndarray
    partition: np.ndarray
    start: np.ndarray
    end: np.ndarray
    first_row: np.ndarray
    end_row: np.ndarray
    known: np.ndarray
    certain: np.ndarray
    partitions: int
    disjoint: bool = True

    @property
    def size(self) -> int:
        return self.kind.size

    def take(self, places: np.ndarray) -> Situations:
        """Some of them, by places or by a mask."""
        return replace(self, **{name: getattr(self, name)[places] for name in _COLUMNS})

    def join(self, others: Situations) -> Situations:
        """These and others of the same partitions, sorted."""
        both: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in _COLUMNS}
        order = np.lexsort((both["start"], both["partition"], both["kind"]))
        return replace(self, **{name: column[order] for name, column in both.items()})

    def bounds(self, kinds: int) -> tuple[np.ndarray, np.ndarray]:
        """`low[k, p]` and `high[k, p]`: the situations of kind k and partition p."""
        numbers = np.arange(kinds * self.partitions + 1)
        edges = np.searchsorted(self.kind * self.partitions + self.partition, numbers)
        return edges[:-1].reshape(kinds, self.partitions), edges[1:].reshape(kinds, self.partitions)


_COLUMNS = ("kind", "partition", "start", "end", "first_row", "end_row", "known", "certain")


def derive_situations(
    rows: IntervalRows, bits: np.ndarray, since: np.ndarray, places: np.ndarray | None = None
) -> Situations:
    """Situations of all conditions and any length, each certain as soon as it has begun.

    Args:
        rows: Rows by partition and time. Bit k of a row's word says whether it fulfils condition k; a step does iff all
            of its rows do.
        bits: Which conditions held at the last step of each partition before these rows; moved on to their last step.
        since: Since when each of them does; moved on as well.
        places: The places of the situations that ran then, by partition and kind, among those that a state holds.
    """
    word, of_step = rows.find_steps()
    starts = rows.starts if of_step is None else np.searchsorted(of_step, rows.starts)
    filled = np.flatnonzero(starts[1:] > starts[:-1])
    change = word.copy()
    change[1:] ^= word[:-1]
    change[starts[filled]] = word[starts[filled]] ^ bits[filled].astype(word.dtype)
    at = np.flatnonzero(change != 0)
    partition = np.repeat(np.arange(rows.partitions), np.diff(np.searchsorted(at, starts)))
    row = at if of_step is None else of_step[at]
    change, now, moment = change[at], word[at], rows.time[row]
    before = bits.copy()
    bits[filled] = word[starts[filled + 1] - 1]
    columns = list[Any]()
    for k in range(since.shape[1]):
        bit = now.dtype.type(1 << k)
        own = np.flatnonzero((change & bit) != 0)
        begins = (now[own] & bit) != 0
        on, off = own[begins], own[~begins]
        # Within a partition beginnings and ends alternate: the n-th beginning belongs to the n-th end.
        went, goes = np.flatnonzero(before >> k & 1), np.flatnonzero(bits >> k & 1)
        first, last = np.searchsorted(partition[on], went), np.searchsorted(partition[off], goes, side="right")
        of = np.insert(partition[on], first, went)
        start = np.insert(moment[on], first, since[went, k])
        first_row = np.insert(row[on], first, rows.starts[went])
        known = np.insert(np.full(on.size, -1), first, -1 if places is None else places[went, k])
        end = np.insert(moment[off], last, RUNNING)
        end_row = np.insert(row[off], last, rows.starts[goes + 1])
        since[goes, k] = start[end == RUNNING]
        columns.append((np.full(of.size, k), of, start, end, first_row, end_row, known, start))
    named: dict[str, Any] = dict(zip(_COLUMNS, map(np.concatenate, zip(*columns, strict=True)), strict=True))
    return Situations(**named, partitions=rows.partitions)


def rows_reaching(time: np.ndarray, moment: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Per entry the first place of `first` .. `last` whose time is at or after a moment; `last` where none is."""
    low, high = first.copy(), last.copy()
    open_ones = np.flatnonzero(low < high)
    while open_ones.size:
        middle = (low[open_ones] + high[open_ones]) >> 1
        below = time[middle] < moment[open_ones]
        low[open_ones[below]] = middle[below] + 1
        high[open_ones[~below]] = middle[~below]
        open_ones = open_ones[low[open_ones] < high[open_ones]]
    return low


def find_certain_times(
    plan: IntervalPlan, lengths: Lengths, found: Situations, times: np.ndarray, first: np.ndarray, last: np.ndarray
) -> Situations:
    """Situations with the moments at which they are known to have a good length.

    Args:
        plan: The query.
        lengths: Its lengths.
        found: The situations.
        times: The moments at which time passes.
        first: Per situation, the first of them that it sees.
        last: Up to but without this one.
    """
    kind, start, end = found.kind, found.start, found.end
    certain = end.copy() if plan.at_end else start.copy()
    for k, situation in enumerate(plan.situations):
        if lengths.high[k] is not None:
            certain[kind == k] = end[kind == k]
        elif situation.low is not None and not plan.at_end:
            own = np.flatnonzero(kind == k)
            row = rows_reaching(times, start[own] + lengths.low[k], first[own], last[own])
            reached = row < last[own]
            certain[own] = RUNNING
            certain[own[reached]] = times[row[reached]]
    certain[(end != RUNNING) & ~lengths.fit(kind, end - start)] = RUNNING
    return replace(found, certain=certain)
