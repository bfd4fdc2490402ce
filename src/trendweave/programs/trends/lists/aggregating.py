"""Aggregates over trends that are found one by one, and the different values of events that lie in any trend."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.lists.graph import ALL, find_participants
from trendweave.kernels.lists.walk import new_walk
from trendweave.planning.plan import AggregateColumn
from trendweave.programs.trends.aggregates import PartitionTask
from trendweave.programs.trends.detection import DEFAULTS
from trendweave.programs.trends.kernel_inputs import Piece
from trendweave.programs.trends.lists.graphs import SegmentGraph, TrendGraphs, WindowEntries
from trendweave.results.each_columns import EachColumns
from trendweave.results.each_spread import spread_values
from trendweave.results.partials import Component, Merging, Partials, merge
from trendweave.results.shown_trends import FoldedOutput, FoldedTrends, ShownTrends
from trendweave.rows.codes import as_numbers
from trendweave.rows.windows import WindowNumbers

#: Entries of windows and groups that are merged at once, at least.
_AT_ONCE = 65_536


def aggregate_trends(folded: EachColumns, found: Iterator[ShownTrends | FoldedTrends]) -> Partials:
    """Aggregate trends per window and group, some at a time.

    Args:
        folded: What is told of each trend, as the plan asks for it over all of them.
        found: The trends.

    Returns:
        One entry per window, told by its key, and group. The first component is the number of trends.

    Raises:
        ExecutionError: TW402, a sum of finite floats is beyond all floats.
    """
    numbers = [_numbers(output, values) for output, values in zip(folded.aggregates, folded.values, strict=True)]
    merged = merge([_entries(folded, numbers, _no_trends())])
    waiting: list[Partials] = []
    for trends in found:
        if trends.count:
            waiting.append(merge([_entries(folded, numbers, trends)]))
        if sum(part.window.size for part in waiting) > max(_AT_ONCE, merged.window.size):
            merged, waiting = merge([merged, *waiting]), []
    merged = merge([merged, *waiting]) if waiting else merged
    _check_sums(numbers, merged)
    return merged


def _no_trends() -> ShownTrends:
    nothing = np.empty(0, np.int64)
    return ShownTrends(nothing, np.empty(0, np.int32), np.zeros(1, np.int64), nothing, nothing)


def _numbers(output: AggregateColumn, values: pa.Array | None) -> np.ndarray | None:
    """The numbers that are added, or of which one is the largest; None where events are counted."""
    return None if values is None else as_numbers(pa.chunked_array([values]), output)[0]


def _entries(folded: EachColumns, numbers: list[np.ndarray | None], trends: ShownTrends | FoldedTrends) -> Partials:
    ones = np.ones(trends.count, np.int64)
    components = [Component("sum", ones)]
    outputs = trends.outputs if isinstance(trends, FoldedTrends) else folded.fold(trends)
    for output, of, spread, found in zip(folded.aggregates, numbers, folded.spreads, outputs, strict=True):
        if spread is not None:
            assert isinstance(trends, ShownTrends), "spreads are those of listed events"
            components.append(spread.find(trends))
            continue
        lengths = trends.lengths if isinstance(trends, ShownTrends) else found.counts
        components.append(_component(output, of, found, lengths, ones))
    return Partials(trends.window, trends.group, tuple(components))


def _component(
    output: AggregateColumn, numbers: np.ndarray | None, found: FoldedOutput, lengths: np.ndarray, ones: np.ndarray
) -> Component:
    """One number per trend, in the form in which the aggregates over all trends have theirs."""
    if output.is_length:
        known = np.ones(lengths.size, np.bool_)
        kind: Merging = _EXTREMA.get(output.function, "sum")
        return Component(kind, lengths, known, ones if kind == "sum" else None)
    if output.variable is None:
        return Component("sum", ones)
    if output.function == "COUNT":
        return Component("sum", found.counts)
    if output.function in _EXTREMA:
        assert numbers is not None, "an extremum is one of numbers"
        numbers = numbers if numbers.size else np.zeros(1, numbers.dtype)
        return Component(_EXTREMA[output.function], numbers[np.maximum(found.rows, 0)], found.rows >= 0)
    known = found.counts > 0
    if output.function == "AVG" and found.sums.dtype == np.float64:
        return Component("avg", found.sums / np.maximum(found.counts, 1), known, found.counts)
    return Component("sum", found.sums, known, found.counts)


_EXTREMA: dict[str, Merging] = {"MIN": "min", "MAX": "max"}


def _check_sums(numbers: list[np.ndarray | None], merged: Partials) -> None:
    """Infinity is the sum of infinities; of finite numbers it would be wrong."""
    for of, component in zip(numbers, merged.components[1:], strict=True):
        if component.kind != "sum" or component.values.dtype != np.float64 or of is None:
            continue
        if np.isinf(component.values).any() and np.isfinite(of).all():
            message = "a SUM exceeds the range of floats"
            raise ExecutionError([Problem("TW402", message, "use AVG, smaller windows, or CAST the column to BIGINT")])


def find_distinct_values(
    task: PartitionTask, piece: Piece, group: np.ndarray, windows: WindowNumbers, found: Partials
) -> dict[int, Component]:
    """Find the different values of the events that lie in any trend of each entry.

    Args:
        task: The task, whose plan counts distinct values.
        piece: One of its pieces.
        group: The group of each segment.
        windows: How windows are numbered.
        found: The windows that have trends; groups are segments.

    Returns:
        Per number of an aggregate in the plan, its sets of values.
    """
    number = {variable.name: place for place, variable in enumerate(task.plan.variables)}
    wanted = {
        place: spread_values(column, task.rows.table.column(name), number[column.variable])
        for place, (column, name) in enumerate(zip(task.plan.aggregates, task.preparation.values, strict=True))
        if column.distinct and column.variable is not None and name is not None
    }
    entries = WindowEntries(found.group, found.window, group[found.group], found.components[0].values)
    sets = {place: np.empty(entries.size, object) for place in wanted}
    graphs = TrendGraphs(task, [piece], [group], [], windows, entries, ALL, DEFAULTS.memory)
    for part in graphs.parts():
        inside = entries.find_segments(part.first, part.end)
        events = _find_events(part, entries.take(inside), [spread.variable for spread in wanted.values()])
        for place, spread in wanted.items():
            sets[place][inside] = spread.find(events).values
    return {place: Component("distinct", sets[place], dictionary=of.dictionary) for place, of in wanted.items()}


def _find_events(part: SegmentGraph, entries: WindowEntries, variables: list[int]) -> ShownTrends:
    """The events of some variables that lie in any trend, those of each entry as if they were one trend."""
    walk, counts = new_walk(part.graph), np.zeros(entries.size, np.int64)
    asked = np.isin(part.variable, variables)
    segment = entries.segment - part.first
    arguments = part.graph, part.steps, segment, entries.window, asked, walk.marks, walk.longest, counts
    find_participants(*arguments, np.empty(0, np.int64))
    vertices = np.empty(int(counts.sum()), np.int64)
    if vertices.size:
        find_participants(*arguments, vertices)
    starts = np.append(0, np.cumsum(counts))
    return ShownTrends(part.row[vertices], part.variable[vertices], starts, entries.window, entries.group)
