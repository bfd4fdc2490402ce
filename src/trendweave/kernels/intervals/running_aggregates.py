"""Aggregates of the beginnings of runs of rows, each run read once however many beginnings are asked for."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import inner


@inner
def _sums(first: np.ndarray, cut: np.ndarray, values: np.ndarray, valid: np.ndarray, count: np.ndarray,
          total: np.ndarray, rest: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:  # fmt: skip
    """Entries are sorted by (first, cut), so each goes on where the one before ended. Returns 1 after an overflow.

    Sums of floats carry along what rounding loses (Neumaier), so they hardly depend on the order of rows.
    """
    for i in range(first.size):
        row = first[i]
        if i > 0 and first[i - 1] == first[i]:
            row = cut[i - 1]
            count[i], total[i], rest[i], low[i], high[i] = (
                count[i - 1],
                total[i - 1],
                rest[i - 1],
                low[i - 1],
                high[i - 1],
            )
        while row < cut[i]:
            if valid[row]:
                value = values[row]
                before = total[i]
                after = before + value
                if abs(before) >= abs(value):
                    rest[i] += (before - after) + value
                else:
                    rest[i] += (value - after) + before
                total[i] = after
                if count[i] == 0:
                    low[i] = value
                    high[i] = value
                else:
                    if value < low[i] or (low[i] != low[i] and value == value):
                        low[i] = value
                    if value > high[i] or value != value:
                        high[i] = value
                count[i] += 1
            row += 1
    return 0


@inner
def _whole_sums(first: np.ndarray, cut: np.ndarray, values: np.ndarray, valid: np.ndarray, count: np.ndarray,
                total: np.ndarray, rest: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:  # fmt: skip
    for i in range(first.size):
        row = first[i]
        if i > 0 and first[i - 1] == first[i]:
            row = cut[i - 1]
            count[i], total[i], low[i], high[i] = count[i - 1], total[i - 1], low[i - 1], high[i - 1]
        while row < cut[i]:
            if valid[row]:
                value = values[row]
                after = total[i] + value
                if ((total[i] ^ after) & (value ^ after)) < 0:
                    return 1
                total[i] = after
                if count[i] == 0 or value < low[i]:
                    low[i] = value
                if count[i] == 0 or value > high[i]:
                    high[i] = value
                count[i] += 1
            row += 1
    return 0


def running_aggregates(
    first: np.ndarray, cut: np.ndarray, values: np.ndarray, valid: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Per entry the number, sum, smallest and largest of the valid values of rows first .. cut; NaN is the largest.

    Entries are sorted by (first, cut). None where a sum of whole numbers does not fit 64 bits.
    """
    count = np.zeros(first.size, np.int64)
    total, rest, low, high = (np.zeros(first.size, values.dtype) for _ in range(4))
    kernel = _sums if values.dtype == np.float64 else _whole_sums
    if kernel(first, cut, values, valid, count, total, rest, low, high):
        return None
    if values.dtype == np.float64:
        # Infinities and NaN have no rest.
        total = np.where(np.isfinite(rest), total + rest, total)
    return count, total, low, high
