"""Trend queries as programs: aggregates over all trends, and trends one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import CountTooLargeError
from trendweave.planning.chunks import choose_chunks
from trendweave.planning.plan import MovingWindow, Plan, SlidingWindow
from trendweave.planning.preparation import Preparation, prepare
from trendweave.programs.program import EVERYTHING, TRENDS, Flag, Needs, Output, PartialResults, Scope, TimeCut, Work
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.detection import DEFAULTS, Detection
from trendweave.programs.trends.lists import WrittenTrends, list_trends
from trendweave.programs.trends.steps import TrendSteps
from trendweave.results.aggregate_table import result_table
from trendweave.results.partial_table import WINDOW, from_table, group_names, partial_schema, to_table
from trendweave.results.partials import TaskResult, merge
from trendweave.results.trend_table import make_writer
from trendweave.results.types import Numbers, ResultColumn, arrow_schema, trend_columns
from trendweave.rows.closing import Closing
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import LETTERS, TIME
from trendweave.rows.prepared import prepare_rows
from trendweave.rows.times import TimeType, steps_of, time_type


@dataclass(frozen=True)
class BoundTrends:
    """A trend plan bound to the columns of some events: all that does not depend on what is returned."""

    plan: Plan
    preparation: Preparation
    events: pa.Schema
    time: str
    type: str | None
    numbers: Numbers

    @property
    def text(self) -> str:
        return self.plan.text

    @property
    def facts(self) -> tuple[str, ...]:
        return (self.plan.text, self.time, str(self.type), self.numbers)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return trend_columns(self.plan, self.events, self.time, self.type, self.numbers)

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.result)

    @property
    def moment(self) -> pa.DataType:
        return self.events.field(self.time).type

    @property
    def time_type(self) -> TimeType:
        return time_type(self.moment)

    @cached_property
    def needs(self) -> Needs:
        plan = self.plan
        keys = tuple(key.path for key in plan.partition_key if not key.nullable)
        has_type = self.type is not None
        flags = [
            Flag(variable.type if has_type else None, condition)
            for variable, condition in zip(plan.variables, self.preparation.readable, strict=True)
        ]
        return Needs(
            time=self.time,
            type=self.type,
            read=read_columns(plan, self.time, self.type),
            named_types=frozenset(variable.type for variable in plan.variables),
            known=keys,
            columns=self.preparation.columns,
            flags=tuple(flags),
            words=tuple(f"{LETTERS}{word}" for word in range(-(-len(flags) // 64))),
            only_flagged=plan.strategy != "contiguous",
            together=tuple((name,) for name in self._meeting_keys()),
            merged=tuple((name,) for name in self._grouping_keys()),
        )

    def _meeting_keys(self) -> tuple[str, ...]:
        """All keys, or those of the group where windows depend on it or trends are chosen per group."""
        if not isinstance(self.plan.window, MovingWindow) and self.plan.choice is None:
            return self.preparation.partition_key
        return self._grouping_keys()

    def _grouping_keys(self) -> tuple[str, ...]:
        """Keys that rows of the result are grouped by."""
        grouped = {group.path for group in self.plan.groups if group.variable is None}
        keys = zip(self.plan.partition_key, self.preparation.partition_key, strict=True)
        return tuple(name for key, name in keys if key.path in grouped)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        return prepare_rows(self.plan, self.preparation, events, self.time, self.type)

    def adopt(self, rows: pa.Table) -> pa.Table:
        """Spark hands timestamps over in the session's zone, and flags may be kept in few bits."""
        rows = rows.set_column(rows.schema.get_field_index(TIME), TIME, rows.column(TIME).cast(self.moment))
        for place, field in enumerate(rows.schema):
            if field.name in self.needs.words and field.type != pa.int64():
                rows = rows.set_column(place, field.name, rows.column(place).cast(pa.int64()))
        return rows

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """A chunk owns the windows (or times) that begin in it."""
        chunks = choose_chunks(self.plan, wanted)
        if chunks is None:
            return None
        kind, window = self.time_type, self.plan.window
        if isinstance(window, SlidingWindow):
            check_steps(window, kind)
            return TimeCut(chunks.length // kind.step, 0, chunks.after // kind.step)
        before = -(-chunks.before // kind.step)
        return TimeCut(max(-(-chunks.length // kind.step), before), before)

    def closing(self) -> Closing | None:
        return Closing.of(self.plan.window, self.time_type)

    def describe_key(self, rows: pa.Table, row: int) -> str:
        """As the query names it; a chunk of time is told by its times."""
        names = zip(self.preparation.partition_key, self.plan.partition_key, strict=True)
        meeting = {name for name, *_ in self.needs.together}
        shown = [f"{'.'.join(key.path)}={rows.column(name)[row].as_py()}" for name, key in names if name in meeting]
        return ", ".join(shown) or "(none)"


def check_steps(window: SlidingWindow, kind: TimeType) -> None:
    """Raise where a length of the window is not a whole number of steps of the time column."""
    steps_of(window.length, kind, "WITHIN")
    steps_of(window.slide, kind, "SLIDE")


def read_columns(plan: Plan, time: str, type_: str | None) -> tuple[str, ...]:
    """The columns of events that a plan reads."""
    needed = {path[0] for columns in plan.needed_columns for path in columns.paths}
    return tuple(sorted(needed | {time} | ({type_} if type_ is not None else set())))


@dataclass(frozen=True)
class TrendAggregates(BoundTrends):
    """Aggregates over all trends. `way` forces a way of summing."""

    way: str | None = None

    @property
    def work(self) -> Work:
        return "aggregates"

    def aggregate(self, rows: pa.Table, scope: Scope = EVERYTHING) -> TaskResult:
        """Numbers per window and group, before they are written."""
        options = TaskOptions(self.numbers != "float64", self.way, scope.windows, scope.chunk)
        try:
            return PartitionTask(self.plan, self.preparation, rows, options).run()
        except CountTooLargeError as error:
            hint = 'ask for numbers="float64", or use smaller windows'
            raise ExecutionError([Problem("TW403", str(error), hint)]) from error

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return Output.of_table(self.write(self.aggregate(rows, scope), scope))

    def write(self, aggregates: TaskResult, scope: Scope = EVERYTHING) -> pa.Table:
        result = result_table(self.plan, aggregates, self.schema, self.events, self.numbers)
        if not scope.counted:
            return result
        counts = aggregates.partials.components[0].values
        if counts.dtype == object:
            counts = np.array([float(count) if count < 2**1023 else np.inf for count in counts.tolist()])
        return result.append_column(TRENDS, pa.array(counts.astype(np.float64)))

    def partials(self) -> PartialResults | None:
        """Where several keys, and so several tasks, belong to one group of a window."""
        if isinstance(self.plan.window, MovingWindow):
            return None
        grouped = {group.path for group in self.plan.groups if group.variable is None}
        spread = any(key.path not in grouped for key in self.plan.partition_key)
        return PartialAggregates(self) if spread else None

    def steps(self, in_parts: bool = False) -> TrendSteps | None:
        closing = self.closing()
        if closing is None:
            return None
        parts = self.partials() if in_parts else None

        def compute(rows: pa.Table, scope: Scope) -> Output:
            return self.compute(rows, scope) if parts is None else Output.of_table(parts.compute(rows, scope))

        return TrendSteps(closing, self.time_type, compute)

    def problems_of_early_rows(self) -> list[Problem]:
        if not self.plan.negations and self.plan.strategy == "skip-till-any-match":
            return []
        message = "early results of this query could be withdrawn by later events (NOT, or a strategy that skips less)"
        return [Problem("TW409", message, "leave early out, and take rows when their windows close")]


@dataclass(frozen=True, slots=True)
class PartialAggregates:
    """Aggregates of the keys of a task, to be merged by window and group."""

    program: TrendAggregates
    of_stretches = False

    @property
    def schema(self) -> pa.Schema:
        return partial_schema(self.program.plan, self.program.events, self.program.numbers)

    @property
    def together(self) -> tuple[str, ...]:
        return (WINDOW, *group_names(self.program.plan))

    def compute(self, rows: pa.Table, scope: Scope) -> pa.Table:
        return to_table(self.program.aggregate(rows, scope), self.schema)

    def merge(self, parts: pa.Table, scope: Scope) -> pa.Table:
        partials, groups = from_table(parts, self.program.plan, self.program.events)
        codes = key_codes([pa.chunked_array([group]) for group in groups], parts.num_rows)
        first = first_of_each(codes)
        merged = merge([replace(partials, group=codes)])
        values = [pc.take(group, pa.array(first[merged.group])) for group in groups]
        return self.program.write(TaskResult(merged, values), scope)


@dataclass(frozen=True)
class TrendLists(BoundTrends):
    """Trends one by one, or one row of aggregates for each."""

    detection: Detection = DEFAULTS

    @property
    def work(self) -> Work:
        return "trends"

    def show(self, rows: pa.Table, scope: Scope = EVERYTHING) -> WrittenTrends:
        """The trends of prepared rows in batches. They are counted here."""
        options = TaskOptions(only=scope.windows, chunk=scope.chunk)
        try:
            listing = list_trends(self.plan, self.preparation, rows, options, self.detection)
        except CountTooLargeError as error:
            raise ExecutionError([Problem("TW403", str(error), "use smaller windows")]) from error
        columns = (self.schema, self.events, self.time, self.type, self.numbers)
        encoded, groups = listing.counted.task.rows, listing.counted.group_columns
        return WrittenTrends(listing, make_writer(self.plan, self.preparation, *columns, encoded, groups))

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        written = self.show(rows, scope)
        batches = written.batches()
        if scope.counted:
            batches = (batch.append_column(TRENDS, pa.array(np.ones(batch.num_rows))) for batch in batches)
        return Output(batches, written.trends)

    def partials(self) -> PartialResults | None:
        """Rows come together by group where trends of several keys are chosen among; so none are merged."""
        return None

    def steps(self, in_parts: bool = False) -> TrendSteps | None:
        closing = self.closing()
        return None if closing is None else TrendSteps(closing, self.time_type, self.compute)

    def problems_of_early_rows(self) -> list[Problem]:
        message = "trends come out when their window closes; there are no early ones"
        return [Problem("TW409", message, "leave early out, or return aggregates")]


def bind_trends(
    plan: Plan,
    events: pa.Schema,
    time: str,
    type_: str | None,
    numbers: Numbers,
    detection: Detection | None = None,
    way: str | None = None,
) -> TrendAggregates | TrendLists:
    """The program of a trend plan."""
    bound = (plan, prepare(plan), events, time, type_, numbers)
    if plan.returns == "aggregates":
        return TrendAggregates(*bound, way=way)
    return TrendLists(*bound, detection=detection or DEFAULTS)
