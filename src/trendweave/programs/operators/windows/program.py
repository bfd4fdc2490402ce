"""Windowed aggregation as a program: one row per key and window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import Problem
from trendweave.language.durations import duration_text
from trendweave.planning.operator_plans import AggregatePlan, RowCount
from trendweave.planning.plan import Path
from trendweave.programs.operators.bound import BoundOperator
from trendweave.programs.operators.measured import is_measured
from trendweave.programs.operators.ordering import OrderedRows, order_rows, rank_keys
from trendweave.programs.operators.steps import SliceFold, fill_windows
from trendweave.programs.operators.windows.aggregates import (
    MeasuredColumn,
    SlicedColumn,
    read_column,
    write_aggregate,
)
from trendweave.programs.operators.windows.edges import (
    ALL_WINDOWS,
    Moving,
    StepSpan,
    WindowEdges,
    count_windows,
    in_steps,
    last_moments,
    time_windows,
)
from trendweave.programs.operators.windows.slices import END, START, Asked, Outputs, read_outputs, result_columns
from trendweave.programs.program import (
    EVERYTHING,
    TRENDS,
    Arrange,
    Output,
    Scope,
    Split,
    Steps,
    TimeCut,
    as_they_are,
)
from trendweave.programs.steps import PassedSteps, WindowedSteps
from trendweave.results.types import Numbers, ResultColumn, column_type
from trendweave.rows.closing import Closing
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import CHUNK
from trendweave.rows.segments import sort_by, take_rows
from trendweave.rows.times import as_steps, as_times, time_type

#: A chunk of time is so many times as long as what it reads in addition.
_CHUNK = 9


@dataclass(frozen=True)
class WindowAggregates(BoundOperator):
    """Aggregates of windows of time or of events, bound to the columns of events.

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
    def facts(self) -> tuple[str, ...]:
        asked = (repr(self.plan.window), repr(self.plan.outputs), *self.plan.keys, "by", *self.plan.order_by)
        # States hold rows and how many to skip, and slices with sums of floats, where earlier ones held other things.
        kind = "windows of rows" if isinstance(self.window, RowCount) else "windows of slices"
        return (kind, self.plan.text, self.time, self.numbers, *asked)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return result_columns(self.plan, self.outputs, self.events, self.time)

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
    def ties(self) -> tuple[str, ...]:
        """The columns that order events of one time, in prepared rows; none where that does not matter."""
        if not isinstance(self.window, RowCount):
            return ()
        measured = [name for path, name in self.columns.items() if path in {one.path for one in self.outputs.asked}]
        return tuple(dict.fromkeys([*(self.columns[(name,)] for name in self.ties_first), *measured]))

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
        values = self.aggregate(
            edges.high - edges.low,
            lambda path: read_column(
                rows.table.column(self.columns[path]), rows.order, ".".join(path), edges, self.device
            ),
        )
        return self.finish(rows, edges, values, counted)

    def aggregate(self, lengths: np.ndarray, read: Callable[[Path], MeasuredColumn | SlicedColumn]) -> list[pa.Array]:
        """All that is asked of windows with so many rows; `read` gives a column as windows see it."""
        read = cache(read)
        return [
            pa.array(lengths)
            if asked.path is None
            else write_aggregate(asked.function, asked.result, read(asked.path), ".".join(asked.path))
            for asked in self.outputs.asked
        ]

    def finish(
        self, rows: OrderedRows, edges: WindowEdges, values: Sequence[pa.Array], counted: bool = False
    ) -> pa.Table:
        """Result rows of what was computed of each window."""
        if isinstance(self.window, RowCount):
            start, end = edges.first(rows.moment), edges.last(rows.moment)
            sorted_by: tuple[np.ndarray, ...] = (end, start)
        else:
            assert edges.number is not None
            start = edges.number * self.window.slide
            end, sorted_by = start + self.window.length, (start,)
        table = self.show([rows.of_keys(name, edges.key) for name in self.keys], start, end, values)
        if counted:
            table = table.append_column(TRENDS, pa.array(np.ones(table.num_rows)))
        if rows.starts.size <= 2:
            return table
        return table.take(pa.array(sort_by(*sorted_by, rows.key_ranks()[edges.key])))

    def show(
        self, keys: Sequence[pa.Array], start: np.ndarray, end: np.ndarray, values: Sequence[pa.Array]
    ) -> pa.Table:
        """Keys, edges and aggregates of windows as columns of the result."""
        kind = self.time_type
        last = as_times(end, kind)
        moments = last if isinstance(self.window, RowCount) else last_moments(end, kind)
        outputs = self.outputs.show(values, self.result[len(keys) + 3 :])
        arrays = [*map(_shown_key, keys), as_times(start, kind), last, moments, *outputs]
        fields = zip(arrays, self.schema, strict=True)
        return pa.table([array.cast(field.type) for array, field in fields], self.schema)

    def split(self) -> Split:
        """Sums of windows are exact, however rows are cut."""
        return replace(super().split(), prefers_time=True)

    def arranging(self, by_time: bool = False) -> Arrange:
        return as_they_are if by_time else self.arrange

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

    # In parts, and piece by piece

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
            return PassedSteps(partial(fill_windows, self))
        closing = Closing(self.window.length, self.window.slide)
        # Where rows are shown early they wait.
        return WindowedSteps(closing, self.time_type, self.compute, None if early else self.fold)

    def problems_of_early_rows(self) -> list[Problem]:
        if isinstance(self.window, RowCount):
            message = "windows of events are returned as soon as they are full; there are no early rows"
            return [Problem("TW409", message, "remove early=")]
        return []

    @property
    def fold(self) -> SliceFold | None:
        """How rows are folded on a stream: where all values fit 64 bits, and sums are written as they are."""
        if isinstance(self.window, RowCount) or not all(self._is_folded(one) for one in self.outputs.asked):
            return None
        return SliceFold(self, self.window)

    def _is_folded(self, one: Asked) -> bool:
        if one.path is None or one.function == "COUNT":
            return True
        kind = column_type(self.events, one.path)
        if one.function == "SUM" and self.numbers != "decimal" and not pa.types.is_floating(kind):
            return False
        return is_measured(kind) and kind != pa.uint64() and not (pa.types.is_decimal(kind) and kind.precision > 18)

    @cached_property
    def folded_paths(self) -> tuple[Path, ...]:
        """The columns that slices keep something of."""
        return tuple(dict.fromkeys(one.path for one in self.outputs.asked if one.path is not None))

    @cached_property
    def folded_columns(self) -> list[tuple[str, pa.DataType]]:
        """The same in prepared rows, with their types; NULL for those of which values are only counted."""
        more = {one.path for one in self.outputs.asked if one.function != "COUNT"}
        return [
            (self.columns[path], column_type(self.events, path) if path in more else pa.null())
            for path in self.folded_paths
        ]

    # In words

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
        each = "a row for each slice between the edges of windows" if self.fold is not None else "the events"
        kept = f"kept on a stream: {each}{per_key}, while windows are open"
        return [f"windows of {length}{per_key}, every {every}", kept]


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
    window = in_steps(plan.window, time_type(column_type(events, (time,))), ("within", "slide"))
    assert not isinstance(window, Moving), "windows that are aggregated have a slide"
    return WindowAggregates(plan, events, time, numbers, window, read_outputs(plan, events, numbers), device)


def _shown_key(keys: pa.Array) -> pa.Array:
    """Keys as they are shown: -0.0 and 0.0 are one key."""
    if pa.types.is_float16(keys.type):  # Arrow does not add them
        return _shown_key(keys.cast(pa.float32())).cast(keys.type)
    return pc.add(keys, pa.scalar(0.0, keys.type)) if pa.types.is_floating(keys.type) else keys


def _owned(edges: WindowEdges, rows: OrderedRows, window: StepSpan, chunk: int | None) -> WindowEdges:
    """Windows that begin in the chunk that their rows were read for."""
    if chunk is None:
        return edges
    assert edges.number is not None
    chunks = rows.of_keys(CHUNK).to_numpy(zero_copy_only=False)
    return edges.choose(np.floor_divide(edges.number * window.slide, chunk) == chunks[edges.key])
