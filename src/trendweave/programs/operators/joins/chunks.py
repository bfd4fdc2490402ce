"""Members of the other side of a join, found by sorted values.

Members are cut into chunks, each sorted by value. Between its least and its largest value a chunk has buckets of one
width, with four values in each on average: where a value would stand is read from a table, and hardly searched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: A chunk has 2 ** so many times fewer buckets than members.
PER_BUCKET = 2


class Chunks(NamedTuple):
    """Members in chunks.

    Attributes:
        values: Their values, sorted within chunks of 2 ** bits: finite ones, then infinity for members that are always
            looked at, then NaN for those that never are.
        members: The members in this order.
        finite: Where in each chunk infinity begins.
        present: Where in each chunk NaN begins.
        table: Per chunk and bucket, how many values of the chunk stand before it; then how many are finite.
        scale: Buckets per unit of value; 0 where values are too near or too far from each other for more than one.
    """

    values: np.ndarray
    members: np.ndarray
    finite: np.ndarray
    present: np.ndarray
    table: np.ndarray
    scale: np.ndarray


def sort_into_chunks(given: np.ndarray, bits: int) -> Chunks:
    """Values in chunks of 2 ** bits, as `Chunks` has them.

    Args:
        given: The values of members in their order; infinity for those that are always looked at, NaN for those that
            never are.
        bits: A chunk has 2 ** so many members.
    """
    size, buckets = 1 << bits, 1 << (bits - PER_BUCKET)
    starts = np.arange(0, given.size, size)
    members = np.full((starts.size, size), np.nan)
    members.ravel()[: given.size] = given
    members = np.argsort(members, axis=1) + starts[:, None]
    lines = np.append(given, np.full(starts.size * size - given.size, np.nan))[members]
    known, numbers = np.isfinite(lines), np.arange(starts.size)
    finite = np.count_nonzero(known, axis=1)
    with np.errstate(all="ignore"):
        scale = buckets / (lines[numbers, finite - 1] - lines[:, 0])
        scale = np.where(np.isfinite(scale), scale, 0.0)
        bucket = np.where(scale[:, None] > 0, np.minimum((lines - lines[:, :1]) * scale[:, None], buckets - 1), 0)
    places = bucket[known].astype(np.int64) + np.repeat(numbers * (buckets + 1) + 1, finite)
    counts = np.bincount(places, minlength=starts.size * (buckets + 1))
    table = counts.reshape(starts.size, buckets + 1).cumsum(axis=1)
    present = starts + np.count_nonzero(~np.isnan(lines), axis=1)
    return Chunks(lines.ravel(), members.ravel(), starts + finite, present, table.ravel().astype(np.int32), scale)
