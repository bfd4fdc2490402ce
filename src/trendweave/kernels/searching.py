"""Binary search in a part of a sorted array."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import inlined_late


@inlined_late
def first_not_below(numbers: np.ndarray, low: int, high: int, bound: int) -> int:
    """The first place of low .. high with a number of at least `bound`; high where there is none."""
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low
