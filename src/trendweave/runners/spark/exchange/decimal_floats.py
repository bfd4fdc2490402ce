"""Floats that stand for decimals, as prices do, as whole numbers of cents or other parts: the same bits come back."""

from __future__ import annotations

import numpy as np

#: Parts of one that floats are tried in, and how many of them are looked at before all of them are.
_PARTS = (1, 10, 100, 1_000, 10_000)
_FEW = 1_000


def find_whole(floats: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Whole numbers and the parts of one that they count; None where some float would not come back with all its bits,
    as NaN, infinities and -0.0 do not."""
    with np.errstate(invalid="ignore", over="ignore"):
        for parts in _PARTS:
            if _to_whole(floats[:_FEW], parts) is not None:
                whole = _to_whole(floats, parts)
                return None if whole is None else (whole, parts)
    return None


def from_whole(whole: np.ndarray, parts: int) -> np.ndarray:
    """The floats that whole numbers stand for."""
    floats = whole.astype(np.float64)
    return floats if parts == 1 else floats / parts


def _to_whole(floats: np.ndarray, parts: int) -> np.ndarray | None:
    whole = np.rint(floats * parts).astype(np.int64)
    same = np.array_equal(from_whole(whole, parts).view(np.int64), floats.view(np.int64))
    return whole if same else None
