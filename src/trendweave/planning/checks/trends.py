"""Does a query fit a table? Unknown columns, values that cannot be compared, time and type columns: all found before
anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from trendweave import events
from trendweave.errors import Problem, near_names
from trendweave.events import ColumnType, Kind, Schema
from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration_text
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.planning.expression_types import ExpressionTypes
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.matches.conditions import spell_out
from trendweave.planning.outputs import EVENT_FIELDS, is_length, map_leaves, resolve_names
from trendweave.planning.plan import MovingWindow, Path, Plan, SessionWindow, SlidingWindow
from trendweave.planning.predicates import split_key
from trendweave.planning.variables import Variables

TIME_KINDS = (Kind.TIMESTAMP, Kind.INTEGER, Kind.FLOAT)
_UNITS = {10**9: "seconds", 10**6: "milliseconds", 10**3: "microseconds", 1: "nanoseconds"}
#: How numbers of another type become such as are read.
CAST = "cast it to a whole number: astype('int64') of pandas, cast('bigint') of Spark"
#: A clause of a query, and the length of time that it asks for, in nanoseconds.
Length = tuple[str, int]


def time_hint(found: ColumnType) -> str:
    """The hint where a column of times has another kind.

    Args:
        found: The type of the column.
    """
    if found.kind is Kind.STRING:
        return "give time_format='iso', or how times are written, such as time_format='%d.%m.%Y %H:%M:%S'"
    if found.kind is Kind.DATE:
        return "give time_format='iso', which takes a date as midnight of UTC"
    if found.kind is Kind.DECIMAL:
        return f"{CAST}, and give time_unit where it counts no seconds"
    return "use a timestamp or a number of seconds"


def missing_time(schema: Schema, time: str) -> Problem:
    """The problem of a table without the column of times. One column of timestamps is most likely the one.

    Args:
        schema: Kinds of columns by name.
        time: The name that it should have.
    """
    stamps = [name for name, found in schema.items() if found.kind is Kind.TIMESTAMP]
    hint = near_names(time, stamps if len(stamps) == 1 else schema) or "name it with time="
    if len(stamps) == 1 and not hint.startswith("did you mean"):
        hint += f'"{stamps[0]}", the one column of timestamps'
    return Problem("TW302", f"there is no time column {time}", hint)


def find_whole_lengths(plan: Plan | IntervalPlan) -> tuple[Length, ...]:
    """The lengths of time that must be whole numbers of what the time column counts.

    Args:
        plan: Of a query of trends or of intervals.
    """
    if isinstance(plan, IntervalPlan):
        if plan.within is None or plan.every is None:
            return ()
        return ("WITHIN", plan.within), ("EVERY", plan.every)
    match plan.window:
        case SlidingWindow(length=length, slide=slide):
            return ("WITHIN", length), ("SLIDE", slide)
        case SessionWindow(gap=gap):
            return (("WITHIN SESSION", gap),)
        case MovingWindow(length=length, by="last" | "first") if _waits(plan):
            # Rows have the time at which NOT at the end of a trend is certain.
            return (("WITHIN", length),)
    return ()


def check_lengths(lengths: Iterable[Length], schema: Schema, times: Iterable[str]) -> list[Problem]:
    """Problems of lengths of time that are finer than the time column.

    Args:
        lengths: See `find_whole_lengths`.
        schema: Kinds of columns by name.
        times: The columns that hold times, of which the finest counts; nothing is told where one is not known.
    """
    steps = [_find_step(schema[time]) if time in schema else None for time in times]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return []
    step = min(known)
    # A length that two clauses ask for is told once, of the first.
    asked = {length: what for what, length in reversed(tuple(lengths))}
    return [too_fine(what, length, step) for length, what in reversed(asked.items()) if length % step]


def too_fine(what: str, length: int, step: int) -> Problem:
    """The problem of a length of time that is finer than the time column.

    Args:
        what: The clause that asks for it.
        length: The length in nanoseconds.
        step: The nanoseconds in one step of the time column.
    """
    unit = _UNITS[step]
    message = f"{what} {duration_text(length)} is finer than the time column, which counts {unit}"
    return Problem("TW309", message, f"use whole {unit}, or cast the time column to a finer unit")


def _waits(plan: Plan) -> bool:
    return any(not end.guard.always_open for end in plan.template.ends)


def _find_step(found: ColumnType) -> int | None:
    """The nanoseconds in one step of a time column, where its type tells: numbers are seconds, and those with a
    fraction are read to the microsecond."""
    return {Kind.INTEGER: 10**9, Kind.FLOAT: 10**3}.get(found.kind, found.step)


_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)


def check_schema(query: st.QueryTree, plan: Plan, schema: Schema, time: str, type_: str | None) -> list[Problem]:
    """Problems of a sound query with a given table, in no particular order."""
    problems: list[Problem] = []
    _check_time_and_type(plan, schema, time, type_, problems)
    types = {variable.name: variable.type for variable in plan.variables}
    positive = frozenset(variable.name for variable in plan.variables if not variable.negated)
    variables = Variables(types, positive)
    query = spell_out(query, variables)

    def column(path: Path, span: Span | None) -> ColumnType | None:
        return find_column(schema, path, span, problems)

    for conjunct in query.where:
        if not isinstance(conjunct, st.Equivalence):
            _check_condition(conjunct, column, problems)
            for node in conjunct.walk():
                if isinstance(node, st.Aggregate):
                    _check_aggregate(node, column, problems)
    keys = [
        attribute
        for conjunct in query.where
        if isinstance(conjunct, st.Equivalence)
        for attribute in conjunct.attributes
    ]
    for attribute in (*keys, *query.group_by):
        found = column(split_key(attribute, variables)[1], attribute.span)
        if found is not None and found.kind is Kind.COLLECTION:
            message = f"{print_expression(attribute)} is a list or map and cannot be a key"
            problems.append(problem_at(attribute.span, "TW307", message, "use a column with a single value"))
    _check_outputs(query, plan, variables, column, problems)
    for attribute in query.returns.attributes if query.returns is not None else ():
        column(split_key(attribute, variables)[1], attribute.span)
    for shown in plan.shown:
        own = shown.path in ((time,), (type_,))
        if shown.name in EVENT_FIELDS and not own:
            message = f"an event that is shown has a field {shown.name} of its own"
            hint = f"rename the column {'.'.join(shown.path)}, or list what to show: TRENDS(...)"
            problems.append(Problem("TW313", message, hint))
    return problems


def find_column(schema: Schema, path: Path, span: Span | None, problems: list[Problem]) -> ColumnType | None:
    """The type of a column, possibly inside structs, or of what is calculated of columns; a problem and None where
    there is none."""
    if isinstance(path[0], st.CalculatedName):
        kinds = ExpressionTypes(lambda inner, place: find_column(schema, inner, place, problems), problems)
        kind = kinds.kind_of(path[0].of(""))
        return None if kind is None else ColumnType(kind)
    found = events.find_column(schema, path)
    if isinstance(found, Problem):
        problems.append(problem_at(span, found.code, found.message, found.hint))
        return None
    return found


def _check_time_and_type(plan: Plan, schema: Schema, time: str, type_: str | None, problems: list[Problem]) -> None:
    if time not in schema:
        problems.append(missing_time(schema, time))
    elif schema[time].kind not in TIME_KINDS:
        message = f"the time column {time} is {schema[time].kind.value}"
        problems.append(Problem("TW303", message, time_hint(schema[time])))
    problems += check_lengths(find_whole_lengths(plan), schema, (time,))
    if type_ is None:
        named = sorted({variable.type for variable in plan.variables if variable.type is not None})
        if len(named) > 1:
            message = f"type=None needs a pattern with one event type; this one has {', '.join(named)}"
            problems.append(Problem("TW302", message, "name the column that holds the type with type="))
    elif type_ not in schema:
        hint = near_names(type_, schema) or "name it with type=, or type=None if all rows have one type"
        problems.append(Problem("TW302", f"there is no type column {type_}", hint))
    elif schema[type_].kind is not Kind.STRING:
        message = f"the type column {type_} is {schema[type_].kind.value}"
        problems.append(Problem("TW303", message, "use a string column"))


def _check_condition(
    conjunct: st.Expression, column: Callable[[Path, Span | None], ColumnType | None], problems: list[Problem]
) -> None:
    kind = ExpressionTypes(column, problems).kind_of(conjunct)
    if kind not in (None, Kind.BOOLEAN, Kind.NULL):
        message = f"{print_expression(conjunct)} is {kind.value if kind else ''}, not a condition"
        problems.append(problem_at(conjunct.span, "TW306", message, "compare it with something"))


def _check_outputs(
    query: st.QueryTree,
    plan: Plan,
    variables: Variables,
    column: Callable[[Path, Span | None], ColumnType | None],
    problems: list[Problem],
) -> None:
    """What RETURN, HAVING and ORDER BY aggregate and compute."""
    outputs = query.returns.outputs if query.returns is not None else ()
    having = resolve_names(query, query.having, plan.groups)
    order_by = resolve_names(query, tuple(item.value for item in query.order_by), plan.groups)
    told = [output.value for output in outputs]
    seen = set[st.Expression]()
    for node in (node for value in (*told, *having, *order_by) for node in value.walk()):
        if isinstance(node, st.Aggregate) and node not in seen:
            seen.add(node)
            _check_aggregate(node, column, problems)

    def of_row(node: st.Attribute | st.Aggregate) -> st.Expression:
        """Grouping attributes may stand without a variable, where a type of an expression expects one."""
        if isinstance(node, st.Aggregate):
            return node
        grouped = split_key(node, variables) in {(group.variable, group.path) for group in plan.groups}
        if plan.returns == "each" and is_length(node) and not grouped:
            return st.Aggregate("COUNT", None, span=node.span)  # a whole number, too
        return st.Attribute(("", *split_key(node, variables)[1]), span=node.span)

    for value in told:
        if not isinstance(value, st.Attribute | st.Aggregate):
            kind = ExpressionTypes(column, problems).kind_of(map_leaves(value, of_row))
            if kind is Kind.NULL:
                message = f"{print_expression(value)} is always NULL"
                problems.append(problem_at(value.span, "TW306", message, "leave it out"))
    for condition in having:
        _check_condition(map_leaves(condition, of_row), column, problems)
    for value in order_by:
        kind = ExpressionTypes(column, problems).kind_of(map_leaves(value, of_row))
        if kind in (Kind.STRUCT, Kind.COLLECTION, Kind.OTHER):
            message = f"{print_expression(value)} is {kind.value}, which has no order"
            problems.append(problem_at(value.span, "TW306", message, "order by a number, a text or a time"))


def _check_aggregate(aggregate: st.Aggregate, column: Callable[..., Any], problems: list[Problem]) -> None:
    if aggregate.argument is None or is_length(aggregate.argument):
        return
    if aggregate.function in ("COUNT", "FIRST", "LAST", "NTH", "COLLECT_LIST", "COLLECT_SET"):
        if len(aggregate.argument.names) > 1:
            found = column(aggregate.argument.names[1:], aggregate.argument.span)
            told_apart = aggregate.distinct or aggregate.function == "COLLECT_SET"
            if told_apart and found is not None and found.kind in (Kind.COLLECTION, Kind.STRUCT):
                message = f"{print_expression(aggregate)} needs single values; the column is {found.kind.value}"
                problems.append(problem_at(aggregate.span, "TW304", message, "take a field of it, or another column"))
        return
    found = column(aggregate.argument.names[1:], aggregate.argument.span)
    ordered = aggregate.function in ("MIN", "MAX")
    allowed = (*_NUMBERS, Kind.TIMESTAMP, Kind.DATE) if ordered else _NUMBERS
    if found is not None and found.kind not in (*allowed, *_nothing(aggregate)):
        what = "it" if isinstance(aggregate.argument, st.Calculated) else "the column"
        message = f"{print_expression(aggregate)} needs a number; {what} is {found.kind.value}"
        hint = "MIN and MAX also take timestamps and dates" if not ordered else "use a number, timestamp or date"
        if found.kind is Kind.NULL:
            hint = "nothing tells its type, because all values are NULL; cast the column to double"
        problems.append(problem_at(aggregate.span, "TW304", message, hint))


def _nothing(aggregate: st.Aggregate) -> tuple[Kind, ...]:
    """What is calculated of columns that hold nothing yet is NULL."""
    return (Kind.NULL,) if isinstance(aggregate.argument, st.Calculated) else ()
