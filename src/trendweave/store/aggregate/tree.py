"""The blocks of all files as the leaves of one tree: level above level, each node the aggregate of some dozens below
it.

A walk down the tree finds which nodes lie whole in one slice, and which row groups have to be read for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trendweave.programs.operators.measured import codes_of
from trendweave.programs.operators.partials import ColumnPart, Partials, merge
from trendweave.programs.operators.sums import Sums
from trendweave.store.aggregate.question import Windows
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


Bounds = tuple[int | None, int | None]


@dataclass(frozen=True)
class Walk:
    """What a walk found.

    Attributes:
        taken: Per level the nodes that lie whole in a slice.
        read: Blocks of which rows are needed.
        visited: How many nodes were looked at.
    """

    taken: tuple[np.ndarray, ...]
    read: np.ndarray
    visited: int


def walk(
    tree: Tree,
    windows: Windows | None,
    bounds: Bounds,
    columns: Sequence[str],
    whole: bool = True,
    groups: np.ndarray | None = None,
) -> Walk:
    """Go down the tree.

    Args:
        tree: Over the blocks of a store.
        windows: Of time; None for one slice over all.
        bounds: Only events from the first step on and before the second.
        columns: Columns of which aggregates are asked.
        whole: Whether nodes may be taken whole; else all rows are read.
        groups: Where groups are asked for, that of each block; -1 where it has several.
    """
    levels = tree.levels
    told = [_told(tree, level, columns) for level in range(len(levels))]
    if groups is not None:
        told = [own & (of_level >= 0) for own, of_level in zip(told, group_levels(tree, groups), strict=True)]
    taken: list[np.ndarray] = [np.empty(0, np.int64)] * len(levels)
    nodes = np.arange(levels[-1].size)
    visited = 0
    for number in range(len(levels) - 1, -1, -1):
        level = levels[number]
        visited += nodes.size
        first, last = level.first[nodes], level.last[nodes]
        nodes, first, last = (array[_touches(first, last, bounds)] for array in (nodes, first, last))
        is_whole = _inside(first, last, bounds) & told[number][nodes] & whole
        if windows is not None:
            is_whole &= windows.slice_of(first) == windows.slice_of(last)
        taken[number] = nodes[is_whole]
        nodes = nodes[~is_whole]
        if number:
            below = levels[number - 1].size
            nodes = (nodes[:, None] * FANOUT + np.arange(FANOUT)).reshape(-1)
            nodes = nodes[nodes < below]
    return Walk(tuple(taken), nodes, visited)


def _told(tree: Tree, number: int, columns: Sequence[str]) -> np.ndarray:
    told = tree.levels[number].exact
    for name in columns:
        levels = tree.column(name)
        told = told & levels[number].told if levels is not None else np.zeros(told.size, np.bool_)
    return told


def group_levels(tree: Tree, groups: np.ndarray) -> list[np.ndarray]:
    """The group of each node, level by level; -1 where it has several."""
    found = [groups]
    for level in tree.levels[:-1]:
        starts = np.arange(0, level.size, FANOUT)
        low, high = np.minimum.reduceat(found[-1], starts), np.maximum.reduceat(found[-1], starts)
        found.append(np.where(low == high, low, -1))
    return found


def _touches(first: np.ndarray, last: np.ndarray, bounds: Bounds) -> np.ndarray:
    touches = np.ones(first.size, np.bool_)
    if bounds[0] is not None:
        touches &= last >= bounds[0]
    if bounds[1] is not None:
        touches &= first < bounds[1]
    return touches


def _inside(first: np.ndarray, last: np.ndarray, bounds: Bounds) -> np.ndarray:
    inside = np.ones(first.size, np.bool_)
    if bounds[0] is not None:
        inside &= first >= bounds[0]
    if bounds[1] is not None:
        inside &= last < bounds[1]
    return inside


def add_up(
    tree: Tree, found: Walk, windows: Windows | None, columns: Sequence[str], groups: np.ndarray | None = None
) -> Partials:
    """The slices of the nodes that were taken."""
    parts = []
    of_levels = None if groups is None else group_levels(tree, groups)
    for number, nodes in enumerate(found.taken):
        level = tree.levels[number]
        if nodes.size:
            slices = windows.slice_of(level.first[nodes]) if windows is not None else np.zeros(nodes.size, np.int64)
            own = [_choose(tree, name, number, nodes) for name in columns]
            group = None if of_levels is None else of_levels[number][nodes]
            times = level.first[nodes], level.last[nodes]
            parts.append(Partials(slices, level.count[nodes], *times, tuple(own), group))
    return merge([merge([part], len(columns)) for part in parts], len(columns))


def _choose(tree: Tree, name: str, number: int, nodes: np.ndarray) -> ColumnPart:
    levels = tree.column(name)
    assert levels is not None, "a node is taken only where its columns are known"
    level: ColumnLevel = levels[number]
    return column_part(level, nodes)


def column_part(level: ColumnLevel, nodes: np.ndarray) -> ColumnPart:
    """What some nodes know of a column."""
    known, nans, sums = level.known[nodes], level.nans[nodes], level.sums.take(nodes)
    return ColumnPart(level.low[nodes], level.high[nodes], known, nans, sums)
