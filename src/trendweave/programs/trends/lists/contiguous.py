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
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.kernels import Rows
from trendweave.kernels.lists.contiguous import (
    BEGINNING,
    Automaton,
    write_count,
    write_ends,
    write_take,
    write_walk,
)
from trendweave.kernels.lists.folds import Folds
from trendweave.kernels.lists.graph import find_bounds, list_windows
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import MovingWindow, Plan, SessionWindow, WholeInput
from trendweave.planning.planner import columns_of
from trendweave.planning.preparation import ComparedColumns, Preparation
from trendweave.planning.ways import takes_by_folding, windows_overlap
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.detection import Detection
from trendweave.programs.trends.lists.choosing import NO_LIMIT, read_rule
from trendweave.programs.trends.lists.listing import (
    MakeWriter,
    WrittenTrends,
    check_number,
    describe_too_many,
    list_trends,
    write_trends,
)
from trendweave.programs.trends.lists.walking import make_buffers
from trendweave.results.each_columns import EachColumns
from trendweave.results.partials import Component, Partials, TaskResult, merge_results
from trendweave.results.shown_trends import FoldedOutput, FoldedTrends, ShownTrends
from trendweave.rows.encoded import CHUNK, LETTERS, TIME, EncodedRows, PartitionBlock, sort_partitions
from trendweave.rows.segments import can_be_read, compare_neighbours
from trendweave.rows.times import moving_span
from trendweave.rows.windows import Chunks, WindowNumbers, find_far_ticks, number_windows

#: Rows of several partitions that are worked on together, so that their columns stay in caches.
ROWS_AT_ONCE = 1 << 18
#: Windows of small segments that are listed for each row at most; with more, the general way is taken.
_RANGES_PER_ROW = 8
_NOTHING = np.empty(0, np.int64)


def columns_read(preparation: Preparation, table: pa.Table) -> list[str]:
    """The columns that steps and results are made of; grouping attributes are read once per partition."""
    read = {TIME, CHUNK, *preparation.shown, *preparation.shown_types, *preparation.values}
    for edge in preparation.edges:
        read |= {name for one in edge.comparisons for name in (one.previous, one.next)}
        read |= {path[0] for test in edge.general for later in (False, True) for path in columns_of(test, later)}
    return [name for name in table.column_names if name in read or name.startswith(LETTERS)]


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


def find_steps(
    plan: Plan, preparation: Preparation, automaton: Automaton, rows: EncodedRows
) -> tuple[np.ndarray, np.ndarray]:
    """Find which transitions lead from each row to the next, and where trends begin.

    Args:
        plan: A plan whose trends are contiguous.
        preparation: The names of prepared columns.
        automaton: Its template.
        rows: Rows of which no two of a partition have one time.

    Returns:
        Bits per row, in as few bytes as there are transitions and states: the transitions that lead to it from the row
        before, and the states in which a trend can begin with it.
    """
    readable = {one: can_be_read(rows.partitions.letters, one) for one in set(automaton.variable)}
    has_previous = np.ones(rows.tick.size, np.bool_)
    has_previous[rows.partitions.starts[:-1]] = False
    number = {variable.name: index for index, variable in enumerate(plan.variables)}
    edges = {(number[edge.earlier], number[edge.later]): place for place, edge in enumerate(plan.edges)}
    pairs = [(automaton.variable[source], automaton.variable[target]) for source, target in automaton.transitions]
    asked = [(*edge.comparisons, *edge.general) for edge in (preparation.edges[edges[pair]] for pair in pairs)]
    tests = {one: _test_neighbours(rows.table, one) for one in dict.fromkeys(chain.from_iterable(asked))}
    steps = np.zeros(rows.tick.size, _bits_type(len(automaton.transitions)))
    for place, ((previous, following), conditions) in enumerate(zip(pairs, asked, strict=True)):
        holds = has_previous & readable[following]
        holds[1:] &= readable[previous][:-1]
        for one in conditions:
            holds &= tests[one]
        steps |= holds.astype(steps.dtype) << steps.dtype.type(place)
    begins = np.zeros(rows.tick.size, _bits_type(len(automaton.states)))
    for state in automaton.starting:
        begins |= readable[automaton.variable[state]].astype(begins.dtype) << begins.dtype.type(state)
    return steps, begins


def _bits_type(bits: int) -> np.dtype:
    return np.dtype(next(kind for size, kind in ((8, "u1"), (16, "u2"), (32, "u4"), (63, "i8")) if bits <= size))


