"""Contiguous trends, block of partitions by block: counted, and found one by one while they are written.

A row has at most one successor, so what leads from row to row is found by comparing columns with themselves, moved by a
row: bits per row, which written loops go over. A block in which several rows of a partition have one time goes the
general way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.kernels.lists.contiguous import (
    BEGINNING,
    Automaton,
    find_ranges,
    write_count,
    write_ends,
    write_take,
    write_walk,
)
from trendweave.kernels.lists.folds import Folds
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import MovingWindow, Plan, SessionWindow, WholeInput
from trendweave.planning.planner import columns_of
from trendweave.planning.preparation import Preparation, PreparedEdge
from trendweave.planning.ways import takes_by_folding, windows_overlap
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.detection import Detection
from trendweave.programs.trends.lists.choosing import NO_LIMIT
from trendweave.programs.trends.lists.listing import WrittenTrends, check_number, describe_too_many, list_trends
from trendweave.programs.trends.lists.selection import SKIPS
from trendweave.programs.trends.lists.walking import TRENDS_AT_ONCE, TRENDS_PER_VERTEX, VERTICES_AT_ONCE
from trendweave.results.each_columns import EachColumns
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.results.shown_trends import FoldedOutput, FoldedTrends, ShownTrends
from trendweave.results.trend_table import TrendWriter
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import CHUNK, LETTERS, TIME, EncodedRows, PartitionBlock, sort_partitions
from trendweave.rows.neighbours import compare_neighbours
from trendweave.rows.reach import find_far_ticks
from trendweave.rows.times import moving_span
from trendweave.rows.windows import Chunks, WindowNumbers, number_windows

#: Rows of several partitions that are worked on together, so that their columns stay in caches.
ROWS_AT_ONCE = 1 << 18
#: Windows of small segments that are listed for each row at most; with more, the general way is taken.
_RANGES_PER_ROW = 8
_NOTHING = np.empty(0, np.int64)


def columns_read(plan: Plan, preparation: Preparation, table: pa.Table) -> list[str]:
    """The columns that steps and results are made of; grouping attributes are read once per partition."""
    read = {
        TIME,
        CHUNK,
        *preparation.shown,
        *preparation.shown_types,
        *(name for name in preparation.values if name is not None),
    }
    for edge in preparation.edges:
        read |= {name for one in edge.comparisons for name in (one.previous, one.next)}
        read |= {path[0] for test in edge.general for later in (False, True) for path in columns_of(test, later)}
    return [name for name in table.column_names if name in read or name.startswith(LETTERS)]


def group_values(plan: Plan, preparation: Preparation, block: PartitionBlock) -> list[pa.Array]:
    """The grouping attributes of each partition of a block: all events of one have them in common."""
    names = {key.path: name for key, name in zip(plan.partition_key, preparation.partition_key, strict=True)}
    return [block.first_values(names[group.path]) for group in plan.groups]


def has_ties(rows: EncodedRows) -> bool:
    """Whether several rows of a partition have one time."""
    return rows.tick_steps.size < rows.tick.size


def make_automaton(plan: Plan) -> Automaton:
    """The template of a plan in numbers."""
    template = plan.template
    number = {variable.name: index for index, variable in enumerate(plan.variables)}
    variable = tuple(number[state.variable] for state in template.states)
    steps = sorted((step.source, variable[step.target], step.target) for step in template.transitions)
    return Automaton(
        variable,
        tuple(sorted((start.state for start in template.starts), key=lambda state: variable[state])),
        tuple(sorted({end.state for end in template.ends})),
        tuple((source, target) for source, _, target in steps),
    )


@dataclass(frozen=True, slots=True)
class NeighbourSteps:
    """Bits per row, in as few bytes as there are transitions and states: the transitions that lead to it from the row
    before, and the states in which a trend can begin with it."""

    steps: np.ndarray
    begins: np.ndarray


def find_steps(plan: Plan, preparation: Preparation, automaton: Automaton, rows: EncodedRows) -> NeighbourSteps:
    """Find which transitions lead from each row to the next, and where trends begin.

    Args:
        plan: A plan whose trends are contiguous.
        preparation: The names of prepared columns.
        automaton: Its template.
        rows: Rows of which no two of a partition have one time.

    Returns:
        Bits per row.
    """
    readable, tests = _Readable(rows), _NeighbourTests(rows.table)
    has_previous = np.ones(rows.tick.size, np.bool_)
    has_previous[rows.partitions.starts[:-1]] = False
    number = {variable.name: index for index, variable in enumerate(plan.variables)}
    edges = {(number[edge.earlier], number[edge.later]): place for place, edge in enumerate(plan.edges)}
    steps = np.zeros(rows.tick.size, _bits_type(len(automaton.transitions)))
    for place, (source, target) in enumerate(automaton.transitions):
        pair = automaton.variable[source], automaton.variable[target]
        holds = tests.holds(preparation.edges[edges[pair]], has_previous) & readable.of(pair[1])
        holds[1:] &= readable.of(pair[0])[:-1]
        steps |= holds.astype(steps.dtype) << steps.dtype.type(place)
    begins = np.zeros(rows.tick.size, _bits_type(automaton.states))
    for state in automaton.starting:
        begins |= readable.of(automaton.variable[state]).astype(begins.dtype) << begins.dtype.type(state)
    return NeighbourSteps(steps, begins)


def _bits_type(bits: int) -> np.dtype:
    return np.dtype(next(kind for size, kind in ((8, "u1"), (16, "u2"), (32, "u4"), (63, "i8")) if bits <= size))


class _Readable:
    """Which rows can be read as a variable; found once for each."""

    def __init__(self, rows: EncodedRows) -> None:
        self._letters = rows.partitions.letters
        self._known: dict[int, np.ndarray] = {}

    def of(self, variable: int) -> np.ndarray:
        if variable not in self._known:
            bit = np.uint64(1) << np.uint64(variable % 64)
            self._known[variable] = (self._letters[:, variable // 64] & bit) != 0
        return self._known[variable]


class _NeighbourTests:
    """Conditions between a row and the one before it; each is tested once, however many transitions ask for it."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._known: dict[object, np.ndarray] = {}

    def holds(self, edge: PreparedEdge, allowed: np.ndarray) -> np.ndarray:
        """A new array: where it is allowed and the conditions of an edge hold."""
        holds = allowed.copy()
        for one in edge.comparisons:
            if one not in self._known:
                left = self._table.column(one.previous)
                right = left if one.previous == one.next else self._table.column(one.next)
                self._known[one] = compare_neighbours(left, one.operator, right)
            holds &= self._known[one]
        if edge.general:
            holds &= self._general(st.all_of(edge.general))
        return holds

    def _general(self, condition: st.Expression) -> np.ndarray:
        if condition not in self._known:
            count = self._table.num_rows
            holds = np.zeros(count, np.bool_)
            if count > 1:
                holds[1:] = is_true(condition, self._table.slice(0, count - 1), self._table.slice(1))
            self._known[condition] = holds
        return self._known[condition]


