"""Contiguous trends one by one, block of partitions by block: counted first, and found while they are written.

A block in which several rows of a partition have one time goes the general way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError
from trendweave.kernels.listing.contiguous import (
    BEGINNING,
    PAST_LAST,
    TO_FIRST,
    TO_LAST,
    TO_NEXT,
    Automaton,
    FoundRuns,
    NeighbourSteps,
    Ranges,
    RunFolds,
    count_runs,
    find_ends,
    new_folding,
    new_path,
    take_runs,
    walk_runs,
)
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.planning.ways import takes_by_folding, windows_overlap
from trendweave.programs.trends.aggregates import TaskOptions
from trendweave.programs.trends.choice import NO_LIMIT
from trendweave.programs.trends.contiguous.folds import NO_FOLDS, read_folded, tabulate_folds
from trendweave.programs.trends.contiguous.steps import (
    ROWS_AT_ONCE,
    PackedSteps,
    WindowRanges,
    columns_read,
    find_steps,
    find_windows,
    group_values,
    has_ties,
    make_automaton,
)
from trendweave.programs.trends.detection import Detection
from trendweave.programs.trends.lists import WrittenTrends, check_number, describe_too_many, list_trends
from trendweave.programs.trends.walking import TRENDS_AT_ONCE, TRENDS_PER_VERTEX, VERTICES_AT_ONCE
from trendweave.results.each_columns import EachColumns
from trendweave.results.shown_trends import FoldedTrends, ShownTrends
from trendweave.results.trend_table import TrendWriter
from trendweave.rows.encoded import TIME, EncodedRows, PartitionBlock, sort_partitions

_SKIPS = {"next": TO_NEXT, "past last": PAST_LAST, "first": TO_FIRST, "last": TO_LAST}
#: Floats count whole numbers up to here.
MOST_COUNTED = 2.0**53
#: Events of taken trends that are listed for each row, at most, where they need not be.
_LISTED_PER_ROW = 64
#: Makes the writer of some rows, of whose partitions the grouping attributes are given.
MakeWriter: TypeAlias = Callable[[EncodedRows, list[pa.Array]], TrendWriter]


class ListedPart(Protocol):
    """The trends of some partitions, counted and not yet built."""

    @property
    def trends(self) -> int | None:
        """How many trends there are."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Build and write them, some at a time."""


