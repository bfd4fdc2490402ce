"""Prepared rows -> chunks of time that are computed apart.

Times are read slice by slice, each by a thread. A chunk takes its rows out of those slices that hold some of its times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.errors import TrendweaveError
from trendweave.programs.program import Program, Scope, TimeCut
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.ordering import take_rows
from trendweave.rows.times import TimeType, as_steps, time_type
from trendweave.runners.threads.deal import Deal

#: Times beyond this are so far away that borders of chunks might not fit 64 bits.
_FAR = 2**62


def deal_time(program: Program, slices: Sequence[pa.Table], pool: Executor, parts: int) -> Deal | None:
    """Chunks of time; None where time cannot be cut, or is too short for two of them.

    Args:
        program: Says how time can be cut.
        slices: Prepared rows, one slice after the other.
        pool: Threads.
        parts: How many chunks are wanted.
    """
    if program.needs.time is None or TIME not in slices[0].column_names or program.cut() is None:
        return None
    kind = time_type(program.moment)
    timed = list(pool.map(lambda rows: _Timed.of(rows, kind), (rows for rows in slices if rows.num_rows)))
    if not timed:
        return None
    first, last = min(one.first for one in timed), max(one.last for one in timed)
    if not -_FAR < first <= last < _FAR:
        return None
    cut = _find_cut(program, -(-(last - first + 1) // parts) * kind.step)
    if cut is None:
        return None
    # What begins before the first row, or in the chunk behind the last, may hold rows as well.
    numbers = range((first - cut.after) // cut.length, (last + cut.before) // cut.length + 1)
    if len(numbers) < 2:
        return None
    chunks = _Chunks(timed, cut, first, last, across=bool(cut.before or cut.after or cut.last_step))
    edges = np.array([chunks.edges(number) for number in numbers])
    sizes = np.sum(list(pool.map(lambda one: one.count(edges[:, 0], edges[:, 1]), timed)), axis=0).tolist()
    made = tuple(_fetching(chunks, number) for number, size in zip(numbers, sizes, strict=True) if size)
    largest = max(sizes) / sum(one.steps.size for one in timed)
    return Deal(made, Scope(chunk=cut.length if chunks.across else None), largest, by_time=True)


def _fetching(chunks: _Chunks, number: int) -> Callable[[], pa.Table]:
    return lambda: chunks.fetch(number)


def _find_cut(program: Program, wanted: int) -> TimeCut | None:
    """Chunks that are about as long as wanted, or the shortest that there may be."""
    try:
        return program.cut(wanted)
    except TrendweaveError:
        return program.cut()


@dataclass(frozen=True, slots=True)
class _Timed:
    """A slice of rows with their times in steps, the first and the last of these, and whether they ascend."""

    rows: pa.Table
    steps: np.ndarray
    first: int
    last: int
    in_order: bool

    @staticmethod
    def of(rows: pa.Table, kind: TimeType) -> _Timed:
        steps = as_steps(rows.column(TIME), kind)
        if (steps[1:] >= steps[:-1]).all():
            return _Timed(rows, steps, int(steps[0]), int(steps[-1]), in_order=True)
        return _Timed(rows, steps, int(steps.min()), int(steps.max()), in_order=False)

    def count(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """How many rows lie from each `low` up to but without `high`."""
        if self.in_order:
            return np.searchsorted(self.steps, high) - np.searchsorted(self.steps, low)
        found = [np.count_nonzero((self.steps >= one) & (self.steps < end)) for one, end in zip(low, high, strict=True)]
        return np.array(found)

    def last_before(self, low: int) -> int | None:
        """The last time before `low` at which there is a row; None where there is none."""
        if self.first >= low:
            return None
        if self.in_order:
            return int(self.steps[np.searchsorted(self.steps, low) - 1])
        return int(self.steps[self.steps < low].max())

    def between(self, earlier: int, low: int, high: int) -> pa.Table | None:
        """Rows from `low` up to but without `high`, and those of the time `earlier`, which is the last one before them,
        or `low`. None where there are none."""
        if self.last < earlier or self.first >= high:
            return None
        if self.in_order:
            begin, end = np.searchsorted(self.steps, [earlier, high]).tolist()
            return self.rows.slice(begin, end - begin)
        chosen = np.flatnonzero(((self.steps >= low) & (self.steps < high)) | (self.steps == earlier))
        return pa.table([take_rows(column, chosen) for column in self.rows.columns], schema=self.rows.schema)


@dataclass(frozen=True, slots=True)
class _Chunks:
    """Slices, how time is cut, and the first and the last of all times. A chunk is one part. `across`: something may
    lie across the borders of chunks, so that a program must know of them."""

    slices: Sequence[_Timed]
    cut: TimeCut
    first: int
    last: int
    across: bool

    def edges(self, number: int) -> tuple[int, int]:
        """The time from which on a chunk reads rows, and the one at which it ends; none far beyond all rows."""
        low = number * self.cut.length
        begin, end = low - self.cut.before, low + self.cut.length + self.cut.after
        return min(max(begin, self.first), self.last + 1), min(max(end, self.first), self.last + 1)

    def fetch(self, number: int) -> pa.Table:
        """The rows of a chunk, with its number where something may lie across borders."""
        low, high = self.edges(number)
        earlier = low
        if self.cut.last_step:
            earlier = max((last for one in self.slices if (last := one.last_before(low)) is not None), default=low)
        found = [rows for one in self.slices if (rows := one.between(earlier, low, high)) is not None]
        rows = pa.concat_tables(found).combine_chunks()
        return rows.append_column(CHUNK, pa.array(np.full(rows.num_rows, number))) if self.across else rows