@dataclass(frozen=True, slots=True)
class WindowRanges:
    """Windows in the segments of a block as ranges of rows, with the keys that tell windows apart everywhere. Trends
    end at the row `ends_from` at the earliest. Where each trend has a window of its own, `moments` are the times of
    rows, and `until` is the row before which a trend has ended that begins with a row."""

    segment: np.ndarray
    window: np.ndarray
    low: np.ndarray
    high: np.ndarray
    ends_from: np.ndarray
    until: np.ndarray | None = None
    moments: np.ndarray | None = None

    @property
    def longest(self) -> int:
        """The most rows that a trend can have."""
        return int((self.high - self.low).max(initial=0))

    def take(self, chosen: np.ndarray) -> WindowRanges:
        names = ("segment", "window", "low", "high", "ends_from")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


def find_windows(plan: Plan, rows: EncodedRows, options: TaskOptions) -> WindowRanges | None:
    """Find the windows of each segment that hold rows.

    Args:
        plan: A plan with any windows but those that move with the stream.
        rows: Rows of which no two of a partition have one time.
        options: Which windows are asked for.

    Returns:
        The windows; None where there are too many of them to list.
    """
    starts = rows.partitions.starts
    if isinstance(plan.window, WholeInput):
        return _segments_as_windows(starts)
    # Without ties a tick is a row, so the chunk of a row is that of its tick.
    chunks = None if options.chunk is None else Chunks(rows.table.column(CHUNK).to_numpy(), options.chunk)
    if isinstance(plan.window, MovingWindow):
        return _windows_of_trends(plan.window, rows, options.only, chunks)
    numbers: WindowNumbers
    if isinstance(plan.window, SessionWindow):
        numbers = rows.number_sessions(plan.window)
    else:
        ends = (_NOTHING, _NOTHING)
        numbers = number_windows(plan.window, rows.time_type, rows.tick_steps, ends, options.only, chunks)
    first, last = numbers.first(rows.tick, _NOTHING), numbers.last(rows.tick, _NOTHING)
    segment, window, low, high = np.empty((4, _RANGES_PER_ROW * rows.tick.size), np.int64)
    found = int(find_ranges(starts, first, last, segment, window, low, high))
    if found > low.size:
        return None
    segment, window, low, high = (part[:found].copy() for part in (segment, window, low, high))
    return WindowRanges(segment, numbers.keys(window), low, high, low)


