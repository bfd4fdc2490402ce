"""Arrays that grow while a kernel fills them."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import outer


@outer
def grow(array: np.ndarray, size: int) -> np.ndarray:
    """Copy an array into one with `size` places along its first axis; the new ones hold anything."""
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[: array.shape[0]] = array
    return larger
