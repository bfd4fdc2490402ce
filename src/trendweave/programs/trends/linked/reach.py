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

    def bounds(self, sources: np.ndarray, begun: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the rows that sources can be followed by begin and end among targets.

        Args:
            sources: Row numbers.
            begun: Per source, the row that must lie in a window together with what follows.
            targets: Row numbers, sorted.

        Returns:
            Per source, the place of its first target and the place after its last.
        """
        before = np.zeros(self.later.size + 1, np.int64)
        before[targets + 1] = 1
        before = np.cumsum(before)
        low = before[self.later[sources]]
        return low, np.maximum(low, before[self.beyond[begun]])


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
    first, last = rows.window_first, rows.window_last
    if sizes.size > 1 and count:
        # One search for all segments: windows of a segment are numbered after those of all before it.
        low = min(int(first.min()), int(last.min()))
        width = max(int(first.max()), int(last.max())) - low + 2
        if width * sizes.size >= _MOST:
            numbers = different_numbers(np.concatenate([first, last]))
            first, last = np.searchsorted(numbers, first), np.searchsorted(numbers, last)
            low, width = 0, numbers.size + 1
        first, last = segment * width + (first - low), segment * width + (last - low)
    return Reach(np.minimum(later, ends), np.minimum(np.searchsorted(first, last, side="right"), ends))
