"""Buckets of rows: how many there are, which row goes to which, and by which numbers Spark keeps them apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.kernels.sorting import stable_order
from trendweave.planning.plan import Path
from trendweave.rows.hashing import hash_rows

_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Buckets:
    """So many buckets: one for each task that computes. Rows with the same keys share one."""

    count: int

    def deal(self, rows: pa.Table, keys: tuple[Path, ...]) -> tuple[np.ndarray | None, np.ndarray]:
        """The order that brings rows by bucket, those of a bucket as they came (None: they stand in it), and where each
        bucket starts, with the end of the last."""
        if not keys or self.count == 1:
            return None, np.concatenate([[0], np.full(self.count, rows.num_rows)])
        # By the first half of the hash. Rows of one bucket differ in the other.
        places = ((hash_keys(rows, keys) >> _HALF) * np.uint64(self.count)) >> _HALF
        return stable_order(places.view(np.int64), self.count)

    def numbers(self) -> np.ndarray:
        """A number for each bucket. Spark hashes them, and its remainder by `count` differs from one to the next, so
        that with so many partitions each gets one bucket."""
        found = np.full(self.count, -1, np.int32)
        low, step = 0, 16 * self.count
        while (found < 0).any():
            tried = np.arange(low, low + step, dtype=np.int32)
            fresh = np.full(self.count, -1, np.int32)
            # Of several the one that is written last stays: the first that was tried.
            fresh[_spark_hash(tried[::-1]) % self.count] = tried[::-1]
            found = np.where(found < 0, fresh, found)
            low += step
        return found


def hash_keys(rows: pa.Table, keys: tuple[Path, ...]) -> np.ndarray:
    """A number per row that rows with the same keys have in common."""
    columns = [rows.column(path[0]) if len(path) == 1 else column_of(rows, path) for path in keys]
    return hash_rows(columns, rows.num_rows)


def _spark_hash(numbers: np.ndarray) -> np.ndarray:
    """What Spark's `hash` gives for numbers of 32 bits: MurmurHash3 with the seed 42."""
    word = numbers.astype(np.uint32) * np.uint32(0xCC9E2D51)
    word = _turn(word, 15) * np.uint32(0x1B873593)
    word = _turn(word ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    word ^= np.uint32(4)
    word = (word ^ (word >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    word = (word ^ (word >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (word ^ (word >> np.uint32(16))).view(np.int32)


def _turn(word: np.ndarray, bits: int) -> np.ndarray:
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))
