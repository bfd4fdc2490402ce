"""Buckets that have too many rows, divided between keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from trendweave.kernels.sorting import stable_order
from trendweave.planning.plan import Path
from trendweave.runners.spark.exchange.blobs import Blob, unpack
from trendweave.runners.spark.exchange.buckets import hash_keys
from trendweave.runners.spark.table_task import Limits

#: Rows of a bucket are told apart by so many values of the second half of their hash.
_VALUES = 1 << 16


def split_by_keys(
    blobs: Sequence[Blob], limits: Limits, keys: tuple[Path, ...], refuse: Callable[[pa.Table], None]
) -> Iterator[pa.Table]:
    """Tables of whole keys, and of so many rows as the limits say; more where hashes hardly differ.

    Args:
        blobs: All blobs of a bucket. Of their columns only keys are read at once.
        limits: How many rows a table shall have, and how many a key may have.
        keys: What rows have in common that stay together.
        refuse: Called with rows of a key that has more of them than it may have.
    """
    names = list(dict.fromkeys(path[0] for path in keys))
    hashes = np.concatenate([_hash_blob(blob, names, keys) for blob in blobs])
    values = (hashes & np.uint64(_VALUES - 1)).view(np.int64)
    group_of_value, groups = _group(np.bincount(values, minlength=_VALUES), limits.rows_at_once)
    order, starts = stable_order(group_of_value[values], groups)
    ends = np.cumsum([blob.rows.num_rows for blob in blobs])
    for low, high in pairwise(starts.tolist()):
        rows = order[low:high]
        if rows.size > limits.rows_of_a_key:
            found, counts = np.unique(hashes[rows], return_counts=True)
            large = found[counts > limits.rows_of_a_key]
            if large.size:
                of_key = rows[hashes[rows] == large[0]]
                refuse(_take(blobs, ends, of_key[: limits.rows_of_a_key + 1]))
        if rows.size:
            yield _take(blobs, ends, rows)


def _group(counts: np.ndarray, rows_at_once: int) -> tuple[np.ndarray, int]:
    """The number of a group for each value: values one after the other that have so many rows together, unless one
    alone has more; and how many groups there are."""
    before = np.concatenate([[0], np.cumsum(counts)])
    starts = [0]
    while True:
        fitting = int(np.searchsorted(before, before[starts[-1]] + rows_at_once, side="right")) - 1
        following = max(fitting, starts[-1] + 1)
        if before[following] == before[-1]:
            break
        starts.append(following)
    group = np.zeros(counts.size, np.int64)
    group[starts[1:]] = 1
    return np.cumsum(group), len(starts)


def _take(blobs: Sequence[Blob], ends: np.ndarray, rows: np.ndarray) -> pa.Table:
    """Rows of all blobs by number, in ascending order."""
    borders = [0, *np.searchsorted(rows, ends).tolist()]
    taken = []
    for blob, (low, high), end in zip(blobs, pairwise(borders), ends.tolist(), strict=True):
        if low < high:
            taken.append(blob.take(rows[low:high] - (end - blob.rows.num_rows)))
    return unpack(taken)


def _hash_blob(blob: Blob, names: list[str], keys: tuple[Path, ...]) -> np.ndarray:
    if not keys:
        return np.zeros(blob.rows.num_rows, np.uint64)
    return hash_keys(unpack([blob], names), keys)