def _segments_as_windows(starts: np.ndarray) -> WindowRanges:
    low, high = starts[:-1], starts[1:]
    return WindowRanges(np.arange(low.size), np.zeros(low.size, np.int64), low, high, low)


def _windows_of_trends(
    window: MovingWindow, rows: EncodedRows, only: tuple[int, int] | None, chunks: Chunks | None
) -> WindowRanges:
    """Each trend has a window of its own, by its last event. Those that are asked for are neighbours in a segment."""
    starts, moments = rows.partitions.starts, rows.tick_steps
    until = find_far_ticks(moments, starts[:-1], moving_span(window, rows.time_type), False)
    asked = np.ones(moments.size, np.bool_)
    if only is not None:
        asked = (moments >= only[0]) & (moments <= only[1])
    if chunks is not None:
        asked &= np.floor_divide(moments, chunks.length) == chunks.of_tick
    before = np.concatenate([[0], np.cumsum(asked)])
    some = before[starts[1:]] > before[starts[:-1]]
    segments = _segments_as_windows(starts).take(np.flatnonzero(some))
    at = np.flatnonzero(asked)
    first, last = at[before[segments.low]], at[before[segments.high] - 1]
    return replace(segments, high=last + 1, ends_from=first, until=until, moments=moments)


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
class ContiguousTrends:
    """The trends of a block, by steps from row to row.

    `windows` are those that have any, `rows` what is written of the rows, `groups` the grouping attributes of the
    partitions. `trends` is None where only some are taken. `folded` gives the same trends without listing their events,
    for those that overlap much.
    """

    plan: Plan
    automaton: Automaton
    steps: NeighbourSteps
    windows: WindowRanges
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
            if isinstance(writer.columns, EachColumns) and self.plan.selection is None:
                folds = writer.columns.without_events(self.windows.longest)
            yield from map(writer.write, self._find(folds))

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

    def _find(self, folds: Folds | None) -> Iterator[ShownTrends | FoldedTrends]:
        """Find all trends. With folds they are folded on the way; otherwise their events are listed."""
        if self.plan.selection is None:
            search = _make_walk(self.plan, self.automaton, self.steps, self.windows, folds)
        else:
            search = self._make_take()
        while count := search.find():
            keys, segment = self._keys(search, count), self.windows.segment[search.range[:count]]
            if folds is not None:
                outputs = [FoldedOutput(*one) for one in folds.read(search.cells, count)]
                yield FoldedTrends(outputs, keys, segment)
                continue
            starts = search.starts[: count + 1].copy()
            # A trend is made of the rows up to its last one.
            rows = np.arange(starts[-1]) + np.repeat(search.last[:count] + 1 - starts[1:], np.diff(starts))
            yield ShownTrends(rows, search.variables[: starts[-1]], starts, keys, segment)

    def _make_take(self) -> Search:
        plan, automaton, windows = self.plan, self.automaton, self.windows
        assert plan.selection is not None, "some are taken"
        selection, names = plan.selection, [variable.name for variable in plan.variables]
        variable = -1 if selection.variable is None else names.index(selection.variable)
        loop = write_take(automaton, selection.shortest, SKIPS[selection.skip], variable)
        search = _make_search(windows.longest, self.steps.steps.size, None)
        onward = np.empty((windows.longest, automaton.states), np.int8)
        end = np.empty((windows.longest, len(automaton.starting)), np.int32)
        given = (self.steps.steps, self.steps.begins, windows.low, windows.high, onward, end, search.place)
        return replace(search, call=partial(loop, *given, search.range, search.last, search.starts, search.variables))

    def _keys(self, search: Search, count: int) -> np.ndarray:
        """What tells the windows of trends apart: of single trends, the time of the last event."""
        if self.windows.moments is None:
            return self.windows.window[search.range[:count]]
        return self.windows.moments[search.last[:count]]


