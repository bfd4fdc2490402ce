"""Prepared rows -> parts that are computed apart: by the keys that bring rows together, or by chunks of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from heapq import heapreplace
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
from trendweave.rows.segments import take_rows
from trendweave.rows.times import TimeType, as_steps, time_type

#: Fewer rows are not worth a slice of their own.
LEAST_ROWS = 75_000
#: So many rows of each core are cut into two parts.
_MANY_ROWS = 2_000_000
#: Times beyond this are so far away that borders of chunks might not fit 64 bits.
_FAR = 2**62
#: Keys are counted by so many bits of their hash; what has the same bits stays together.
_BITS = 10
#: Rows that are brought in order at once.
_BLOCK = 1 << 17
#: Rows of the largest part, as many times as many as an even share, up to which keys alone are dealt out.
_UNEVEN = 1.25
#: Runs have so many rows at least, on average; shorter ones are dealt out.
_LENGTH = 16
#: Rows that are looked at before all of them are.
_FEW = 4_096


@dataclass(frozen=True, slots=True)
class Deal:
    """Parts of rows: what fetches the rows of each, what is asked of them, the share of the largest, and whether they
    are chunks of time, one after the other."""

    parts: tuple[Callable[[], pa.Table], ...]
    scope: Scope
    largest: float
    by_time: bool = False


def is_worth_cutting(rows: int) -> bool:
    """Whether there are enough rows for two slices."""
    return rows >= 2 * LEAST_ROWS


def count_parts(rows: int, cores: int) -> int:
    """Into how many parts rows are dealt out: one per core, as Python does something for each, one after the other;
    fewer of few rows; two per core of very many, so that a core that is done early takes another one. No number between
    these: most cores would wait for those with a second part."""
    return max(1, min(rows // LEAST_ROWS, cores if rows < cores * _MANY_ROWS else 2 * cores))


def cut_evenly(rows: int, parts: int) -> list[tuple[int, int]]:
    """First row and number of rows of parts that are about as large as each other, and large enough."""
    parts = max(1, min(parts, rows // LEAST_ROWS))
    borders = [rows * part // parts for part in range(parts + 1)]
    return [(low, high - low) for low, high in pairwise(borders)]


def deal(program: Program, slices: Sequence[pa.Table], pool: Executor, cores: int, parts: int) -> Deal | None:
    """How rows are dealt out; None where they cannot be.

    Args:
        program: Says what belongs together.
        slices: Prepared rows, one slice after the other.
        pool: Threads.
        cores: How many of them work at the same time.
        parts: How many parts are wanted.
    """
    split = program.split()
    if split.prefers_time:
        by_time = deal_time(program, slices, pool, parts)
        if by_time is not None and by_time.largest * cores <= _UNEVEN:
            return by_time
    by_keys = deal_keys(split.keys, slices, pool, parts)
    if by_keys is not None and by_keys.largest * cores <= _UNEVEN:
        return by_keys
    by_time = deal_time(program, slices, pool, parts)
    known = [one for one in (by_keys, by_time) if one is not None]
    return min(known, key=lambda one: one.largest, default=None)


# By keys


def deal_keys(keys: tuple[Path, ...], slices: Sequence[pa.Table], pool: Executor, parts: int) -> Deal | None:
    """Parts of whole keys; None where there are no keys, or all rows have the same."""
    slices = [rows for rows in slices if rows.num_rows]
    if not keys or not slices:
        return None
    hashes = list(pool.map(lambda rows: _hash_keys(rows, keys), slices))
    runs = [one for one in pool.map(Runs.of, hashes) if one is not None]
    cuts = cut_runs(runs, [rows.num_rows for rows in slices], parts) if len(runs) == len(slices) else None
    whole = None if cuts is None else _deal_runs(slices, cuts)
    if whole is not None and whole.largest * parts <= _UNEVEN:
        return whole
    counted = list(pool.map(_Counted.of, hashes))
    part_of, sizes = _share_out(np.sum([one.counts for one in counted], axis=0), parts)
    if len(sizes) < 2:
        return None
    largest = max(sizes) / sum(sizes)
    if whole is not None and whole.largest <= _UNEVEN * largest:
        return whole
    blocks = [
        (rows.slice(first, _BLOCK), one.bits[first : first + _BLOCK])
        for rows, one in zip(slices, counted, strict=True)
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


def _hash_keys(rows: pa.Table, keys: tuple[Path, ...]) -> np.ndarray:
    columns = [rows.column(path[0]) if len(path) == 1 else column_of(rows, path) for path in keys]
    return hash_rows(columns, rows.num_rows)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Keys of a slice by some bits of their hashes, and how many rows have each."""

    bits: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(hashes: np.ndarray) -> _Counted:
        bits = (hashes >> np.uint64(64 - _BITS)).astype(np.uint16)
        return _Counted(bits, np.bincount(bits, minlength=1 << _BITS))


