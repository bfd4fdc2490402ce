"""Sums and extremes of windows on a GPU, in whole-array steps of CuPy.

What 2**k rows from each place on come to is made of what 2**(k - 1) rows do, until the longest window is covered. A
window is put together of one such number for each bit of its length, so nothing is ever subtracted: a window's sum has
no trace of what is outside of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trendweave.gpu.card import Card


def fold_windows(card: Card, what: str, values: Any, low: Any, high: Any) -> Any:
    """The sum, the least or the most of values over low[i] <= place < high[i], on the card; no window is empty.

    Args:
        card: The card.
        what: "sum", "least" or "most".
        values: int64 or float64, on the card.
        low: The first place of each window, int64 on the card.
        high: The place behind its last.
    """
    xp, kind = card.xp, np.dtype(values.dtype)
    add = {"sum": xp.add, "least": xp.minimum, "most": xp.maximum}[what]
    nothing = {"sum": 0, "least": 2**63 - 1, "most": -(2**63)}[what]
    found, place, lengths = xp.full(len(low), nothing, kind), low, high - low
    longest = int(lengths.max()) if len(low) else 0
    with np.errstate(over="ignore", invalid="ignore"):
        for level in range(longest.bit_length()):
            if level:
                reach = 1 << (level - 1)
                values = add(values[:-reach], values[reach:])
            held = lengths >> level & 1
            taken = values[xp.minimum(place, len(values) - 1)]
            found = xp.where(held != 0, add(found, taken), found)
            place = place + (held << level)
    return found
