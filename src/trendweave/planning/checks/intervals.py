"""Does an interval query fit a table?"""

from __future__ import annotations

from typing import cast

from trendweave.errors import Problem, near_names
from trendweave.events import ColumnType, Kind, Schema
from trendweave.language import syntax_tree as st
from trendweave.language.interval_tree import IntervalColumns, IntervalTree
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.planning.checks.trends import (
    TIME_KINDS,
    check_lengths,
    find_column,
    find_whole_lengths,
    missing_time,
    time_hint,
)
from trendweave.planning.expression_types import ExpressionTypes
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Path

_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)


def check_interval_schema(
    tree: IntervalTree, plan: IntervalPlan, schema: Schema, time: str, type_: str | None
) -> list[Problem]:
    times = (time,) if plan.intervals is None else (plan.intervals.start, plan.intervals.end)
    problems = check_lengths(find_whole_lengths(plan), schema, times)
    if plan.intervals is not None:
        _check_interval_columns(plan.intervals, schema, problems)
    else:
        _check_time_and_type(plan, schema, time, type_, problems)

    def column(path: Path, span: Span | None) -> ColumnType | None:
        return find_column(schema, path, span, problems)

    for situation in tree.situations:
        if situation.condition is not None:
            kind = ExpressionTypes(column, problems).kind_of(_of_one_event(situation.condition))
            if kind not in (None, Kind.BOOLEAN, Kind.NULL):
                message = f"{print_expression(situation.condition)} is {kind.value if kind else ''}, not a condition"
                problems.append(problem_at(situation.condition.span, "TW306", message, "compare it with something"))
    for attribute in tree.partition_by:
        found = column(attribute.names, attribute.span)
        if found is not None and found.kind is Kind.COLLECTION:
            message = f"{print_expression(attribute)} is a list or map and cannot be a key"
            problems.append(problem_at(attribute.span, "TW307", message, "use a column with a single value"))
    for output in tree.returns.outputs if tree.returns is not None else ():
        value = output.value
        if isinstance(value, st.Aggregate) and value.argument is not None and len(value.argument.names) > 1:
            _check_aggregate(value, column(value.argument.names[1:], value.span), problems)
    return problems


def _of_one_event(condition: st.Expression) -> st.Expression:
    """Expressions of trend queries name the variable first; a condition of a situation speaks of one event."""
    if isinstance(condition, st.Attribute):
        return st.Attribute(("", *condition.names), span=condition.span)
    return cast("st.Expression", st.copy_node(condition, _of_one_event, condition.span))


def _check_interval_columns(columns: IntervalColumns, schema: Schema, problems: list[Problem]) -> None:
    for role, name in (("start", columns.start), ("end", columns.end), ("name", columns.name)):
        if name not in schema:
            hint = near_names(name, schema) or "name the columns: FROM INTERVALS (start, end, name)"
            problems.append(problem_at(columns.span, "TW302", f"there is no {role} column {name}", hint))
            continue
        kind = schema[name].kind
        if role == "name" and kind is not Kind.STRING:
            message = f"the name column {name} is {kind.value}"
            problems.append(problem_at(columns.span, "TW303", message, "use a string column"))
        if role != "name" and kind not in TIME_KINDS:
            message = f"the {role} column {name} is {kind.value}"
            problems.append(problem_at(columns.span, "TW303", message, time_hint(schema[name])))
    both = [schema[name].kind for name in (columns.start, columns.end) if name in schema]
    if len(both) == 2 and (Kind.TIMESTAMP in both) and both[0] is not both[1]:
        message = f"{columns.start} and {columns.end} are {both[0].value} and {both[1].value}"
        problems.append(problem_at(columns.span, "TW303", message, "give both the same type"))


def _check_time_and_type(
    plan: IntervalPlan, schema: Schema, time: str, type_: str | None, problems: list[Problem]
) -> None:
    if time not in schema:
        problems.append(missing_time(schema, time))
    elif schema[time].kind not in TIME_KINDS:
        message = f"the time column {time} is {schema[time].kind.value}"
        problems.append(Problem("TW303", message, time_hint(schema[time])))
    if type_ is None:
        return
    if plan.source is None:
        hint = "name the type in the query: FROM CarSensors, or remove type= if all rows are events"
        problems.append(Problem("TW302", f"the query does not name a type of column {type_} it is about", hint))
    elif type_ not in schema:
        hint = near_names(type_, schema) or "name it with type=, or type=None if all rows have one type"
        problems.append(Problem("TW302", f"there is no type column {type_}", hint))
    elif schema[type_].kind is not Kind.STRING:
        message = f"the type column {type_} is {schema[type_].kind.value}"
        problems.append(Problem("TW303", message, "use a string column"))


def _check_aggregate(aggregate: st.Aggregate, found: ColumnType | None, problems: list[Problem]) -> None:
    if found is None or aggregate.function in ("COUNT", "FIRST", "LAST", "DURATION"):
        return
    ordered = aggregate.function in ("MIN", "MAX")
    allowed = (*_NUMBERS, Kind.TIMESTAMP, Kind.DATE, Kind.STRING, Kind.BOOLEAN) if ordered else _NUMBERS
    if found.kind not in allowed:
        message = f"{print_expression(aggregate)} needs a number; the column is {found.kind.value}"
        hint = "MIN and MAX also take other values that have an order" if not ordered else "use a number or a string"
        if found.kind is Kind.NULL:
            hint = "nothing tells its type, because all values are NULL; cast the column to double"
        problems.append(problem_at(aggregate.span, "TW304", message, hint))
