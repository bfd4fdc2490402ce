"""Random walks in whole numbers, so that every platform takes the same steps."""

from __future__ import annotations

import numpy as np


def reflected(walk: np.ndarray, low: int, high: int) -> np.ndarray:
    """A free walk as the walk that is thrown back at `low` and `high`."""
    span = high - low
    within: np.ndarray = low + span - np.abs((walk - low) % (2 * span) - span)
    return within


def sums_within(steps: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Running sums of `steps` that start anew at the indexes `first`, which are ascending and begin with 0."""
    total = np.cumsum(steps)
    before = total[first] - steps[first]
    since: np.ndarray = total - np.repeat(before, np.diff(first, append=len(steps)))
    return since
