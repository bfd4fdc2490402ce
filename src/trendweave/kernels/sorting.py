"""Sorting rows by small numbers: counting is enough."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import outer


@outer
def _counted(codes: np.ndarray, starts: np.ndarray, order: np.ndarray) -> None:
    for code in codes:
        starts[code + 1] += 1
    for i in range(1, starts.size):
        starts[i] += starts[i - 1]
    place = starts.copy()
    for row in range(codes.size):
        order[place[codes[row]]] = row
        place[codes[row]] += 1


def stable_order(codes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows sorted by codes 0 .. count-1, equal codes in their order, and where each code starts (count + 1)."""
    starts = np.zeros(count + 1, np.int64)
    order = np.empty(codes.size, np.int64)
    _counted(np.ascontiguousarray(codes, np.int64), starts, order)
    return order, starts
