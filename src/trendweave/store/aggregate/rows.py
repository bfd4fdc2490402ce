"""Rows of row groups, folded into slices; where blocks of a row group were taken whole from the tree, only the
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.kernels.sorting import order_by_time
from trendweave.programs.operators.measured import Measured, is_measured, measure
from trendweave.programs.operators.partials import Partials, choose, summarise
from trendweave.rows.times import TimeType, as_steps, check_edges, has_time
from trendweave.store.aggregate.question import Windows
from trendweave.store.index.light import in_time_order
from trendweave.store.kernels.cutting import cut_slices
from trendweave.store.layout.files import DataFile
from trendweave.store.layout.reading import OpenFiles, RowReader

if TYPE_CHECKING:
    from trendweave.store.snapshot import Snapshot


#: Rows that are read at once, or one row group.
_ROWS = 1 << 20


@dataclass(frozen=True)
class Rows:
    """Events in the order of files and row groups.

    Attributes:
        times: In steps.
        groups: The row group of each, by its number in the task.
        columns: What is asked for.
        keys: The columns that events are grouped by, where some are.
    """

    times: np.ndarray
    groups: np.ndarray
    columns: tuple[Measured, ...]
    keys: pa.Table | None = None

    def take(self, places: np.ndarray) -> Rows:
        """Some of them."""
        keys = self.keys.take(pa.array(places)) if self.keys is not None else None
        columns = tuple(column.take(places) for column in self.columns)
        return Rows(self.times[places], self.groups[places], columns, keys)

    def within(self, bounds: tuple[int | None, int | None]) -> Rows:
        """Those from the first moment on and before the second one."""
        first, end = bounds
        if first is None and end is None:
            return self
        inside = np.ones(self.times.size, np.bool_)
        if first is not None:
            inside &= self.times >= first
        if end is not None:
            inside &= self.times < end
        return self if inside.all() else self.take(np.flatnonzero(inside))

    def sorted_by_group(self) -> Rows:
        """In the order of row groups, and of time inside each; rows of one time stay in theirs."""
        same = self.groups[1:] == self.groups[:-1]
        if not (same & (self.times[1:] < self.times[:-1])).any():
            return self
        return self.take(np.lexsort((self.times, self.groups)))


@dataclass(frozen=True)
class GroupRows:
    """Reads row groups of a store; it travels to the tasks of Spark.

    Attributes:
        files: Opens files.
        schema: The columns of the store.
        time: The column of the time.
        kind: How it counts.
        columns: The columns that are asked for.
        bounds: Only events from the first step on and before the second.
        threads: Whether Arrow may decode columns side by side.
        keys: Columns that events are grouped by.
    """

    files: OpenFiles
    schema: pa.Schema
    time: str
    kind: TimeType
    columns: tuple[str, ...]
    bounds: tuple[int | None, int | None] = (None, None)
    threads: bool = True
    keys: tuple[str, ...] = ()

    def read(self, chosen: Iterable[tuple[DataFile, np.ndarray, np.ndarray, np.ndarray]]) -> Iterator[Rows]:
        """Events, some row groups at a time.

        Args:
            chosen: Per file its row groups, their numbers in the task and how many rows each has.
        """
        for file, groups, numbers, rows in chosen:
            first, held = 0, 0
            for place in range(groups.size):
                held += int(rows[place])
                if held >= _ROWS or place + 1 == groups.size:
                    part = slice(first, place + 1)
                    yield self._rows(file, groups[part], numbers[part], rows[part])
                    first, held = place + 1, 0

    def _rows(self, file: DataFile, groups: np.ndarray, numbers: np.ndarray, rows: np.ndarray) -> Rows:
        names = list(dict.fromkeys([self.time, *self.columns, *self.keys]))
        table = RowReader(self.files, file, self.schema).read(groups.tolist(), names, self.threads)
        of_group = np.repeat(numbers, rows)
        known = has_time(table.column(self.time))
        if not pc.all(known).as_py() and table.num_rows:
            table, of_group = table.filter(known), of_group[np.asarray(known)]
        times = as_steps(table.column(self.time), self.kind)
        columns = tuple(self._measure(table.column(name), name) for name in self.columns)
        found = Rows(times, of_group, columns, table.select(self.keys) if self.keys else None)
        return found.within(self.bounds)

    def _measure(self, column: pa.ChunkedArray, name: str) -> Measured:
        if not is_measured(column.type):
            # Only values that are there are counted.
            return Measured(np.zeros(len(column), np.int64), np.asarray(pc.is_valid(column)))
        found = measure(column)
        if found is None:
            message = f"the column {name} has values that do not fit 64 bits"
            raise DataError([Problem("TW310", message, "cast it to float64")])
        return found


def fold(
    rows: Rows,
    windows: Windows | None,
    kept: tuple[np.ndarray, np.ndarray] | None = None,
) -> Partials:
    """The slices of some events.

    Args:
        rows: In any order; with `kept`, in order of time inside each row group.
        windows: Of time; None for one slice over all.
        kept: Where rows begin and end that are wanted, where others lie between them.
    """
    times, order = in_time_order(rows.times)
    if kept is not None and order is not None:
        return fold(keep_stretches(rows, kept), windows)
    if windows is None:
        starts = np.array([0, times.size]) if times.size else np.zeros(1, np.int64)
        numbers = np.zeros(starts.size - 1, np.int64)
    else:
        check_edges(times, windows.length)
        starts, numbers = cut_slices(times, windows.slide, windows.rest)
    measured = [own if order is None else own.take(order) for own in rows.columns]
    if kept is None:
        return summarise(times, measured, starts, numbers)
    # Runs end with slices and with stretches; those that begin outside of all stretches are left out.
    edges = np.unique(np.concatenate((starts, *kept)))
    numbers = numbers[np.searchsorted(starts, edges[:-1], "right") - 1]
    inside = np.searchsorted(kept[0], edges[:-1], "right") > np.searchsorted(kept[1], edges[:-1], "right")
    return choose(summarise(times, measured, edges, numbers), np.flatnonzero(inside))


def keep_stretches(rows: Rows, kept: tuple[np.ndarray, np.ndarray]) -> Rows:
    """Only rows of some stretches, which do not overlap."""
    chosen = np.zeros(rows.times.size + 1, np.int64)
    np.add.at(chosen, kept[0], 1)
    np.add.at(chosen, kept[1], -1)
    return rows.take(np.flatnonzero(np.cumsum(chosen[:-1])))


def fold_by_key(
    rows: Rows,
    windows: Windows | None,
    keys: np.ndarray,
    count: int,
) -> Partials:
    """The slices of some events, group by group.

    Args:
        rows: In any order.
        windows: Of time; None for one slice over all.
        keys: The group of each event.
        count: More than the highest of these.
    """
    order, _, times = order_by_time(keys, rows.times, count)
    if windows is None:
        slices = np.zeros(times.size, np.int64)
    else:
        check_edges(times, windows.length)
        slices = windows.slice_of(times)
    own = keys[order]
    changes = (slices[1:] != slices[:-1]) | (own[1:] != own[:-1])
    starts = np.flatnonzero(np.concatenate(([True], changes, [True]))) if times.size else np.zeros(1, np.int64)
    found = summarise(times, [column.take(order) for column in rows.columns], starts, slices[starts[:-1]])
    return replace(found, group=own[starts[:-1]])


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
