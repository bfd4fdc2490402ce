"""Arrays of zeros that threads make side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike


def zeros(shape: int | tuple[int, ...], kind: DTypeLike) -> np.ndarray:
    """As `numpy.zeros`, which keeps other threads from going on while it clears memory that was in use before."""
    found = np.empty(shape, kind)
    found.fill(0)
    return found
