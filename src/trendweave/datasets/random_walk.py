"""Random walks in whole numbers, so that every platform takes the same steps."""

from __future__ import annotations

import numpy as np


def reflect(walk: np.ndarray, low: int, high: int) -> np.ndarray:
    """Turn a free walk into one that is thrown back at both ends.

    Args:
        walk: The places of the free walk.
        low: The lowest place.
        high: The highest place.

    Returns:
        The places between both.
    """
    span = high - low
    within: np.ndarray = low + span - np.abs((walk - low) % (2 * span) - span)
    return within


def sum_within(steps: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Sum up steps, anew from each beginning.

    Args:
        steps: The steps.
        first: The indexes where sums start anew, ascending, the first one 0.

    Returns:
        The running sums.
    """
    total = np.cumsum(steps)
    before = total[first] - steps[first]
    since: np.ndarray = total - np.repeat(before, np.diff(first, append=len(steps)))
    return since
