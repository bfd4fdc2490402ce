"""Windowed aggregation as a program: one row per key and window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import Problem
from trendweave.planning.operator_plans import AggregatePlan, RowCount, Window
from trendweave.planning.plan import Path
from trendweave.programs.operators.windows.aggregates import Windowed, read_column, write_aggregate
from trendweave.programs.operators.windows.bound import BoundWindows
from trendweave.programs.operators.windows.edges import (
    ALL_WINDOWS,
    StepSpan,
    WindowEdges,
    count_windows,
    last_moments,
    time_windows,
)
from trendweave.programs.operators.windows.folded_steps import FoldedSteps
from trendweave.programs.operators.windows.moving import moving
from trendweave.programs.operators.windows.ordered_rows import OrderedRows, order_rows, order_windows, rank_keys
from trendweave.programs.operators.windows.outputs import END, START, read_outputs
from trendweave.programs.operators.windows.steps import CountSteps
from trendweave.programs.program import EVERYTHING, TRENDS, Output, Scope, Steps, TimeCut
from trendweave.programs.trends.steps import TrendSteps
from trendweave.results.types import Numbers, column_type
from trendweave.rows.closing import Closing
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import CHUNK
from trendweave.rows.ordering import sort_by, take_rows
from trendweave.rows.times import TimeType, as_steps, as_times, steps_of, time_type

#: A chunk of time is so many times as long as what it reads in addition.
_CHUNK = 9


@dataclass(frozen=True)
class WindowAggregates(BoundWindows):
    """Aggregates of windows of time or of events."""

    # All at once

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        keys = self.keys if scope.chunk is None else (*self.keys, CHUNK)
        ordered = order_rows(rows, keys, self.time_type, self.ties)
        if isinstance(self.window, RowCount):
            edges = count_windows(ordered.starts, self.window)
        else:
            edges = time_windows(ordered.moment, ordered.starts, self.window, scope.windows or ALL_WINDOWS)
            edges = _owned(edges, ordered, self.window, scope.chunk)
        return Output.of_table(self.write(ordered, edges, scope.counted))

    def write(self, rows: OrderedRows, edges: WindowEdges, counted: bool = False) -> pa.Table:
        """Result rows of windows, in order of their time, then of the start of the window, then of the key."""
        seen: dict[Path, Windowed] = {}
        means = moving(self.device, edges)
        values = []
        for asked in self.outputs.asked:
            if asked.path is None:
                values.append(pa.array(edges.high - edges.low))
                continue
            shown = ".".join(asked.path)
            if asked.path not in seen:
                seen[asked.path] = read_column(rows, self.columns[asked.path], shown, means)
            values.append(write_aggregate(asked.function, asked.result, seen[asked.path], shown))
        return self.finish(rows, edges, values, counted)

    def finish(
        self, rows: OrderedRows, edges: WindowEdges, values: Sequence[pa.Array], counted: bool = False
    ) -> pa.Table:
        """The same of what was computed of each window."""
        *times, sorted_by = self._times(rows, edges)
        keys = [shown_key(rows.of_keys(name, edges.key)) for name in self.keys]
        arrays = [*keys, *times, *self.outputs.show(values, self.result[len(self.keys) + 3 :])]
        table = pa.table(
            [array.cast(field.type) for array, field in zip(arrays, self.schema, strict=True)], self.schema
        )
        if counted:
            table = table.append_column(TRENDS, pa.array(np.ones(table.num_rows)))
        if rows.starts.size <= 2:
            return table
        return table.take(pa.array(order_windows(rows.key_ranks()[edges.key], *sorted_by)))

    def arrange(self, rows: pa.Table) -> pa.Table:
        """Result rows of several parts in the order of one; rows of one key and window stay in theirs."""
        start = as_steps(rows.column(START), self.time_type)
        codes = key_codes([rows.column(name) for name in self.plan.keys], rows.num_rows)
        rank = rank_keys([rows.column(name) for name in self.plan.keys], first_of_each(codes))[codes]
        ends = (as_steps(rows.column(END), self.time_type),) if isinstance(self.window, RowCount) else ()
        order = sort_by(*ends, start, rank)
        if np.array_equal(order, np.arange(order.size)):
            return rows
        return pa.table([take_rows(column, order) for column in rows.columns], rows.schema)

    def _times(
        self, rows: OrderedRows, edges: WindowEdges
    ) -> tuple[pa.Array, pa.Array, pa.Array, tuple[np.ndarray, ...]]:
        """Start, end and time of rows, and by what they are ordered, the last counts most."""
        if isinstance(self.window, RowCount):
            start, end = edges.first(rows.moment), edges.last(rows.moment)
            last = as_times(end, self.time_type)
            return as_times(start, self.time_type), last, last, (start, end)
        assert edges.number is not None
        start = edges.number * self.window.slide
        end = start + self.window.length
        shown = as_times(start, self.time_type), as_times(end, self.time_type), last_moments(end, self.time_type)
        return (*shown, (start,))

    # In parts, and piece by piece

    def partials(self) -> None:
        return None

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """A chunk of time owns the windows that begin in it."""
        if isinstance(self.window, RowCount):
            return None
        length, slide = self.window.length, self.window.slide
        beyond = max(0, length - slide)
        asked = _CHUNK * beyond if wanted is None else max(wanted // self.time_type.step, beyond)
        return TimeCut(max(1, -(-asked // slide)) * slide, after=beyond)

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        if isinstance(self.window, RowCount):
            return CountSteps(self)
        closing = Closing(self.window.length, self.window.slide)
        if early or not self.folds:
            return TrendSteps(closing, self.time_type, self.compute)
        return FoldedSteps(self, self.window, closing)

    def problems_of_early_rows(self) -> list[Problem]:
        if isinstance(self.window, RowCount):
            message = "windows of events are returned as soon as they are full; there are no early rows"
            return [Problem("TW409", message, "remove early=")]
        return []


def bind_windows(
    plan: AggregatePlan, events: pa.Schema, time: str, numbers: Numbers, device: str = "cpu"
) -> WindowAggregates:
    """The program of a windowed aggregation.

    Args:
        plan: Fits the columns.
        events: The columns of the events.
        time: The column that holds the time.
        numbers: How sums of whole numbers are written.
        device: Where sums and extremes of windows are computed.

    Raises:
        DataError: A window is finer than the time column.
        ExecutionError: Numbers are asked for in a way that sums have not.
    """
    window = _in_steps(plan.window, time_type(column_type(events, (time,))))
    return WindowAggregates(plan, events, time, numbers, window, read_outputs(plan, events, numbers), device)


def _in_steps(window: Window, kind: TimeType) -> StepSpan | RowCount:
    if isinstance(window, RowCount):
        return window
    assert window.slide is not None, "windows that are aggregated have a slide"
    return StepSpan(steps_of(window.length, kind, "within"), steps_of(window.slide, kind, "slide"))


def shown_key(keys: pa.Array) -> pa.Array:
    """Keys as they are shown: -0.0 and 0.0 are one key."""
    if pa.types.is_float16(keys.type):  # Arrow does not add them
        return shown_key(keys.cast(pa.float32())).cast(keys.type)
    return pc.add(keys, pa.scalar(0.0, keys.type)) if pa.types.is_floating(keys.type) else keys


def _owned(edges: WindowEdges, rows: OrderedRows, window: StepSpan, chunk: int | None) -> WindowEdges:
    """Windows that begin in the chunk that their rows were read for."""
    if chunk is None:
        return edges
    assert edges.number is not None
    chunks = rows.of_keys(CHUNK).to_numpy(zero_copy_only=False)
    return edges.choose(np.floor_divide(edges.number * window.slide, chunk) == chunks[edges.key])
