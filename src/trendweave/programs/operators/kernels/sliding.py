"""Smallest and largest values over stretches whose both ends only move forward."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer


@outer
def _smallest(values: np.ndarray, flip: int, low: np.ndarray, high: np.ndarray, results: np.ndarray) -> None:
    """Values that may still be the smallest wait in ascending order, with their places; `flip` is -1 where all bits are
    turned, which turns the order round."""
    waiting, places = np.empty(values.size, np.int64), np.empty(values.size, np.int64)
    first, end, seen = 0, 0, 0
    for stretch in range(low.size):
        if low[stretch] > seen:
            seen = low[stretch]
        while seen < high[stretch]:
            value = values[seen] ^ flip
            while end > first and waiting[end - 1] >= value:
                end -= 1
            waiting[end], places[end] = value, seen
            end += 1
            seen += 1
        while first < end and places[first] < low[stretch]:
            first += 1
        results[stretch] = waiting[first] ^ flip


def smallest_between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The smallest int64 value with low[i] <= place < high[i]; stretches are not empty and ascend at both ends."""
    results = np.empty(low.size, np.int64)
    _smallest(read_only(values), 0, read_only(low), read_only(high), results)
    return results


def largest_between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The largest one, in the same way."""
    results = np.empty(low.size, np.int64)
    _smallest(read_only(values), -1, read_only(low), read_only(high), results)
    return results
