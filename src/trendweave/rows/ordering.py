"""Rows by key and time: the one order that kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.sorting import find_in_order, order_by_time


class Sorted(NamedTuple):
    """The order of rows by key and time, None where they stand in it; where each key starts, with the end of the last;
    and the times in this order."""

    order: np.ndarray | None
    starts: np.ndarray
    moment: np.ndarray


def sort_by_key_and_time(key: np.ndarray, moment: np.ndarray, count: int, keys_in_order: bool = True) -> Sorted:
    """Sort rows by their key, and by time where keys are equal; rows of one key and time stay in their order.

    Args:
        key: The number of each row's key, below `count`.
        moment: The time of each row, in steps of the time column.
        count: How many keys there are.
        keys_in_order: Shall key k be the k-th? Otherwise it is enough that the rows of each key stand together, as
            Spark brings them; then every number below `count` must occur.

    Returns:
        The rows in order.
    """
    key, moment = np.ascontiguousarray(key, np.int64), np.ascontiguousarray(moment, np.int64)
    starts = find_in_order(key, moment, count, keys_in_order)
    return Sorted(None, starts, moment) if starts is not None else Sorted(*order_by_time(key, moment, count))
