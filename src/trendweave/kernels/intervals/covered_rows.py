"""Which rows lie inside a situation: both sorted by (partition, time), so one pass over both is enough."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import inner


@inner
def _covered(
    time: np.ndarray,
    starts: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    inside: np.ndarray,
) -> None:
    for partition in range(starts.size - 1):
        place = low[partition]
        for row in range(starts[partition], starts[partition + 1]):
            while place < high[partition] and end[place] <= time[row]:
                place += 1
            inside[row] = place < high[partition] and start[place] <= time[row]


def covered_rows(
    time: np.ndarray, starts: np.ndarray, start: np.ndarray, end: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Per row, whether a situation of its partition (low .. high; they are disjoint) has begun and not ended."""
    inside = np.zeros(time.size, np.bool_)
    _covered(time, starts, start, end, low, high, inside)
    return inside
