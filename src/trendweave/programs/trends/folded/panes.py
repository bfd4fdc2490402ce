"""Panes of time: what folded rows are kept by. Every window is a whole number of them, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from trendweave.rows.closing import Closing

#: Tables that the panes of a window are kept in, about: with more panes, some neighbours share a table.
_TABLES = 64


@dataclass(frozen=True, slots=True)
class Panes:
    """Panes are numbered by their times. Where windows do not overlap a pane is a window."""

    closing: Closing

    @property
    def overlap(self) -> bool:
        """Do windows overlap?"""
        return self.closing.slide < self.closing.length

    @property
    def length(self) -> int:
        """In steps of the time column."""
        return gcd(self.closing.length, self.closing.slide)

    @property
    def per_window(self) -> int:
        return self.closing.length // self.length

    @property
    def per_slide(self) -> int:
        return self.closing.slide // self.length

    @property
    def per_table(self) -> int:
        """So many neighbours are kept in one table."""
        return -(-self.per_window // _TABLES)

    def of_times(self, times: np.ndarray) -> np.ndarray:
        """The pane of each time."""
        return np.floor_divide(times, self.length)

    def table_of(self, panes: np.ndarray) -> np.ndarray:
        """The number of the table that each pane is kept in."""
        return np.floor_divide(panes, self.per_table)

    def first_open(self, watermark: int) -> int:
        """The first window that a watermark has not closed."""
        return self.closing.windows(watermark, None)[0]

    def first_pane(self, window: int) -> int:
        return window * self.per_slide

    def windows_of(self, pane: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last window that hold each pane."""
        last = pane // self.per_slide
        return last + 1 + (pane % self.per_slide - self.per_window) // self.per_slide, last

    def end_of(self, window: int) -> int:
        """The watermark at which a window closes."""
        return window * self.closing.slide + self.closing.length
