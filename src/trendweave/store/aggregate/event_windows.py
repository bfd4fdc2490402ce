"""Windows of so many events: their edges are found by the counts that blocks keep (thesis, 3.3.3, count windows).

Events are numbered in order of time; those of one time in the order of files and of rows in them. Blocks whose times
overlap are one stretch. A stretch that lies whole in a slice is taken from its blocks, of any other the rows are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.measured import join_measured
from trendweave.programs.operators.partials import Partials, merge, nothing, summarise
from trendweave.store.aggregate.question import Windows
from trendweave.store.aggregate.rows import GroupRows, Rows
from trendweave.store.aggregate.run import Question, Using, check_using, finish, group_files
from trendweave.store.aggregate.tree import column_part, walk

if TYPE_CHECKING:
    from trendweave.store.snapshot import Snapshot


@dataclass(frozen=True)
class _Stretches:
    """Blocks whose times overlap, together.

    Attributes:
        blocks: The blocks, in order of time.
        starts: Where stretches begin among them.
        first: When each begins.
        known: Whether all of its blocks are known, so that its rows need not be read to count them.
    """

    blocks: np.ndarray
    starts: np.ndarray
    first: np.ndarray
    known: np.ndarray

    @property
    def of_block(self) -> np.ndarray:
        """The stretch of each block."""
        return np.repeat(np.arange(self.starts.size), np.diff(np.append(self.starts, self.blocks.size)))

    def of_times(self, times: np.ndarray) -> np.ndarray:
        """The stretches of some events."""
        return np.searchsorted(self.first, times, "right") - 1


def answer_counted(store: Snapshot, question: Question, using: Using) -> pa.Table:
    """The rows of windows of events. What the index knows is never dearer than reading it.

    Raises:
        OptionError: There is no such way.
    """
    check_using(using)
    windows = question.windows
    assert windows is not None, "windows of events have a length"
    stretches = _find_stretches(store, question, using != "replay")
    rows = _read(store, question, stretches, ~stretches.known)
    counts = np.bincount(stretches.of_times(rows.times), minlength=stretches.starts.size)
    if stretches.starts.size:
        own = np.add.reduceat(store.blocks.count[stretches.blocks], stretches.starts)
        counts = np.where(stretches.known, own, counts)
    begins = np.cumsum(counts) - counts
    whole = stretches.known & (windows.slice_of(begins) == windows.slice_of(begins + np.maximum(counts, 1) - 1))
    more = _read(store, question, stretches, stretches.known & ~whole)
    both = _in_order(rows, more)
    parts = [_fold(both, stretches, begins, question, windows), _add_up(store, stretches, begins, whole, question)]
    return finish(merge(parts, len(question.columns)), question, store)


def _find_stretches(store: Snapshot, question: Question, with_index: bool) -> _Stretches:
    blocks, tree = store.blocks, store.tree
    everything = walk(tree, None, question.bounds, (), whole=False).read
    taken = walk(tree, None, question.bounds, question.columns, whole=with_index)
    known = np.ones(blocks.size, np.bool_)
    known[taken.read] = False
    first, last = blocks.first[everything], blocks.last[everything]
    reach = np.maximum.accumulate(last)
    starts = np.flatnonzero(np.concatenate(([True], first[1:] > reach[:-1]))) if first.size else np.empty(0, np.int64)
    all_known = np.logical_and.reduceat(known[everything], starts) if starts.size else np.empty(0, np.bool_)
    return _Stretches(everything, starts, first[starts], all_known)


def _read(store: Snapshot, question: Question, stretches: _Stretches, chosen: np.ndarray) -> Rows:
    """The events of some stretches."""
    numbers = np.unique(store.blocks.number[stretches.blocks[chosen[stretches.of_block]]])
    reader = GroupRows(store.open_files, store.schema, store.time, store.kind, question.columns, question.bounds)
    found = []
    for rows in reader.read(list(group_files(store, numbers))):
        inside = chosen[stretches.of_times(rows.times)]
        found.append(rows if inside.all() else rows.take(np.flatnonzero(inside)))
    return _join(found)


def _join(found: list[Rows]) -> Rows:
    if len(found) == 1:
        return found[0]
    if not found:
        return Rows(np.empty(0, np.int64), np.empty(0, np.int64), ())
    columns = [join_measured(own) for own in zip(*(rows.columns for rows in found), strict=True)]
    times, groups = (np.concatenate([getattr(rows, key) for rows in found]) for key in ("times", "groups"))
    return Rows(times, groups, tuple(columns))


def _in_order(one: Rows, other: Rows) -> Rows:
    both = _join([rows for rows in (one, other) if rows.times.size])
    return both.take(np.argsort(both.times, kind="stable"))


def _fold(rows: Rows, stretches: _Stretches, begins: np.ndarray, question: Question, windows: Windows) -> Partials:
    """Events that were read, by their numbers: those of a stretch follow each other."""
    if not rows.times.size:
        return nothing(len(question.columns))
    own = stretches.of_times(rows.times)
    place = np.arange(own.size) - np.searchsorted(own, own)
    slices = windows.slice_of(begins[own] + place)
    starts = np.flatnonzero(np.concatenate(([True], slices[1:] != slices[:-1])))
    return summarise(rows.times, rows.columns, np.append(starts, own.size), slices[starts])


def _add_up(
    store: Snapshot, stretches: _Stretches, begins: np.ndarray, whole: np.ndarray, question: Question
) -> Partials:
    """Stretches that lie whole in a slice."""
    chosen = whole[stretches.of_block]
    blocks, tree = stretches.blocks[chosen], store.tree
    windows = question.windows
    assert windows is not None, "windows of events have a length"
    slices = windows.slice_of(begins[stretches.of_block[chosen]])
    columns = []
    for name in question.columns:
        levels = tree.column(name)
        if levels is None:  # then no block is known
            return merge([], len(question.columns))
        columns.append(column_part(levels[0], blocks))
    level = tree.levels[0]
    return Partials(slices, level.count[blocks], level.first[blocks], level.last[blocks], tuple(columns))
