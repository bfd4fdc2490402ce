"""Which later rows an event can be followed by, as far as time and windows say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.kernels import Rows
from trendweave.rows.codes import different_numbers

#: Products below this stay whole numbers of 64 bits.
_MOST = 2**62


@dataclass(frozen=True, slots=True)
class Reach:
    """Per row, the first row of a later time, and the first row that no window holds together with it; both of its
    segment, or where that ends."""

    later: np.ndarray
    beyond: np.ndarray


def find_reach(rows: Rows) -> Reach:
    """Find how far each row reaches.

    Args:
        rows: The rows of some segments.

    Returns:
        What it reaches.
    """
    count = rows.tick.size
    sizes = np.diff(rows.segment_starts)
    segment = np.repeat(np.arange(sizes.size), sizes)
    ends = np.repeat(rows.segment_starts[1:], sizes)
    begins = np.ones(count, np.bool_)
    begins[1:] = (rows.tick[1:] != rows.tick[:-1]) | (segment[1:] != segment[:-1])
    starts = np.append(np.flatnonzero(begins), count)
    later = starts[np.cumsum(begins)]
    first, last = number_in_segments(rows.segment_starts, rows.window_first, rows.window_last)
    return Reach(np.minimum(later, ends), np.minimum(np.searchsorted(first, last, side="right"), ends))


def number_in_segments(starts: np.ndarray, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of numbers so that those of a segment come after those of all before it: one search does for all.

    Args:
        starts: Where segments begin, and the end of the last.
        one: A number per row.
        other: Another one.

    Returns:
        Both, in their order inside of a segment.
    """
    if starts.size <= 2 or not one.size:
        return one, other
    segment = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    low = min(int(one.min()), int(other.min()))
    width = max(int(one.max()), int(other.max())) - low + 2
    if width * starts.size >= _MOST:
        numbers = different_numbers(np.concatenate([one, other]))
        one, other, low, width = np.searchsorted(numbers, one), np.searchsorted(numbers, other), 0, numbers.size + 1
    return segment * width + (one - low), segment * width + (other - low)
