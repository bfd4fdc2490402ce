"""What a chain knows of each of its operators: its program, which columns bring rows together, and how late its
rows come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.language.syntax_tree import Attribute, Expression
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan, OperatorPlan
from trendweave.planning.plan import Path, SessionWindow
from trendweave.planning.situated_plan import QueryPlan
from trendweave.programs.bind import bind
from trendweave.programs.intervals.program import IntervalMatches
from trendweave.programs.operators.filter import KeptEvents, bind_filter
from trendweave.programs.operators.joins.program import bind_join
from trendweave.programs.operators.windows.program import bind_windows
from trendweave.programs.program import Program
from trendweave.programs.situated import InSituations, SituatedSteps
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.detection import Wishes
from trendweave.results.types import ResultColumn


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
    def is_filter(self) -> bool:
        """Whether each of its rows is one event."""
        return isinstance(self.program, KeptEvents)

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
            return Stage(bind_filter(plan, events, time, wishes.device), None)
        case AggregatePlan():
            return Stage(bind_windows(plan, events, time, wishes.numbers, wishes.device), _pairs(plan.keys))
        case JoinPlan():
            return Stage(bind_join(plan, events, time, wishes.device), _pairs(plan.keys))
    program = bind(plan, events, time, type_, wishes)
    return Stage(program, keys_of(program))


def _pairs(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((key, key) for key in keys)
