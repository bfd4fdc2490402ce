"""Telling rows of blocks that are read from those of blocks that were taken whole, where both lie in one row group."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from trendweave.store.aggregate.rows import Rows

if TYPE_CHECKING:
    from trendweave.store.snapshot import Snapshot


@dataclass(frozen=True)
class Membership:
    """Blocks that are read, of row groups that have others as well. Blocks of one row group share no moment.

    Attributes:
        number: The row group of each.
        first: When they begin, in order of row group and time.
        last: When they end.
    """

    number: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, store: Snapshot, read: np.ndarray) -> Membership:
        """For blocks that are read."""
        blocks = store.blocks
        total = np.bincount(blocks.number, minlength=store.groups.file.size)
        own = np.bincount(blocks.number[read], minlength=total.size)
        partly = read[own[blocks.number[read]] < total[blocks.number[read]]]
        order = partly[np.lexsort((blocks.first[partly], blocks.number[partly]))]
        return cls(blocks.number[order], blocks.first[order], blocks.last[order])

    def find(self, rows: Rows) -> tuple[Rows, tuple[np.ndarray, np.ndarray] | None]:
        """The rows, and where those begin and end that belong to blocks that are read; None where all do.

        Args:
            rows: Of some row groups.

        Returns:
            The rows in order of time inside each row group, unless all of them are wanted.
        """
        if not self.number.size or not rows.times.size:
            return rows, None
        rows = rows.sorted_by_group()
        edges = np.flatnonzero(np.concatenate(([True], rows.groups[1:] != rows.groups[:-1], [True])))
        begins, ends = [], []
        for begin, end in pairwise(edges.tolist()):
            group = rows.groups[begin]
            low, high = np.searchsorted(self.number, group), np.searchsorted(self.number, group, "right")
            if low == high:
                begins.append(np.array([begin]))
                ends.append(np.array([end]))
                continue
            times = rows.times[begin:end]
            begins.append(begin + np.searchsorted(times, self.first[low:high]))
            ends.append(begin + np.searchsorted(times, self.last[low:high], "right"))
        return rows, (np.concatenate(begins), np.concatenate(ends))