@dataclass(frozen=True, slots=True)
class ListedParts:
    """The trends of all partitions, part by part: `most` of them at most."""

    plan: Plan
    most: int
    parts: list[ListedPart]

    @property
    def trends(self) -> int | None:
        """How many trends there are; None where only some are taken, and it turns out which on the way."""
        numbers = [part.trends for part in self.parts if part.trends is not None]
        return sum(numbers) if len(numbers) == len(self.parts) else None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Build and write them, some at a time.

        Raises:
            ExecutionError: TW412 after too many, where their number was not known beforehand.
        """
        shown = 0
        for part in self.parts:
            for batch in part.batches():
                shown += batch.num_rows
                if shown > self.most:
                    raise ExecutionError([describe_too_many(f"more than {self.most:,}", self.most, self.plan)])
                yield batch


@dataclass(frozen=True, slots=True)
class Taking:
    """Which trends are taken, as the kernel reads it: the longest of each beginning or the shortest, and how it goes on
    from there."""

    longest: bool
    skip: int
    variable: int

    @staticmethod
    def of(plan: Plan) -> Taking | None:
        selection = plan.selection
        if selection is None:
            return None
        names = [variable.name for variable in plan.variables]
        variable = -1 if selection.variable is None else names.index(selection.variable)
        return Taking(not selection.shortest, _SKIPS[selection.skip], variable)


@dataclass(frozen=True, slots=True)
class ListedRuns:
    """The trends of a block, by steps from row to row.

    `windows` are those that have any, `rows` what is written of the rows, `groups` the grouping attributes of the
    partitions. `pruned`: all steps that are left lead to an end. `trends` is None where only some are taken.
    `folded` gives the same trends without listing their events, for those that overlap much.
    """

    automaton: Automaton
    steps: PackedSteps
    pruned: bool
    windows: WindowRanges
    taking: Taking | None
    trends: int | None
    rows: EncodedRows
    groups: list[pa.Array]
    make_writer: MakeWriter
    folded: Callable[[], WrittenTrends] | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        if self.trends != 0 and self.windows.segment.size:
            writer = self.make_writer(self.rows, self.groups)
            if self.folded is not None:
                yield from self._write_few(writer, self.folded)
                return
            folds = None
            if isinstance(writer.columns, EachColumns) and self.taking is None:
                folds = tabulate_folds(writer.columns, self._longest)
            for found in self._find(folds):
                yield writer.write(found)

    def _write_few(self, writer: TrendWriter, folded: Callable[[], WrittenTrends]) -> Iterator[pa.RecordBatch]:
        """Write what is listed, unless that are so many events that it is quicker to begin again and list none."""
        written, listed = [], 0
        for found in self._find(None):
            assert isinstance(found, ShownTrends), "events are listed"
            listed += found.rows.size
            if listed > _LISTED_PER_ROW * self.rows.table.num_rows:
                yield from folded().batches()
                return
            written.append(writer.write(found))
        yield from written

    @property
    def _longest(self) -> int:
        """The most rows that a trend can have."""
        return int((self.windows.ranges.high - self.windows.ranges.low).max())

    def _find(self, folds: RunFolds | None) -> Iterator[ShownTrends | FoldedTrends]:
        """Find all trends. With folds they are folded on the way; otherwise their events are listed."""
        automaton, given = self.automaton, self.steps.unpack()
        ahead = np.empty((0 if self.pruned else given.steps.size, automaton.variable.size), np.int32)
        if not self.pruned:
            find_ends(automaton, given, ahead)
        longest = self._longest
        found = _make_buffers(folds, longest, given.steps.size)
        path, place = new_path(longest), BEGINNING
        wanted = NO_FOLDS if folds is None else folds
        stack = new_folding(longest, wanted.kind.size)
        given_steps = automaton, given, ahead, self.windows.ranges, path
        taking = self.taking
        while True:
            if taking is None:
                trends, place = walk_runs(*given_steps, wanted, stack, found, place)
            else:
                trends, place = take_runs(*given_steps, found, place, taking.longest, taking.skip, taking.variable)
            if trends == 0:
                return
            yield self._show(found, trends) if folds is None else self._show_folded(folds, found, trends)

    def _show(self, found: FoundRuns, trends: int) -> ShownTrends:
        starts, of = found.starts[: trends + 1].copy(), found.range[:trends]
        # A trend is made of the rows up to its last one.
        rows = np.arange(starts[-1]) + np.repeat(found.last[:trends] + 1 - starts[1:], np.diff(starts))
        variables = found.variables[: starts[-1]]
        return ShownTrends(rows, variables, starts, self._keys(found, trends), self.windows.segment[of])

    def _show_folded(self, folds: RunFolds, found: FoundRuns, trends: int) -> FoldedTrends:
        of = self.windows.segment[found.range[:trends]]
        return FoldedTrends(read_folded(folds, found.folded, trends), self._keys(found, trends), of)

    def _keys(self, found: FoundRuns, trends: int) -> np.ndarray:
        """What tells the windows of trends apart: of single trends, the time of the last event."""
        if self.windows.moments is None:
            return self.windows.window[found.range[:trends]]
        return self.windows.moments[found.last[:trends]]


def _make_buffers(folds: RunFolds | None, longest: int, rows: int) -> FoundRuns:
    """Buffers for what is folded, or for events; each trend fits."""
    most = max(1, min(TRENDS_AT_ONCE, TRENDS_PER_VERTEX * rows))
    of, last = np.empty((2, most), np.int64)
    if folds is not None:
        folded = new_folding(folds.kind.size, most)
        return FoundRuns(of, last, folded, np.empty(0, np.int64), np.empty(0, np.int32))
    variables = np.empty(max(min(VERTICES_AT_ONCE, 4 * most), longest), np.int32)
    return FoundRuns(of, last, new_folding(0, 0), np.empty(most + 1, np.int64), variables)


def list_runs(
    plan: Plan,
    preparation: Preparation,
    table: pa.Table,
    options: TaskOptions,
    detection: Detection,
    make_writer: MakeWriter,
) -> ListedParts:
    """Count the contiguous trends of prepared rows.

    Args:
        plan: A plan that shows trends, which are found by steps from row to row.
        preparation: What the rows were prepared for.
        table: Prepared rows.
        options: Windows and chunks.
        detection: Limits.
        make_writer: Writes trends.

    Returns:
        The trends, ready to be built in batches.

    Raises:
        ExecutionError: TW412 if there are too many.
    """
    automaton, read = make_automaton(plan), columns_read(plan, preparation, table)
    parts: list[ListedPart] = []
    for block in sort_partitions(plan, preparation, table).in_blocks(ROWS_AT_ONCE):
        rows = block.encode(read)
        part: ListedRuns | None = None
        if not has_ties(rows):
            groups = group_values(plan, preparation, block)
            part = _list_block(plan, preparation, automaton, rows, groups, options, detection.max_trends, make_writer)
        # The number of all is checked below, with that of other parts.
        limits = replace(detection, max_trends=NO_LIMIT) if plan.selection is None else detection
        in_general = partial(_list_generally, plan, preparation, block, options, limits, make_writer)
        if part is None:
            parts.append(in_general())
        else:
            parts.append(replace(part, folded=in_general) if takes_by_folding(plan) else part)
    listed = ListedParts(plan, detection.max_trends, parts)
    if listed.trends is not None:
        check_number(listed.trends, detection.max_trends, plan)
    return listed


def _list_generally(
    plan: Plan,
    preparation: Preparation,
    block: PartitionBlock,
    options: TaskOptions,
    detection: Detection,
    make_writer: MakeWriter,
) -> WrittenTrends:
    """The trends of a block as those of any other plan."""
    listing = list_trends(plan, preparation, block.encode().table, options, detection)
    return WrittenTrends(listing, make_writer(listing.counted.task.rows, listing.counted.group_columns))


def _list_block(
    plan: Plan,
    preparation: Preparation,
    automaton: Automaton,
    rows: EncodedRows,
    groups: list[pa.Array],
    options: TaskOptions,
    most: int,
    make_writer: MakeWriter,
) -> ListedRuns | None:
    """The trends of a block; None where there are too many windows or trends for this way."""
    windows = find_windows(plan, rows, options)
    if windows is None:
        return None
    packed = find_steps(plan, preparation, rows)
    given = packed.unpack()
    apart, taking = not windows_overlap(plan.window), Taking.of(plan)
    if windows.moments is not None:
        total = _count_by_walking(automaton, given, windows.ranges, most)
    else:
        counts = np.zeros(windows.segment.size)
        count_runs(automaton, given, windows.ranges, counts, apart)
        total = float(counts.sum())
        windows = windows.take(np.flatnonzero(counts))
    if taking is None and total >= MOST_COUNTED:
        return None
    shown = {*preparation.shown, *preparation.shown_types, *(name for name in preparation.values if name is not None)}
    if plan.returns != "each":
        shown.add(TIME)
    left = rows.to_write([name for name in rows.table.column_names if name in shown])
    if apart:
        packed = packed.repack(given)
    number = int(total) if taking is None else None
    return ListedRuns(automaton, packed, apart, windows, taking, number, left, groups, make_writer)


def _count_by_walking(automaton: Automaton, given: NeighbourSteps, ranges: Ranges, most: int) -> float:
    """The number of trends where each beginning has an end of its own; infinite where it is more than may be shown."""
    if not ranges.low.size:
        return 0.0
    ahead = np.empty((given.steps.size, automaton.variable.size), np.int32)
    find_ends(automaton, given, ahead)
    longest = int((ranges.high - ranges.low).max())
    found, stack = _make_buffers(NO_FOLDS, longest, given.steps.size), new_folding(longest, 0)
    path, place, total = new_path(longest), BEGINNING, 0
    while total <= most:
        trends, place = walk_runs(automaton, given, ahead, ranges, path, NO_FOLDS, stack, found, place)
        if trends == 0:
            return float(total)
        total += trends
    return math.inf