@dataclass(frozen=True, slots=True)
class Search:
    """A loop that fills buffers, where it stands, and what it fills: the range and the last row of each trend, and its
    variables or cells of folds. Each trend fits."""

    place: np.ndarray
    range: np.ndarray
    last: np.ndarray
    starts: np.ndarray
    variables: np.ndarray
    cells: tuple[np.ndarray, np.ndarray]
    call: Callable[[], int] = int

    def find(self) -> int:
        """Fill the buffers. Returns how many trends there are; 0 means that there are no more."""
        return int(self.call())


def _make_search(longest: int, rows: int, folds: Folds | None) -> Search:
    most = max(1, min(TRENDS_AT_ONCE, TRENDS_PER_VERTEX * rows))
    of, last = np.empty((2, most), np.int64)
    listed = 0 if folds is not None else max(min(VERTICES_AT_ONCE, 4 * most), longest)
    starts, variables = np.empty(most + 1, np.int64), np.empty(listed, np.int32)
    return Search(np.array(BEGINNING), of, last, starts, variables, (folds or Folds()).cells(most))


def _make_walk(
    plan: Plan, automaton: Automaton, steps: NeighbourSteps, windows: WindowRanges, folds: Folds | None
) -> Search:
    """Walk to all trends. Where no row is in two windows, all steps that are left lead to an end."""
    longest, looks_ahead = windows.longest, windows_overlap(plan.window)
    search = _make_search(longest, steps.steps.size, folds)
    state, left = np.empty(longest, np.int32), np.empty(longest, np.int64)
    given = [steps.steps, steps.begins, windows.low, windows.high, windows.ends_from, state, left, search.place]
    given += [search.range, search.last]
    if looks_ahead:
        given.append(np.empty((steps.steps.size, automaton.states), np.int32))
        write_ends(automaton)(steps.steps, given[-1])
    if windows.until is not None:
        given.append(windows.until)
    if folds is None:
        given += [search.starts, search.variables]
    else:
        given += [*folds.columns, *folds.cells(longest), *search.cells]
    shape = None if folds is None else folds.shape
    loop = write_walk(automaton, looks_ahead, windows.until is not None, shape)
    return replace(search, call=partial(loop, *given))


