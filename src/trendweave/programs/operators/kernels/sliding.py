"""Smallest and largest values over stretches whose both ends only move forward."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer


@outer
def _smallest(values: np.ndarray, low: np.ndarray, high: np.ndarray, results: np.ndarray) -> None:
    """Places of values that may still be the smallest wait in ascending order of value."""
    waiting = np.empty(values.size, np.int64)
    first, end, seen = 0, 0, 0
    for stretch in range(low.size):
        while seen < high[stretch]:
            while end > first and values[waiting[end - 1]] >= values[seen]:
                end -= 1
            waiting[end] = seen
            end += 1
            seen += 1
        while first < end and waiting[first] < low[stretch]:
            first += 1
        results[stretch] = values[waiting[first]]


def smallest_between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The smallest int64 value with low[i] <= place < high[i]; stretches are not empty and ascend at both ends."""
    results = np.empty(low.size, np.int64)
    _smallest(read_only(values), read_only(low), read_only(high), results)
    return results


def largest_between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The largest one, in the same way."""
    return ~smallest_between(~values, low, high)
