"""Rows by key and time: the one order that kernels read."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.sorting import stable_order


def sort_by_key_and_time(
    key: np.ndarray, moment: np.ndarray, count: int, keys_in_order: bool = True
) -> tuple[np.ndarray | None, np.ndarray]:
    """Sort rows by their key, and by time where keys are equal; rows of one key and time stay in their order.

    Args:
        key: The number of each row's key, below `count`.
        moment: The time of each row, in steps of the time column.
        count: How many keys there are.
        keys_in_order: Shall key k be the k-th? Otherwise it is enough that the rows of each key stand together, as
            Spark brings them; then every number below `count` must occur.

    Returns:
        The order of the rows, None where they need no sorting; and where each key starts, with the end of the last.
    """
    earlier = moment[1:] < moment[:-1]
    in_time = not earlier.any()
    if count == 1:
        return (None if in_time else np.argsort(moment, kind="stable")), np.array([0, moment.size])
    if keys_in_order:
        if _ascends(key) and (in_time or not (earlier & (key[1:] == key[:-1])).any()):
            return None, np.searchsorted(key, np.arange(count + 1))
    else:
        border = key[1:] != key[:-1]
        # With as many runs of equal numbers as numbers, each of them has one run.
        if np.count_nonzero(border) + 1 <= count and (in_time or not (earlier & ~border).any()):
            return None, np.concatenate([[0], np.flatnonzero(border) + 1, [key.size]])
    if not key.size:
        return None, np.zeros(count + 1, np.int64)
    if in_time:
        return stable_order(key, count)
    by_time = np.argsort(moment, kind="stable")
    order, starts = stable_order(key[by_time], count)
    return by_time[order], starts


def _ascends(numbers: np.ndarray) -> bool:
    """Are they in order? Those that are not mostly show it among the first."""
    return all(bool((part[1:] >= part[:-1]).all()) for part in (numbers[:1000], numbers))