def list_contiguous(
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
        part: ContiguousTrends | None = None
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
) -> ContiguousTrends | None:
    """The trends of a block; None where there are too many windows or trends for this way."""
    windows = find_windows(plan, rows, options)
    if windows is None:
        return None
    steps, number = find_steps(plan, preparation, automaton, rows), None
    if plan.selection is None:
        total, windows = _count(plan, automaton, steps, windows, most)
        if total >= MOST_COUNTED:
            return None
        number = int(total)
    shown = {*preparation.shown, *preparation.shown_types, *(name for name in preparation.values if name is not None)}
    if plan.returns != "each":
        shown.add(TIME)
    left = rows.to_write([name for name in rows.table.column_names if name in shown])
    return ContiguousTrends(plan, automaton, steps, windows, number, left, groups, make_writer)


def _count(
    plan: Plan, automaton: Automaton, steps: NeighbourSteps, windows: WindowRanges, most: int
) -> tuple[float, WindowRanges]:
    """The number of trends and the windows that have any; infinite where each beginning has an end of its own, and
    there are more than may be shown."""
    if windows.moments is None:
        counts = np.zeros(windows.segment.size)
        prunes = not windows_overlap(plan.window)
        write_count(automaton, prunes)(steps.steps, steps.begins, windows.low, windows.high, counts)
        return float(counts.sum()), windows.take(np.flatnonzero(counts))
    total, search = 0, _make_walk(plan, automaton, steps, windows, Folds())
    while total <= most:
        count = search.find()
        if count == 0:
            return float(total), windows
        total += count
    return math.inf, windows


def count_contiguous(plan: Plan, preparation: Preparation, table: pa.Table, options: TaskOptions) -> TaskResult | None:
    """Count the contiguous trends of prepared rows.

    Args:
        plan: A plan that returns nothing but the number of trends, which are found by steps from row to row.
        preparation: What the rows were prepared for.
        table: Prepared rows.
        options: Windows and chunks, and how numbers are counted.

    Returns:
        Counts per window and group; None where there are no rows.
    """
    automaton, read = make_automaton(plan), columns_read(plan, preparation, table)
    results = []
    for block in sort_partitions(plan, preparation, table).in_blocks(ROWS_AT_ONCE):
        rows = block.encode(read)
        counted = None
        if not has_ties(rows):
            counted = _count_block(plan, preparation, automaton, rows, group_values(plan, preparation, block), options)
        results.append(counted or PartitionTask(plan, preparation, block.encode().table, options).run())
    return _join_results(results) if results else None


def _count_block(
    plan: Plan,
    preparation: Preparation,
    automaton: Automaton,
    rows: EncodedRows,
    groups: list[pa.Array],
    options: TaskOptions,
) -> TaskResult | None:
    """Counts of a block; None where floats cannot count its trends, or there are too many windows."""
    windows = find_windows(plan, rows, options)
    if windows is None:
        return None
    counts, steps = np.zeros(windows.segment.size), find_steps(plan, preparation, automaton, rows)
    write_count(automaton, False)(steps.steps, steps.begins, windows.low, windows.high, counts)
    if counts.sum() >= MOST_COUNTED:
        return None
    windows, counts = windows.take(np.flatnonzero(counts)), counts[counts > 0]
    numbers = counts.astype(np.int64) if options.exact else counts
    # The number of trends comes first, then each output.
    components = (Component("sum", numbers),) * (1 + len(plan.aggregates))
    of = pa.array(windows.segment)
    taken = [pc.take(values, of) for values in groups]
    return TaskResult(Partials(windows.window, windows.segment, components), taken)


def _join_results(results: list[TaskResult]) -> TaskResult:
    """One entry per window and group; a group may have partitions in several blocks."""
    sizes = [result.partials.window.size for result in results]
    columns = [pa.chunked_array(list(parts)) for parts in zip(*(result.groups for result in results), strict=True)]
    codes = key_codes(columns, sum(sizes))
    parts = zip(results, np.split(codes, np.cumsum(sizes)[:-1]), strict=True)
    merged = merge([replace(result.partials, group=group) for result, group in parts])
    first = pa.array(first_of_each(codes)[merged.group])
    return TaskResult(merged, [pc.take(column, first) for column in columns])
