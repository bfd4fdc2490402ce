"""Windowed aggregation as a program: one row per key and window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import Problem
from trendweave.expressions.arrow.evaluate import column_of
from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration_text
from trendweave.planning.operator_plans import AggregatePlan, RowCount, Window
from trendweave.planning.plan import Path
from trendweave.programs.operators.windows.aggregates import WindowColumn, count_rows
from trendweave.programs.operators.windows.edges import (
    ALL_WINDOWS,
    StepSpan,
    WindowEdges,
    count_windows,
    last_moments,
    time_windows,
)
from trendweave.programs.operators.windows.moving import moving
from trendweave.programs.operators.windows.ordered_rows import OrderedRows, order_rows, order_windows, rank_keys
from trendweave.programs.operators.windows.outputs import END, START, Outputs, read_outputs, result_columns
from trendweave.programs.operators.windows.steps import CountSteps
from trendweave.programs.program import EVERYTHING, TRENDS, Needs, Output, Scope, Steps, TimeCut, Work
from trendweave.programs.trends.steps import TrendSteps
from trendweave.results.types import Numbers, ResultColumn, column_type, result_schema
from trendweave.rows.closing import Closing
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.prepared import adopt_rows
from trendweave.rows.times import TimeType, as_steps, as_times, keep_rows_with_time, steps_of, time_type

#: A chunk of time is so many times as long as what it reads in addition.
_CHUNK = 9


@dataclass(frozen=True)
class WindowAggregates:
    """Aggregates of windows of time or of events.

    Attributes:
        plan: What is asked.
        events: The columns of the events.
        time: The column that holds the time.
        numbers: How sums of whole numbers are written.
        window: The windows; those of time in steps of the time column.
        outputs: What is asked for, in types.
        device: Where sums and extremes of windows are computed.
    """

    plan: AggregatePlan
    events: pa.Schema
    time: str
    numbers: Numbers
    window: StepSpan | RowCount
    outputs: Outputs
    device: str = "cpu"

    @property
    def text(self) -> str:
        return self.plan.text

    @property
    def facts(self) -> tuple[str, ...]:
        asked = (repr(self.plan.window), repr(self.plan.outputs), *self.plan.keys, "by", *self.plan.order_by)
        return ("windows", self.plan.text, self.time, self.numbers, *asked)

    @property
    def work(self) -> Work:
        return "windows"

    @cached_property
    def moment(self) -> pa.DataType:
        return column_type(self.events, (self.time,))

    @cached_property
    def time_type(self) -> TimeType:
        return time_type(self.moment)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return result_columns(self.plan, self.outputs, self.events, self.time)

    @cached_property
    def schema(self) -> pa.Schema:
        return result_schema(self.result)

    # Prepared rows

    @cached_property
    def columns(self) -> dict[Path, str]:
        """What is read of an event besides its time, by name in prepared rows: keys, what orders events of one time,
        and what is aggregated, each as columns stand in the schema."""
        first = [(name,) for name in (*self.plan.keys, *self.ties_first)]
        later = {asked.path for asked in self.outputs.asked if asked.path is not None}
        in_schema = sorted(later, key=lambda path: (self.events.get_field_index(path[0]), path))
        return {path: f"column_{number}" for number, path in enumerate(dict.fromkeys([*first, *in_schema]))}

    @property
    def ties_first(self) -> tuple[str, ...]:
        """What orders events of one time first of all; of windows of time their order does not matter."""
        return self.plan.order_by if isinstance(self.window, RowCount) else ()

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The columns of the keys, in prepared rows."""
        return tuple(self.columns[(name,)] for name in self.plan.keys)

    @cached_property
    def ties(self) -> tuple[str, ...] | None:
        """The columns that order events of one time, in prepared rows; None where that does not matter."""
        if not isinstance(self.window, RowCount):
            return None
        measured = [name for path, name in self.columns.items() if path in {one.path for one in self.outputs.asked}]
        return tuple(dict.fromkeys([*(self.columns[(name,)] for name in self.ties_first), *measured]))

    @cached_property
    def needs(self) -> Needs:
        return Needs(
            time=self.time,
            type=None,
            read=tuple(dict.fromkeys([self.time, *(path[0] for path in self.columns)])),
            columns=tuple((name, st.Attribute(path)) for path, name in self.columns.items()),
            together=tuple((name,) for name in self.keys),
        )

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        rows = events.num_rows
        events, missing = keep_rows_with_time(events, self.time)
        columns = {TIME: events.column(self.time)}
        columns |= {name: _plain(column_of(events, path)) for path, name in self.columns.items()}
        return pa.table(columns), Dropped(rows, missing)

    def adopt(self, rows: pa.Table) -> pa.Table:
        """Spark hands timestamps over in the session's zone."""
        rows = adopt_rows(rows, self.moment, ())
        for path, name in self.columns.items():
            wanted, place = column_type(self.events, path), rows.schema.get_field_index(name)
            if rows.schema.field(place).type != wanted:
                rows = rows.set_column(place, name, rows.column(place).cast(wanted))
        return rows

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
        seen: dict[Path, WindowColumn] = {}
        means = moving(self.device, edges)
        values = []
        for asked in self.outputs.asked:
            if asked.path is None:
                values.append(count_rows(edges))
                continue
            if asked.path not in seen:
                seen[asked.path] = WindowColumn(rows, self.columns[asked.path], ".".join(asked.path), edges, means)
            values.append(seen[asked.path].write(asked.function, asked.result))
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
        order = order_windows(rank, start, *ends)
        return rows if np.array_equal(order, np.arange(order.size)) else rows.take(pa.array(order))

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
        return TrendSteps(Closing(self.window.length, self.window.slide), self.time_type, self.compute)

    def problems_of_early_rows(self) -> list[Problem]:
        if isinstance(self.window, RowCount):
            message = "windows of events come out as soon as they are full; there are no earlier rows"
            return [Problem("TW409", message, "leave early out")]
        return []

    def describe_key(self, rows: pa.Table, row: int) -> str:
        names = zip(self.plan.keys, self.keys, strict=True)
        return ", ".join(f"{shown}={rows.column(name)[row].as_py()}" for shown, name in names) or "(none)"

    def describe(self) -> list[str]:
        """What is done, in plain words."""
        per_key = f" of each {', '.join(self.plan.keys)}" if self.plan.keys else ""
        if isinstance(self.window, RowCount):
            rows, slide = self.window.rows, self.window.slide
            kept = f"the last {max(rows - 1, 0):,} events at most" if rows > 1 else "nothing"
            return [
                f"windows of {rows:,} events{per_key}, every {slide:,} events",
                f"kept on a stream: {kept}{per_key}",
            ]
        step = self.time_type.step
        length, every = duration_text(self.window.length * step), duration_text(self.window.slide * step)
        return [
            f"windows of {length}{per_key}, every {every}",
            "kept on a stream: events of windows that are still open",
        ]


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


def _plain(column: pa.Array) -> pa.Array:
    """Values instead of a dictionary of them."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def shown_key(keys: pa.Array) -> pa.Array:
    """Keys as they are shown: -0.0 and 0.0 are one key."""
    return pc.add(keys, pa.scalar(0.0, keys.type)) if pa.types.is_floating(keys.type) else keys


def _owned(edges: WindowEdges, rows: OrderedRows, window: StepSpan, chunk: int | None) -> WindowEdges:
    """Windows that begin in the chunk that their rows were read for."""
    if chunk is None:
        return edges
    assert edges.number is not None
    chunks = rows.of_keys(CHUNK).to_numpy(zero_copy_only=False)
    return edges.choose(np.floor_divide(edges.number * window.slide, chunk) == chunks[edges.key])
