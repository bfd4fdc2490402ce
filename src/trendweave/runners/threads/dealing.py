"""Prepared rows -> parts that are computed apart: by the keys that bring rows together, or by chunks of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from heapq import heapreplace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.kernels.sorting import stable_order
from trendweave.planning.plan import Path
from trendweave.programs.program import EVERYTHING, Program
from trendweave.rows.hashing import hash_rows
from trendweave.runners.threads.deal import Deal
from trendweave.runners.threads.dealing_time import deal_time
from trendweave.runners.threads.runs import Runs, cut_runs

#: Keys are counted by so many bits of their hash; what has the same bits stays together.
_BITS = 10
#: Rows that are brought in order at once.
_BLOCK = 1 << 17
#: Rows of the largest part, as many times as many as an even share, up to which keys alone are dealt out.
_UNEVEN = 1.25


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
        by_time = deal_time(program, slices, pool, parts)
        if by_time is not None and by_time.largest * cores <= _UNEVEN:
            return by_time
    by_keys = deal_keys(program.needs.own_keys, slices, pool, parts)
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
