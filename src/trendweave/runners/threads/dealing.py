"""Prepared rows -> parts that are computed apart: by the keys that bring rows together, or by chunks of time.

What a part holds is settled here; its rows are fetched by the thread that computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from trendweave.errors import TrendweaveError
from trendweave.expressions.arrow.evaluate import column_of
from trendweave.kernels.sorting import stable_order
from trendweave.planning.plan import Path
from trendweave.programs.program import EVERYTHING, Program, Scope, TimeCut
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.hashing import hash_rows
from trendweave.rows.ordering import take_rows
from trendweave.rows.times import as_steps, time_type
from trendweave.runners.threads.runs import Runs, cut_runs

#: Keys are counted by so many bits of their hash; what has the same bits stays together.
_BITS = 10
#: Rows that are brought in order at once.
_BLOCK = 1 << 17
#: Rows of the largest part, as many times as many as an even share, up to which keys alone are dealt out.
_UNEVEN = 1.25
#: Times beyond this are so far away that borders of chunks might not fit 64 bits.
_FAR = 2**62


@dataclass(frozen=True, slots=True)
class Deal:
    """Parts of rows: what fetches the rows of each, what is asked of them, the share of the largest, and whether they
    are chunks of time, one after the other."""

    parts: tuple[Callable[[], pa.Table], ...]
    scope: Scope
    largest: float
    by_time: bool = False


def deal(
    program: Program, slices: Sequence[pa.Table], pool: Executor, cores: int, parts: int, prefer_time: bool = False
) -> Deal | None:
    """How rows are dealt out; None where they cannot be.

    Args:
        program: Says what belongs together.
        slices: Prepared rows, one slice after the other.
        pool: Threads.
        cores: How many of them work at the same time.
        parts: How many parts are wanted.
        prefer_time: Whether chunks of time are as good as keys, and spare sorting afterwards.
    """
    if prefer_time:
        by_time = _deal_time(program, slices, parts)
        if by_time is not None and by_time.largest * cores <= _UNEVEN:
            return by_time
    by_keys = deal_keys(program.needs.together, slices, pool, parts)
    if by_keys is not None and by_keys.largest * cores <= _UNEVEN:
        return by_keys
    by_time = _deal_time(program, slices, parts)
    known = [one for one in (by_keys, by_time) if one is not None]
    return min(known, key=lambda one: one.largest, default=None)


# By keys


def deal_keys(keys: tuple[Path, ...], slices: Sequence[pa.Table], pool: Executor, parts: int) -> Deal | None:
    """Parts of whole keys; None where there are no keys, or all rows have the same."""
    slices = [rows for rows in slices if rows.num_rows]
    if not keys or not slices:
        return None
    hashed = list(pool.map(lambda rows: _Hashed.of(rows, keys), slices))
    part_of, sizes = _share_out(np.sum([one.counts for one in hashed], axis=0), parts)
    if len(sizes) < 2:
        return None
    largest = max(sizes) / sum(sizes)
    runs = [one.runs for one in hashed if one.runs is not None]
    if len(runs) == len(hashed):
        cuts = cut_runs(runs, [rows.num_rows for rows in slices], parts)
        whole = None if cuts is None else _deal_runs(slices, cuts)
        if whole is not None and whole.largest <= _UNEVEN * largest:
            return whole
    blocks = [
        (rows.slice(first, _BLOCK), one.bits[first : first + _BLOCK])
        for rows, one in zip(slices, hashed, strict=True)
        for first in range(0, rows.num_rows, _BLOCK)
    ]
    ordered = list(pool.map(lambda block: _Ordered.of(block[0], part_of[block[1]], parts), blocks))

    def fetch(part: int) -> Callable[[], pa.Table]:
        return lambda: pa.Table.from_batches([one.of_part(part) for one in ordered]).combine_chunks()

    return Deal(tuple(fetch(part) for part in range(len(sizes))), EVERYTHING, largest)


def _deal_runs(slices: Sequence[pa.Table], cuts: list[int]) -> Deal:
    """Rows that stand by key, cut between keys."""
    rows = pa.concat_tables(slices)

    def fetch(first: int, end: int) -> Callable[[], pa.Table]:
        return lambda: rows.slice(first, end - first).combine_chunks()

    largest = max(end - first for first, end in pairwise(cuts)) / cuts[-1]
    return Deal(tuple(fetch(first, end) for first, end in pairwise(cuts)), EVERYTHING, largest)


@dataclass(frozen=True, slots=True)
class _Hashed:
    """Keys of a slice by some bits of their hashes, how many rows have each, and runs of keys where rows stand so."""

    bits: np.ndarray
    counts: np.ndarray
    runs: Runs | None

    @staticmethod
    def of(rows: pa.Table, keys: tuple[Path, ...]) -> _Hashed:
        columns = [rows.column(path[0]) if len(path) == 1 else column_of(rows, path) for path in keys]
        hashes = hash_rows(columns, rows.num_rows)
        bits = (hashes >> np.uint64(64 - _BITS)).astype(np.uint16)
        return _Hashed(bits, np.bincount(bits, minlength=1 << _BITS), Runs.of(hashes))


def _share_out(counts: np.ndarray, parts: int) -> tuple[np.ndarray, list[int]]:
    """The part of each hash, and how many rows each part has: the largest first, each to the smallest part."""
    part_of = np.zeros(counts.size, np.int64)
    sizes = [0] * parts
    for one in np.argsort(-counts, kind="stable").tolist():
        if not counts[one]:
            break
        smallest = sizes.index(min(sizes))
        part_of[one] = smallest
        sizes[smallest] += int(counts[one])
    return part_of, [size for size in sizes if size]


@dataclass(frozen=True, slots=True)
class _Ordered:
    """A block of rows, those of each part together. A block fits a cache, so that each row is fetched from memory once,
    however many parts there are; all of its columns are fetched in one call."""

    rows: pa.RecordBatch
    starts: np.ndarray

    @staticmethod
    def of(rows: pa.Table, parts: np.ndarray, count: int) -> _Ordered:
        order, starts = stable_order(parts, count)
        (batch,) = rows.combine_chunks().to_batches()
        return _Ordered(batch.take(pa.array(order)), starts)

    def of_part(self, part: int) -> pa.RecordBatch:
        first, end = self.starts[part : part + 2].tolist()
        return self.rows.slice(first, end - first)


# By time


def _deal_time(program: Program, slices: Sequence[pa.Table], parts: int) -> Deal | None:
    """None where time cannot be cut, or is too short for two chunks."""
    if program.needs.time is None or TIME not in slices[0].column_names or program.cut() is None:
        return None
    rows = pa.concat_tables(slices)
    kind = time_type(program.moment)
    steps = as_steps(rows.column(TIME), kind)
    if not steps.size:
        return None
    first, last = int(steps.min()), int(steps.max())
    if not -_FAR < first <= last < _FAR:
        return None
    cut = _find_cut(program, -(-(last - first + 1) // parts) * kind.step)
    if cut is None:
        return None
    # What begins before the first row, or in the chunk behind the last, may hold rows as well.
    numbers = range((first - cut.after) // cut.length, (last + cut.before) // cut.length + 1)
    if len(numbers) < 2:
        return None
    across = bool(cut.before or cut.after or cut.last_step)
    chunks = _Chunks(rows, steps, cut, in_order=bool((steps[1:] >= steps[:-1]).all()), across=across)

    def fetch(number: int) -> Callable[[], pa.Table]:
        return lambda: chunks.fetch(number)

    sizes = [chunks.count(number) for number in numbers]
    made = tuple(fetch(number) for number, size in zip(numbers, sizes, strict=True) if size)
    return Deal(made, Scope(chunk=cut.length if across else None), max(sizes) / steps.size, by_time=True)


def _find_cut(program: Program, wanted: int) -> TimeCut | None:
    """Chunks that are about as long as wanted, or the shortest that there may be."""
    try:
        return program.cut(wanted)
    except TrendweaveError:
        return program.cut()


@dataclass(frozen=True, slots=True)
class _Chunks:
    """Rows with their times in steps, and how time is cut. A chunk is one part. `across`: something may lie across the
    borders of chunks, so that a program must know of them."""

    rows: pa.Table
    steps: np.ndarray
    cut: TimeCut
    in_order: bool
    across: bool

    def _edges(self, number: int) -> tuple[int, int]:
        low = number * self.cut.length
        return low - self.cut.before, low + self.cut.length + self.cut.after

    def count(self, number: int) -> int:
        low, high = self._edges(number)
        if self.in_order:
            return int(np.searchsorted(self.steps, high) - np.searchsorted(self.steps, low))
        return int(np.count_nonzero((self.steps >= low) & (self.steps < high)))

    def fetch(self, number: int) -> pa.Table:
        """The rows of a chunk, with its number where something may lie across borders."""
        low, high = self._edges(number)
        rows = self._between(self._last_before(low) if self.cut.last_step else low, low, high)
        return rows.append_column(CHUNK, pa.array(np.full(rows.num_rows, number))) if self.across else rows

    def _last_before(self, low: int) -> int:
        """The last time before a chunk at which there is a row; its beginning where there is none."""
        if self.in_order:
            end = int(np.searchsorted(self.steps, low))
            return int(self.steps[end - 1]) if end else low
        earlier = self.steps[self.steps < low]
        return int(earlier.max()) if earlier.size else low

    def _between(self, last: int, low: int, high: int) -> pa.Table:
        """Rows from `low` up to but without `high`, and those of the time `last` before them."""
        if self.in_order:
            begin, end = np.searchsorted(self.steps, [min(last, low), high]).tolist()
            return self.rows.slice(begin, end - begin).combine_chunks()
        chosen = ((self.steps >= low) & (self.steps < high)) | (self.steps == last)
        order = np.flatnonzero(chosen)
        whole = self.rows.combine_chunks()
        return pa.table([take_rows(column, order) for column in whole.columns], schema=whole.schema)