def _test_neighbours(table: pa.Table, test: ComparedColumns | st.Expression) -> np.ndarray:
    """Whether each row and the one before it meet a condition."""
    if isinstance(test, ComparedColumns):
        left = table.column(test.previous)
        return compare_neighbours(left, test.operator, left if test.previous == test.next else table.column(test.next))
    holds = np.zeros(table.num_rows, np.bool_)
    if holds.size > 1:
        holds[1:] = is_true(test, table.slice(0, holds.size - 1), table.slice(1))
    return holds


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
    starts, moments = rows.partitions.starts, rows.tick_steps
    low, high = starts[:-1], starts[1:]
    segments = WindowRanges(np.arange(low.size), np.zeros(low.size, np.int64), low, high, low)
    if isinstance(plan.window, WholeInput):
        return segments
    # Without ties a tick is a row, so the chunk of a row is that of its tick.
    chunks = None if options.chunk is None else Chunks(rows.table.column(CHUNK).to_numpy(), options.chunk)
    if isinstance(plan.window, MovingWindow):
        return _windows_of_trends(plan.window, rows, segments, options.only, chunks)
    numbers: WindowNumbers
    if isinstance(plan.window, SessionWindow):
        numbers = rows.number_sessions(plan.window)
    else:
        numbers = number_windows(plan.window, rows.time_type, moments, (_NOTHING, _NOTHING), options.only, chunks)
    first, last = numbers.first(rows.tick, _NOTHING), numbers.last(rows.tick, _NOTHING)
    listed = list_windows(starts, first, last, _RANGES_PER_ROW * moments.size)
    if listed is None:
        return None
    segment, window = listed
    low, high = find_bounds(Rows(starts, rows.tick, first, last, rows.partitions.letters), segment, window)
    return WindowRanges(segment, numbers.keys(window), low, high, low)


def _windows_of_trends(
    window: MovingWindow, rows: EncodedRows, segments: WindowRanges, only: tuple[int, int] | None, chunks: Chunks | None
) -> WindowRanges:
    """Each trend has a window of its own, by its last event. Those that are asked for are neighbours in a segment."""
    moments = rows.tick_steps
    until = find_far_ticks(moments, segments.low, moving_span(window, rows.time_type), False)
    asked = np.ones(moments.size, np.bool_)
    if only is not None:
        asked = (moments >= only[0]) & (moments <= only[1])
    if chunks is not None:
        asked &= np.floor_divide(moments, chunks.length) == chunks.of_tick
    before = np.concatenate([[0], np.cumsum(asked)])
    segments = segments.take(np.flatnonzero(before[segments.high] > before[segments.low]))
    at = np.flatnonzero(asked)
    first, last = at[before[segments.low]], at[before[segments.high] - 1]
    return replace(segments, high=last + 1, ends_from=first, until=until, moments=moments)


@dataclass(frozen=True, slots=True)
class ContiguousBlock:
    """The rows of some partitions, of which no two of one have one time, as loops over contiguous trends read them.

    `groups` are the grouping attributes of the partitions; `steps` and `begins` are bits per row.
    """

    plan: Plan
    automaton: Automaton
    rows: EncodedRows
    groups: list[pa.Array]
    windows: WindowRanges
    steps: np.ndarray
    begins: np.ndarray

    @staticmethod
    def of(plan: Plan, preparation: Preparation, block: PartitionBlock, options: TaskOptions) -> ContiguousBlock | None:
        """None where several rows of a partition have one time, or where there are too many windows to list."""
        rows = block.encode(columns_read(preparation, block.partitions.table))
        windows = None if has_ties(rows) else find_windows(plan, rows, options)
        if windows is None:
            return None
        automaton = make_automaton(plan)
        # All events of a partition have the grouping attributes in common.
        names = {key.path: name for key, name in zip(plan.partition_key, preparation.partition_key, strict=True)}
        groups = [block.first_values(names[group.path]) for group in plan.groups]
        steps = find_steps(plan, preparation, automaton, rows)
        return ContiguousBlock(plan, automaton, rows, groups, windows, *steps)

    def count(self, prunes: bool) -> np.ndarray:
        """Count the trends of each window; not where each trend has a window of its own. `prunes`, where no row is in
        two windows: only steps that lead to an end are left."""
        counts = np.zeros(self.windows.segment.size)
        write_count(self.automaton, prunes).run(self._given | {"counts": counts})
        return counts

    def find(self, folds: Folds | None) -> Iterator[ShownTrends | FoldedTrends]:
        """Find the trends that the query shows. With folds they are folded on the way; otherwise events are listed."""
        windows, rows, longest = self.windows, self.steps.size, self.windows.longest
        of, starts, variables = make_buffers(rows, longest)
        last = np.empty_like(of)
        given = self._given | {"place": np.array(BEGINNING), "found_range": of, "found_last": last}
        given |= {"starts": starts, "variables": variables}
        if self.plan.selection is not None:
            loop = write_take(self.automaton, read_rule(self.plan))
            given["ahead"] = np.empty((longest, len(self.automaton.states)), np.int32)
        else:
            looks_ahead = windows_overlap(self.plan.window)
            shape = None if folds is None else folds.shape
            loop = write_walk(self.automaton, looks_ahead, windows.until is not None, shape)
            if looks_ahead:
                given["ahead"] = np.empty((rows, len(self.automaton.states)), np.int32)
                write_ends(self.automaton).run(given)
            given |= {"state": np.empty(longest, np.int32), "left": np.empty(longest, np.int64)}
            if folds is not None:
                given |= folds.name_columns() | folds.name_cells("stack", "stack_real", longest)
                given |= folds.name_cells("whole", "real", of.size)
        while count := loop.run(given):
            # Of single trends, the time of the last event tells the window.
            keys = windows.window[of[:count]] if windows.moments is None else windows.moments[last[:count]]
            group = windows.segment[of[:count]]
            if folds is not None:
                outputs = [FoldedOutput(*one) for one in folds.read((given["whole"], given["real"]), count)]
                yield FoldedTrends(outputs, keys, group)
                continue
            ends = starts[: count + 1].copy()
            # A trend is made of the rows up to its last one.
            events = np.arange(ends[-1]) + np.repeat(last[:count] + 1 - ends[1:], np.diff(ends))
            yield ShownTrends(events, variables[: ends[-1]], ends, keys, group)

    @property
    def _given(self) -> dict[str, Any]:
        names = ("low", "high", "ends_from", "until")
        return {name: getattr(self.windows, name) for name in names} | {"steps": self.steps, "begins": self.begins}