def _share_out(counts: np.ndarray, parts: int) -> tuple[np.ndarray, list[int]]:
    """The part of each hash, and how many rows each part has: the largest first, each to the smallest part."""
    part_of = np.zeros(counts.size, np.int64)
    sizes = [(0, part) for part in range(parts)]
    order = np.argsort(-counts, kind="stable")
    for one, count in zip(order.tolist(), counts[order].tolist(), strict=True):
        if not count:
            break
        size, smallest = sizes[0]
        part_of[one] = smallest
        heapreplace(sizes, (size + count, smallest))
    return part_of, [size for size, _ in sizes if size]


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


# Rows that stand by key: each key is one run of rows, in one slice or across several, and nothing is moved


@dataclass(frozen=True, slots=True)
class Runs:
    """Where runs of equal hashes begin, and the hash of each."""

    starts: np.ndarray
    hashes: np.ndarray

    @staticmethod
    def of(hashes: np.ndarray) -> Runs | None:
        """The runs of a slice; None where they are short."""
        for looked_at in (hashes[:_FEW], hashes):
            borders = np.flatnonzero(looked_at[1:] != looked_at[:-1])
            if borders.size * _LENGTH > looked_at.size:
                return None
        starts = np.concatenate([[0], borders + 1])
        return Runs(starts, hashes[starts])


def cut_runs(slices: Sequence[Runs], sizes: Sequence[int], parts: int) -> list[int] | None:
    """The rows at which to cut all slices, with the first and the one behind the last; None where some key stands in
    several runs, or there are too few keys.

    Args:
        slices: The runs of each slice.
        sizes: How many rows each has.
        parts: How many parts are wanted.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    starts = np.concatenate([one.starts + offset for one, offset in zip(slices, offsets, strict=False)])
    hashes = np.concatenate([one.hashes for one in slices])
    # A run may go on in the next slice.
    begins = np.ones(starts.size, np.bool_)
    begins[1:] = hashes[1:] != hashes[:-1]
    starts, hashes = starts[begins], hashes[begins]
    if starts.size < 2 or np.unique(hashes).size < hashes.size:
        return None
    wanted = offsets[-1] * np.arange(1, parts) // parts
    places = np.searchsorted(starts, wanted).clip(max=starts.size - 1)
    before = np.maximum(places - 1, 0)
    nearer = np.where(wanted - starts[before] < starts[places] - wanted, before, places)
    return np.unique(np.concatenate([[0], starts[nearer], [offsets[-1]]])).tolist()


# By time: times are read slice by slice, and a chunk takes its rows out of those slices that hold some of its times


def deal_time(program: Program, slices: Sequence[pa.Table], pool: Executor, parts: int) -> Deal | None:
    """Chunks of time; None where time cannot be cut, or is too short for two of them, or where rows that chunks share
    are numbered already, by the stretches of time that they were read from.

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
    if chunks.across and CHUNK in slices[0].column_names:
        return None
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
