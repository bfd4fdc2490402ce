"""Numbers of segments into numbers of groups: add, or keep the smallest or largest, by place."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import outer


@outer
def _add_whole(places: np.ndarray, values: np.ndarray, sums: np.ndarray) -> bool:
    for i in range(places.size):
        before = sums[places[i]]
        after = before + values[i]
        # A sum of two numbers with the same sign that has the other sign went beyond 64 bits.
        if (before ^ after) & (values[i] ^ after) < 0:
            return False
        sums[places[i]] = after
    return True


@outer
def _add_floats(places: np.ndarray, values: np.ndarray, sums: np.ndarray) -> None:
    for i in range(places.size):
        sums[places[i]] += values[i]


@outer
def _keep_largest(
    places: np.ndarray, values: np.ndarray, known: np.ndarray, best: np.ndarray, found: np.ndarray
) -> None:
    for i in range(places.size):
        if known[i] and (not found[places[i]] or values[i] > best[places[i]]):
            best[places[i]] = values[i]
            found[places[i]] = True


def add_at(places: np.ndarray, values: np.ndarray, count: int) -> np.ndarray | None:
    """Sums of int64 or float64 values by place; None where a sum of whole numbers does not fit 64 bits."""
    sums = np.zeros(count, values.dtype)
    if values.dtype == np.float64:
        _add_floats(places, np.ascontiguousarray(values), sums)
        return sums
    return sums if _add_whole(places, np.ascontiguousarray(values), sums) else None


def largest_at(places: np.ndarray, values: np.ndarray, known: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest known int64 value by place, and whether there is one."""
    best, found = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    _keep_largest(places, np.ascontiguousarray(values, np.int64), np.ascontiguousarray(known, np.bool_), best, found)
    return best, found