#: Floats count whole numbers up to here.
MOST_COUNTED = 2.0**53
#: Events of taken trends that are listed for each row, at most, where they need not be.
_LISTED_PER_ROW = 64


def _write_block(
    block: ContiguousBlock, make_writer: MakeWriter, in_general: Callable[[], WrittenTrends]
) -> Iterator[pa.RecordBatch]:
    """The trends of a block, some at a time. `in_general` gives the same trends as those of any other plan."""
    folds, writer = None, make_writer(block.rows, block.groups)
    if isinstance(writer.columns, EachColumns) and block.plan.selection is None:
        folds = writer.columns.without_events(block.windows.longest)
    written, listed = list[pa.RecordBatch](), 0
    for trends in block.find(folds):
        if isinstance(trends, FoldedTrends) or not takes_by_folding(block.plan):
            yield writer.write(trends)
            continue
        written.append(writer.write(trends))
        listed += trends.rows.size
        if listed > _LISTED_PER_ROW * block.steps.size:
            # So many events are listed that it is quicker to begin again and list none.
            yield from in_general().batches()
            return
    yield from written


def _write_parts(plan: Plan, most: int, parts: list[WrittenTrends]) -> Iterator[pa.RecordBatch]:
    """The trends of all partitions, part by part; TW412 after too many, where their number was not known beforehand."""
    shown = 0
    for part in parts:
        for batch in part.batches():
            shown += batch.num_rows
            if shown > most:
                raise ExecutionError([describe_too_many(f"more than {most:,}", most, plan)])
            yield batch


def list_contiguous(
    plan: Plan,
    preparation: Preparation,
    table: pa.Table,
    options: TaskOptions,
    detection: Detection,
    make_writer: MakeWriter,
) -> WrittenTrends:
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
    # The number of all is checked below, with that of other parts.
    limits = replace(detection, max_trends=NO_LIMIT) if plan.selection is None else detection

    def list_generally(block: PartitionBlock) -> WrittenTrends:
        return write_trends(list_trends(plan, preparation, block.encode().table, options, limits), make_writer)

    parts: list[WrittenTrends] = []
    for block in sort_partitions(plan, preparation, table).in_blocks(ROWS_AT_ONCE):
        found, in_general = ContiguousBlock.of(plan, preparation, block, options), partial(list_generally, block)
        number: float | None = None
        if found is not None and plan.selection is None:
            found, number = _count(found, detection.max_trends)
        if found is None or (number is not None and number >= MOST_COUNTED):
            parts.append(in_general())
        elif number != 0:
            write = partial(_write_block, found, make_writer, in_general)
            parts.append(WrittenTrends(None if number is None else int(number), write))
    numbers = [part.trends for part in parts if part.trends is not None]
    total = sum(numbers) if len(numbers) == len(parts) else None
    if total is not None:
        check_number(total, detection.max_trends, plan)
    return WrittenTrends(total, partial(_write_parts, plan, detection.max_trends, parts))


def _count(block: ContiguousBlock, most: int) -> tuple[ContiguousBlock, float]:
    """The block with the windows that have trends, and their number; infinite where each trend has a window of its own,
    and there are more than may be shown."""
    if block.windows.moments is None:
        counts = block.count(prunes=not windows_overlap(block.plan.window))
        return replace(block, windows=block.windows.take(np.flatnonzero(counts))), float(counts.sum())
    total = 0
    for trends in block.find(Folds()):
        total += trends.count
        if total > most:
            return block, math.inf
    return block, total


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
    results = []
    for block in sort_partitions(plan, preparation, table).in_blocks(ROWS_AT_ONCE):
        found = ContiguousBlock.of(plan, preparation, block, options)
        counts = None if found is None else found.count(prunes=False)
        if found is None or counts is None or counts.sum() >= MOST_COUNTED:
            results.append(PartitionTask(plan, preparation, block.encode().table, options).run())
            continue
        windows, counts = found.windows.take(np.flatnonzero(counts)), counts[counts > 0]
        numbers = counts.astype(np.int64) if options.exact else counts
        # The number of trends comes first, then each output.
        components = (Component("sum", numbers),) * (1 + len(plan.aggregates))
        groups = [pc.take(values, pa.array(windows.segment)) for values in found.groups]
        results.append(TaskResult(Partials(windows.window, windows.segment, components), groups))
    return merge_results(results) if results else None
