"""The blocks of a store as the leaves of a tree: level above level, each node the aggregate of some dozens below it.

Blocks are in order of time, whatever file they are from, so that nodes above them join files (thesis, 3.2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trendweave.programs.operators.measured import codes_of
from trendweave.programs.operators.sums import Sums
from trendweave.store.index.blocks import Blocks

#: Nodes below a node.
FANOUT = 32


@dataclass(frozen=True)
class Level:
    """The nodes of one level.

    Attributes:
        first: The first time below each node.
        last: The last one.
        count: How many events.
        exact: Whether all that is below is from an index.
    """

    first: np.ndarray
    last: np.ndarray
    count: np.ndarray
    exact: np.ndarray

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return int(self.first.size)


@dataclass(frozen=True)
class ColumnLevel:
    """What the nodes of a level know of a column.

    Attributes:
        low: Codes of the smallest values; above `high` where there is none.
        high: Codes of the largest values that are no NaN.
        known: How many values are not NULL.
        nans: How many of these are NaN.
        sums: Their sums.
        told: Whether the rest is known.
    """

    low: np.ndarray
    high: np.ndarray
    known: np.ndarray
    nans: np.ndarray
    sums: Sums
    told: np.ndarray


class Tree:
    """The tree over all blocks; columns are added up when they are first asked for."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self._columns: dict[str, list[ColumnLevel] | None] = {}

    @cached_property
    def levels(self) -> list[Level]:
        """From the blocks upwards; the last one has at most `FANOUT` nodes."""
        blocks = self.blocks
        levels = [Level(blocks.first, blocks.last, blocks.count, blocks.exact)]
        while levels[-1].size > FANOUT:
            below = levels[-1]
            starts = np.arange(0, below.size, FANOUT)
            levels.append(
                Level(
                    np.minimum.reduceat(below.first, starts),
                    np.maximum.reduceat(below.last, starts),
                    np.add.reduceat(below.count, starts),
                    np.logical_and.reduceat(below.exact, starts),
                )
            )
        return levels

    def column(self, name: str) -> list[ColumnLevel] | None:
        """What nodes know of a column, level by level; None where it is not of numbers, dates or times."""
        if name not in self._columns:
            self._columns[name] = self._add_up(name)
        return self._columns[name]

    def _add_up(self, name: str) -> list[ColumnLevel] | None:
        leaf = self.blocks.column(name)
        if leaf is None:
            return None
        blocks = self.blocks
        known = np.where(leaf.known, blocks.count - leaf.nulls, 0)
        low, high = codes_of(leaf.low), codes_of(leaf.high)
        levels = [ColumnLevel(low, high, known, leaf.nans, leaf.sums, leaf.known & blocks.exact)]
        for level in self.levels[:-1]:
            below, starts = levels[-1], np.arange(0, level.size, FANOUT)
            levels.append(
                ColumnLevel(
                    np.minimum.reduceat(below.low, starts),
                    np.maximum.reduceat(below.high, starts),
                    np.add.reduceat(below.known, starts),
                    np.add.reduceat(below.nans, starts),
                    below.sums.add_runs(starts),
                    np.logical_and.reduceat(below.told, starts),
                )
            )
        return levels
