"""A chain of operators as one program: rows of one are events of the next.

Filters at its beginning are part of preparing rows. What a later operator keeps, its rows that wait and what it carries
on, stands in the carry of the chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.language.syntax_tree import Attribute, Expression
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan, OperatorPlan
from trendweave.planning.plan import Path, SessionWindow
from trendweave.planning.situated_plan import QueryPlan
from trendweave.programs.bind import bind
from trendweave.programs.carry import carry_of, name_carry
from trendweave.programs.intervals.program import IntervalMatches
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.joins.program import bind_join
from trendweave.programs.operators.windows.program import WindowAggregates, bind_windows
from trendweave.programs.program import (
    EVERYTHING,
    NO_CARRY,
    Arrange,
    Carry,
    Needs,
    Output,
    PartialResults,
    Program,
    Scope,
    Step,
    Steps,
    TimeCut,
)
from trendweave.programs.situated import InSituations, SituatedSteps
from trendweave.programs.steps import select_rows, take_step
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.detection import Wishes
from trendweave.programs.trends.program import TrendLists
from trendweave.results.types import ResultColumn
from trendweave.rows.dropped import Dropped, report_dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, keep_rows_with_time, time_type


@dataclass(frozen=True, slots=True)
class Stage:
    """An operator of a chain.

    Attributes:
        program: Bound to the rows of the operator before.
        keys: Columns that its rows keep: by their names in its events, how its rows call them. None for all, as they
            are.
    """

    program: Program
    keys: tuple[tuple[str, str], ...] | None

    @property
    def filter(self) -> KeptEvents | None:
        """Its program, where each of its rows is one event."""
        return self.program if isinstance(self.program, KeptEvents) else None

    @property
    def is_filter(self) -> bool:
        return self.filter is not None

    @property
    def windows(self) -> WindowAggregates | None:
        """Its program, where it aggregates windows."""
        return self.program if isinstance(self.program, WindowAggregates) else None

    @property
    def met_by(self) -> dict[str, Path]:
        """Columns of its events by which they must meet, with what prepared rows call them."""
        needs = self.program.needs
        # Parts of a result are not merged within a chain, so all of a row's events meet.
        paths = needs.together if self.program.partials() is None else needs.merged
        columns: dict[Path, Expression] = {(name,): expression for name, expression in needs.columns}
        found = {}
        for path in paths:
            expression = columns.get(path)
            if isinstance(expression, Attribute) and len(expression.names) == 1:
                found[expression.names[0]] = path
        return found

    @property
    def shows_trends(self) -> bool:
        """Whether its rows are trends, whose number is limited."""
        program = self.program
        return isinstance(program.inner if isinstance(program, InSituations) else program, TrendLists)

    def name_behind(self, column: str) -> str | None:
        """What its rows call a column of its events; None where they do not have it."""
        if self.keys is None:
            return column
        return dict(self.keys).get(column)

    @property
    def lag(self) -> int:
        """In steps of the time column: rows that come out after a watermark are not further behind it."""
        program = self.program
        match program:
            case InSituations(inner=BoundTrends() as inner):
                steps = program.steps()
                return _lag_of_trends(inner) + (steps.delay if isinstance(steps, SituatedSteps) else 0)
            case BoundTrends():
                return _lag_of_trends(program)
        return 0


def _lag_of_trends(program: BoundTrends) -> int:
    if isinstance(program.plan.window, SessionWindow):
        message = "a session may have any length, so later operators cannot know when its rows are final"
        raise ExecutionError(
            [Problem("TW409", message, "run the chain on one table, or use WITHIN with a duration in the query")]
        )
    closing = program.closing()
    return 0 if closing is None else closing.length + closing.wait


def keys_of(program: Program) -> tuple[tuple[str, str], ...]:
    """Of a query in a chain: the columns of its events that all events of a row have in common, and their names."""
    match program:
        case IntervalMatches(plan=plan) if plan.returns == "situations":
            pairs = zip(plan.partition_by, plan.key_names, strict=True)
            return tuple((path[0], name) for path, name in pairs if len(path) == 1)
        case IntervalMatches(plan=plan):
            outputs = [output for output in plan.outputs if output.function is None and output.path is not None]
            shown = [(output.path, output.name) for output in outputs if output.path in plan.partition_by]
            return tuple((path[0], name) for path, name in shown if path is not None and len(path) == 1)
        case InSituations(inner=inner):
            return keys_of(inner)
        case BoundTrends(plan=plan):
            shown_names = {column.name for column in program.result}
            groups = [group for group in plan.groups if group.variable is None and len(group.path) == 1]
            return tuple((group.path[0], group.name) for group in groups if group.name in shown_names)
    return ()


def shared_keys(stages: tuple[Stage, ...]) -> tuple[Path, ...]:
    """The columns by which events of a chain meet: those by which events of each operator do, in what prepared rows of
    the first one call them."""
    first, *others = stages
    found = []
    for column, path in first.met_by.items():
        name: str | None = column
        stage = first
        for other in others:
            name = None if name is None else stage.name_behind(name)
            if name is None or not (other.is_filter or name in other.met_by):
                break
            stage = other
        else:
            found.append(path)
    return tuple(found)


def result_of(stages: tuple[Stage, ...]) -> tuple[ResultColumn, ...]:
    """The columns of the last operator; what has the type of a column of its events has that of one of the chain's
    where they are the same."""
    before: dict[str, ResultColumn] | None = None
    columns: tuple[ResultColumn, ...] = ()
    for stage in stages:
        columns = tuple(_trace(column, before) for column in stage.program.result)
        before = {column.name: column for column in columns}
    return columns


def _trace(column: ResultColumn, before: dict[str, ResultColumn] | None) -> ResultColumn:
    if before is None:
        return column
    fields = tuple(_trace(field, before) for field in column.fields)
    source, of_list = None, False
    if column.source is not None:
        origin = before[column.source[0]]
        of_list = origin.is_list
        if origin.source is not None and not (of_list and column.is_list):
            source = (*origin.source, *column.source[1:])
    return replace(column, source=source, fields=fields, is_list=source is not None and (of_list or column.is_list))


#: What an operator does: queries are operators, too.
AnyPlan: TypeAlias = OperatorPlan | QueryPlan


def bind_stage(plan: AnyPlan, events: pa.Schema, time: str, type_: str | None, wishes: Wishes) -> Stage:
    """The program of an operator.

    Args:
        plan: What it does.
        events: The columns of its events, which fit it.
        time: The column that holds the time.
        type_: The column that holds the type, for queries.
        wishes: The options of the run.
    """
    match plan:
        case FilterPlan():
            return Stage(KeptEvents(plan, events, time, wishes.device), None)
        case AggregatePlan():
            return Stage(bind_windows(plan, events, time, wishes.numbers, wishes.device), _pairs(plan.keys))
        case JoinPlan():
            return Stage(bind_join(plan, events, time, wishes.device), _pairs(plan.keys))
    program = bind(plan, events, time, type_, wishes)
    return Stage(program, keys_of(program))


def _pairs(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((key, key) for key in keys)


#: How tables of the carry are called: which operator they belong to, then what they are.
_WAITING = "rows that wait"


@dataclass(frozen=True, slots=True)
class LaterStage:
    """An operator behind the first one.

    Attributes:
        program: What it computes.
        steps: The same piece by piece; None for a filter, whose rows come at once.
        events: The columns of the rows of the operator before.
        lag: How far its watermark is behind that of the chain, in steps of the time column.
    """

    program: Program
    steps: Steps | None
    events: pa.Schema
    lag: int

    def watermark(self, chain: int | None) -> int | None:
        """Where its watermark is."""
        return None if chain is None else chain - self.lag

    def times(self, rows: pa.Table) -> np.ndarray:
        return as_steps(rows.column(TIME), time_type(self.program.moment))

    def due(self, carry: Carry, watermark: int | None) -> int | None:
        """The watermark of the chain at which there is something to do next; None for never."""
        own = dict(carry)
        rows = own.pop(_WAITING, None)
        if self.steps is None or (rows is None and not own):
            return None
        times = None if rows is None else self.times(rows)
        waits = None if times is None else (int(times.min()), int(times.max()))
        due = self.steps.due(waits, own, self.watermark(watermark))
        return None if due is None else due + self.lag

    def step(
        self, events: pa.Table, carry: Carry, before: int | None, watermark: int | None
    ) -> tuple[Iterable[pa.RecordBatch], Carry]:
        """What is final of an operator once these rows of the one before have come, and what it keeps."""
        before, watermark = self.watermark(before), self.watermark(watermark)
        rows, dropped = self.program.prepare(events)
        report_dropped(dropped)
        times = self.times(rows)
        if before is not None and times.size and int(times.min()) < before:
            message = "a row of an operator is earlier than the windows that it comes from"
            hint = "use the time of one of its events, such as LAST(S.time) AS time"
            raise ExecutionError([Problem("TW409", message, hint)])
        if self.steps is None:
            return self.program.compute(rows).batches, NO_CARRY
        own = dict(carry)
        waiting = own.pop(_WAITING, None)
        if waiting is not None:
            rows = pa.concat_tables([waiting, rows])
            times = self.times(rows)
        if not rows.num_rows and not own:
            return (), NO_CARRY
        step, waits = take_step(self.steps, rows, times, own, before, watermark)
        # All of them, as what is carried on may be made while they are.
        batches = list(step.batches)
        if watermark is None:
            return batches, NO_CARRY
        rest = select_rows(rows, waits)
        return batches, {**step.carry, **({_WAITING: rest.combine_chunks()} if rest.num_rows else {})}


@dataclass(frozen=True, slots=True)
class ChainSteps(Steps):
    """Steps of the first operator, and of those behind it. Rows that may be withdrawn are no events of another one, so
    nothing is shown early."""

    first: Steps
    later: tuple[LaterStage, ...]
    text: str
    carries: bool = True

    @property
    def pane(self) -> int | None:
        return self.first.pane

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        dues = [self.first.due(waiting, carry_of(carry, "0 "), watermark)]
        dues += [stage.due(carry_of(carry, f"{number} "), watermark) for number, stage in enumerate(self.later, 1)]
        return min((due for due in dues if due is not None), default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self.first.reads(before, watermark)

    def keeps_from(self, watermark: int) -> int:
        return self.first.keeps_from(watermark)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        found = self.first.step(rows, carry_of(carry, "0 "), before, watermark)
        kept = name_carry(found.carry, "0 ")
        batches = found.batches
        for number, stage in enumerate(self.later, 1):
            events = pa.Table.from_batches(batches, stage.events)
            batches, own = stage.step(events, carry_of(carry, f"{number} "), before, watermark)
            kept |= name_carry(own, f"{number} ")
        return Step(batches, NO_CARRY if watermark is None else kept)


@dataclass(frozen=True)
class ChainedRows(Program):
    """Rows of the last of several operators. `filters` come before all of them. Where filters are all that there is
    besides one operator, everything but the filters is its own."""

    filters: tuple[KeptEvents, ...]
    stages: tuple[Stage, ...]
    written: str

    @property
    def text(self) -> str:
        return self.written

    @property
    def _first(self) -> Program:
        return self.stages[0].program

    @property
    def _alone(self) -> bool:
        return len(self.stages) == 1

    @cached_property
    def events(self) -> pa.Schema:
        return self.filters[0].events if self.filters else self._first.events

    @property
    def facts(self) -> tuple[str, ...]:
        return ("chain", self.text, *(fact for stage in self.stages for fact in stage.program.facts))

    @property
    def moment(self) -> pa.DataType:
        return self._first.moment

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return result_of((*(Stage(program, None) for program in self.filters), *self.stages))

    @cached_property
    def needs(self) -> Needs:
        first = self._first.needs
        named = {name for program in self.filters for name in columns_of(program)}
        read = tuple(dict.fromkeys((*first.read, *sorted(named))))
        if self._alone:
            return replace(first, read=read)
        return replace(first, read=read, together=self.together, merged=self.together)

    @property
    def plans(self) -> Sequence[Any]:
        return [plan for one in (*self.filters, *(stage.program for stage in self.stages)) for plan in one.plans]

    @property
    def evaluates(self) -> bool:
        return bool(self.filters) or super().evaluates

    def why_whole(self) -> str | None:
        """Each of its operators may be dealt out, and all of them by the same keys."""
        for stage in self.stages:
            if stage.shows_trends:
                return "trends that queries in a chain show count together"
            if not stage.is_filter and (reason := stage.program.split().why_not) is not None:
                return reason
        return None if self.needs.own_keys or self.cut() else "operators have no keys in common"

    def for_part(self, parts: int) -> Self:
        stages = tuple(replace(stage, program=stage.program.for_part(parts)) for stage in self.stages)
        return replace(self, stages=stages)

    def arranging(self, by_time: bool = False) -> Arrange | None:
        """As the last operator that is no filter: filters keep the order of rows."""
        others = [stage for stage in self.stages if not stage.is_filter]
        return (others or self.stages)[-1].program.arranging(by_time)

    @cached_property
    def together(self) -> tuple[Path, ...]:
        """What prepared rows meet by."""
        return shared_keys(self.stages)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        first = self._first
        if not self.filters:
            return first.prepare(events)
        rows = events.num_rows
        events, null_time = keep_rows_with_time(events, self.filters[0].time)
        for program in self.filters:
            events = program.keep(events)
        prepared, dropped = first.prepare(events)
        return prepared, replace(dropped, rows=rows, null_time=null_time)

    def adopt(self, rows: pa.Table) -> pa.Table:
        return self._first.adopt(rows)

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        if self._alone:
            return self._first.compute(rows, scope)
        before, output = self._first, self._first.compute(rows)
        for number, stage in enumerate(self.stages[1:], 2):
            found = pa.Table.from_batches(output.batches, before.schema)
            last = number == len(self.stages)
            prepared, dropped = stage.program.prepare(found)
            report_dropped(dropped)
            output = stage.program.compute(prepared, replace(EVERYTHING, counted=scope.counted and last))
            before = stage.program
        return Output(output.batches, output.trends)

    def partials(self) -> PartialResults | None:
        """None of several operators: what is spread over keys that rows do not meet by meets as well."""
        return self._first.partials() if self._alone else None

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        return self._first.cut(wanted) if self._alone else None

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        if self._alone:
            return self._first.steps(in_parts, early)
        first = self._first.steps()
        later, lag = [], self.stages[0].lag
        for stage, before in zip(self.stages[1:], self.stages, strict=False):
            steps = None if stage.is_filter else stage.program.steps()
            if steps is None and not stage.is_filter:
                return None
            if stage.program.moment != self.moment:
                message = f"the time column is {self.moment} at first and {stage.program.moment} after an operator"
                raise ExecutionError([Problem("TW409", message, "give rows times of the same type")], self.text)
            later.append(LaterStage(stage.program, steps, before.program.schema, lag))
            lag += stage.lag if stage is not self.stages[-1] else 0
        return None if first is None else ChainSteps(first, tuple(later), self.text)

    def problems_of_early_rows(self) -> list[Problem]:
        if self._alone:
            return self._first.problems_of_early_rows()
        message = "rows of an operator are events of the next one, which cannot be withdrawn; there are no early ones"
        return [Problem("TW409", message, "remove early=")]

    def describe_key(self, rows: pa.Table, row: int) -> str:
        return self._first.describe_key(rows, row)


def columns_of(program: KeptEvents) -> set[str]:
    """The columns that a filter looks at."""
    read = {node.names[0] for node in program.plan.condition.walk() if isinstance(node, Attribute)}
    return read | {program.time}


def make_chain(stages: tuple[Stage, ...], text: str, filtered: bool = False) -> Program:
    """The program of some operators, each bound to the rows of the one before.

    Args:
        stages: At least one.
        text: How the chain is written.
        filtered: Whether filters that stand in the text have left events out already.
    """
    if len(stages) == 1 and not filtered:
        return stages[0].program
    number = next((number for number, stage in enumerate(stages) if not stage.is_filter), len(stages) - 1)
    filters = tuple(stage.program for stage in stages[:number] if isinstance(stage.program, KeptEvents))
    return ChainedRows(filters, stages[number:], text)
