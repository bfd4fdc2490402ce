"""Does an operator fit a table? Asked by kinds of columns, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from trendweave.errors import Problem
from trendweave.events import ColumnType, Kind, Schema
from trendweave.language import syntax_tree as st
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.planning.checks.trends import TIME_KINDS, find_column, missing_time, time_hint
from trendweave.planning.expression_types import ExpressionTypes
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan, OperatorPlan, output_names
from trendweave.planning.plan import Path

#: The column of a table that tells the two sides of a join apart.
SIDE = "side"
#: What a row of an aggregate tells besides its keys, its time and its aggregates.
WINDOW_COLUMNS = ("window_start", "window_end")
_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)
_ORDERED = (*_NUMBERS, Kind.TIMESTAMP, Kind.DATE, Kind.STRING, Kind.BOOLEAN, Kind.NULL)
_Column = Callable[[Path, Span | None], ColumnType | None]


def check_operator(plan: OperatorPlan, schema: Schema, time: str) -> list[Problem]:
    """Problems of an operator with one table of these columns, in no particular order.

    Args:
        plan: What the operator does.
        schema: Kinds of columns by name.
        time: The column that holds the time.
    """
    if isinstance(plan, JoinPlan):
        problems = check_sides(plan, schema, schema, time)
        side = schema.get(SIDE)
        if side is not None and side.kind not in (Kind.STRING, Kind.NULL):
            message = f"the column {SIDE} of a join's events is {side.kind.value}"
            problems.append(Problem("TW317", message, 'it says "left" or "right"; otherwise rename it'))
        return problems
    problems = check_time(schema, time)
    if isinstance(plan, FilterPlan):
        _check_condition(plan.condition, lambda path, span: find_column(schema, path, span, problems), problems)
        return problems
    problems += _check_columns(plan.keys, schema, "be a key")
    problems += check_order(plan.order_by, schema)
    problems += _check_aggregates(plan, schema)
    names = (*plan.keys, *WINDOW_COLUMNS, time, *output_names(plan))
    return problems + _check_twice(names, "rename an aggregate with AS")


def check_sides(plan: JoinPlan, left: Schema, right: Schema, time: str) -> list[Problem]:
    """Problems of a join with two tables of these columns.

    Args:
        plan: What the join does.
        left: Kinds of the left table's columns by name.
        right: Those of the right one.
        time: The column that holds the time, in both.
    """
    problems = check_time(left, time)
    same = left is right
    for schema in (left,) if same else (left, right):
        problems += check_time(schema, time) if schema is right and not same else []
        problems += _check_columns(plan.keys, schema, "be a key")
        problems += check_order(plan.order_by, schema)
    if not same:
        problems += _check_alike((time, *plan.keys), left, right)
    sides = {"left": left, "right": right}

    def column(path: Path, span: Span | None) -> ColumnType | None:
        if len(path) < 2 or path[0] not in sides:
            message = f"{'.'.join(path)} is of neither side"
            problems.append(problem_at(span, "TW203", message, f"write left.{path[-1]} or right.{path[-1]}"))
            return None
        return find_column(sides[path[0]], path[1:], span, problems)

    if plan.condition is not None:
        _check_condition(plan.condition, column, problems)
    shown = [f"{side}_{name}" for side, schema in sides.items() for name in schema if name not in plan.keys]
    return problems + _check_twice((time, *plan.keys, *shown), "rename the column of a table")


def check_order(names: Iterable[str], schema: Schema) -> list[Problem]:
    """Problems of columns that are to order events."""
    return _check_columns(names, schema, "order events")


def check_time(schema: Schema, time: str) -> list[Problem]:
    """Whether there is a column of times."""
    if time not in schema:
        return [missing_time(schema, time)]
    if schema[time].kind not in TIME_KINDS:
        message = f"the time column {time} is {schema[time].kind.value}"
        return [Problem("TW303", message, time_hint(schema[time]))]
    return []


def _check_condition(condition: st.Expression, column: _Column, problems: list[Problem]) -> None:
    kind = ExpressionTypes(column, problems).kind_of(_of_one_row(condition))
    if kind not in (None, Kind.BOOLEAN, Kind.NULL):
        message = f"{print_expression(condition)} is {kind.value if kind else ''}, not a condition"
        problems.append(problem_at(condition.span, "TW306", message, "compare it with something"))


def _of_one_row(condition: st.Expression) -> st.Expression:
    """Expressions of trend queries name the variable first; here there is none."""
    if isinstance(condition, st.Attribute):
        return st.Attribute(("", *condition.names), span=condition.span)
    if isinstance(condition, st.Calculated):
        return st.Calculated(_of_one_row(condition.expression), "", span=condition.span)
    return cast("st.Expression", st.copy_node(condition, _of_one_row, condition.span))


def _check_columns(names: Iterable[str], schema: Schema, what: str) -> list[Problem]:
    problems: list[Problem] = []
    for name in names:
        found = find_column(schema, (name,), None, problems)
        if found is not None and found.kind in (Kind.COLLECTION, Kind.OTHER):
            message = f"{name} is {found.kind.value} and cannot {what}"
            problems.append(Problem("TW307", message, "use a column with a single value"))
    return problems


def _check_aggregates(plan: AggregatePlan, schema: Schema) -> list[Problem]:
    problems: list[Problem] = []

    def column(path: Path, span: Span | None) -> ColumnType | None:
        return find_column(schema, path, span, problems)

    for output in plan.outputs:
        if not isinstance(output.value, st.Aggregate):
            ExpressionTypes(column, problems).kind_of(_of_one_row(output.value))
    aggregates = [node for output in plan.outputs for node in output.value.walk() if isinstance(node, st.Aggregate)]
    for value in dict.fromkeys(aggregates):
        if value.argument is None:
            continue
        found = find_column(schema, value.argument.names, value.span, problems)
        allowed = {"SUM": _NUMBERS, "AVG": _NUMBERS, "MIN": _ORDERED, "MAX": _ORDERED}.get(value.function)
        if found is not None and allowed is not None and found.kind not in (*allowed, Kind.NULL):
            message = f"{print_expression(value)} is asked for, and {value.argument.names[-1]} is {found.kind.value}"
            problems.append(problem_at(value.span, "TW304", message, "ask for COUNT of it, or take another column"))
    return problems


def _check_alike(names: Sequence[str], left: Schema, right: Schema) -> list[Problem]:
    """Whether values of both sides can be equal at all."""
    problems = []
    for name in names:
        kinds = [schema[name] for schema in (left, right) if name in schema]
        if len(kinds) < 2:
            continue
        shown = [found.kind.value for found in kinds]
        hint = "give both sides the same type"
        if {found.zoned for found in kinds} == {True, False}:
            # Which moments those without a zone are, every place would answer in its own way.
            shown = ["a timestamp with a zone" if found.zoned else "a timestamp without a zone" for found in kinds]
            hint = "cast one of them, so that both have a zone or none has"
        elif kinds[0].kind is kinds[1].kind or Kind.NULL in (found.kind for found in kinds):
            continue
        problems.append(Problem("TW305", f"{name} is {shown[0]} on the left and {shown[1]} on the right", hint))
    return problems


def _check_twice(names: Sequence[str], hint: str) -> list[Problem]:
    twice = sorted({name for name in names if names.count(name) > 1})
    return [Problem("TW214", f"two columns of the result are called {name}", hint) for name in twice]
