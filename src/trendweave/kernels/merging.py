"""Numbers of segments into numbers of groups: add, or keep the smallest or largest, by place."""

from __future__ import annotations

import numpy as np

_LOW_BITS = 32


def add_at(places: np.ndarray, values: np.ndarray, count: int) -> np.ndarray | None:
    """Sums of int64 or float64 values by place; None where a sum of whole numbers does not fit 64 bits."""
    if values.dtype == np.float64:
        return np.bincount(places, values, count)
    if values.size and max(int(values.max()), -int(values.min())) * values.size < 2**53:  # floats hold them all
        return np.bincount(places, values, count).astype(np.int64)
    # Halves apart, as neither sum can pass 64 bits: there are fewer than 2**31 values.
    low, high = np.zeros((2, count), np.int64)
    np.add.at(low, places, values & ((1 << _LOW_BITS) - 1))
    np.add.at(high, places, values >> _LOW_BITS)
    high += low >> _LOW_BITS
    if count and (high.max() >= 1 << (_LOW_BITS - 1) or high.min() < -(1 << (_LOW_BITS - 1))):
        return None
    return (high << _LOW_BITS) | (low & ((1 << _LOW_BITS) - 1))


def largest_at(places: np.ndarray, values: np.ndarray, known: np.ndarray, count: int) -> np.ndarray:
    """The largest known int64 value by place, 0 where there is none."""
    places, values = places[known], values[known]
    best, found = np.full(count, np.iinfo(np.int64).min), np.zeros(count, np.bool_)
    np.maximum.at(best, places, values)
    found[places] = True
    best[~found] = 0
    return best
