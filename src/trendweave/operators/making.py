"""Operators from what users write: each is checked as far as that is possible without events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from trendweave.errors import PlanningError, Problem, raise_problems
from trendweave.language import syntax_tree as st
from trendweave.language.operator_texts import read_condition, read_outputs
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import problem_at, without_places
from trendweave.operators.operator import Operator
from trendweave.operators.texts import aggregate_text, choose_window, filter_text, join_text, read_window
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan, Window, output_name
from trendweave.queries import Query, check_bound, query

_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")
#: What stands for more than one row, or for rows beside one.
_OF_TRENDS = (st.Aggregate, st.NextAttribute, st.PreviousAttribute, st.Equivalence, st.During)


def filter(condition: str) -> Operator:
    """A filter: the events for which a condition is true, with all columns, in order of time.

    Args:
        condition: Such as `temperature > 80 AND NOT broken`. If it is NULL, the event is dropped.

    Raises:
        LanguageError: The condition cannot be parsed.
        PlanningError: It is not a condition on one event.
    """
    found = read_condition(_as_text(condition, "condition"))
    _check_one_row(found, condition)
    plain = cast("st.Expression", without_places(found))
    return Operator(FilterPlan(found, filter_text(plain)), condition)


def window_aggregate(
    aggregates: str,
    within: str | None = None,
    slide: str | None = None,
    rows: int | None = None,
    slide_rows: int | None = None,
    keys: str | Sequence[str] | None = (),
    order_by: str | Sequence[str] | None = (),
) -> Operator:
    """A window aggregate: one row per window (and key) with aggregates of its events.

    Args:
        aggregates: Such as `AVG(temperature) AS mean, COUNT(*)`: COUNT, SUM, AVG, MIN and MAX.
        within: The length of windows of time, such as `10 seconds`. Windows start at multiples of `slide`, counted from
            1970; there is a row for each window with an event.
        slide: The slide of the window; by default its length (tumbling windows).
        rows: Instead of `within`, the number of events of a window. There is a row for each full window.
        slide_rows: The slide in events; by default `rows` (tumbling windows).
        keys: Key columns: each combination of values is a separate stream with its own windows.
        order_by: Columns that order events with the same timestamp.

    Raises:
        LanguageError: Aggregates or a duration cannot be parsed.
        PlanningError: The arguments cannot be combined.
    """
    outputs = read_outputs(_as_text(aggregates, "aggregates"))
    window = choose_window(within, slide, rows, slide_rows)
    return make_aggregate(outputs, window, _names(keys, "keys"), _names(order_by, "order_by"), aggregates)


def make_aggregate(
    outputs: tuple[st.Output, ...], window: Window, keys: tuple[str, ...], order_by: tuple[str, ...], source: str
) -> Operator:
    """An aggregate of parts that were read; `source` is the text that their places are in."""
    problems = []
    for output in outputs:
        problems += _check_output(output.value)
        if not any(isinstance(node, st.Aggregate) for node in output.value.walk()) and not problems:
            message = f"{print_expression(output.value)} is not an aggregate"
            problems.append(problem_at(output.value.span, "TW282", message, "write for example AVG(price) AS mean"))
    names = [output_name(output) for output in outputs]
    twice = sorted({name for name in names if names.count(name) > 1})
    problems += [Problem("TW214", f"two aggregates are called {name}", "rename one with AS") for name in twice]
    raise_problems(problems, source)
    plan = AggregatePlan(outputs, window, keys, order_by, aggregate_text(outputs, window, keys, order_by))
    return Operator(plan, source)


def window_join(
    condition: str | None = None,
    *,
    left: str | None = None,
    right: str | None = None,
    keys: str | Sequence[str] | None = (),
    order_by: str | Sequence[str] | None = (),
) -> Operator:
    """A window join: each event is paired with the events of the other side's active window, one row per pair.

    Args:
        condition: A condition on both sides, such as `abs(left.x - right.x) <= 0.1`; without it every pair is a row.
        left: The window over the left side, which events of the right side are compared with: `10 seconds`,
            `100 rows`, `10 seconds slide 1 second`, or `100 rows slide 10 rows`.
        right: The window over the right side. Both are required.
        keys: Only events with equal values in these columns are paired; each key has its own windows.
        order_by: Columns that order events with the same timestamp.

    Raises:
        LanguageError: The condition or a window cannot be parsed.
        PlanningError: A window is missing, or the arguments cannot be combined.
    """
    found = None if condition is None else read_condition(_as_text(condition, "condition"))
    windows = read_window(left, "left"), read_window(right, "right")
    return make_join(found, *windows, _names(keys, "keys"), _names(order_by, "order_by"), condition or "")


def make_join(
    condition: st.Expression | None,
    left: Window,
    right: Window,
    keys: tuple[str, ...],
    order_by: tuple[str, ...],
    source: str,
) -> Operator:
    """A join of parts that were read; `source` is the text that their places are in."""
    if condition is not None:
        _check_one_row(condition, source)
    plan = JoinPlan(condition, left, right, keys, order_by, join_text(condition, left, right, keys, order_by))
    return Operator(plan, source)


def match(text: str | Query) -> Operator:
    """A query as an operator: its rows are those of the query.

    If another operator follows in a chain, its rows need a time column, such as `LAST(S.time) AS time`.

    Args:
        text: A query of any kind, or its text.

    Raises:
        LanguageError: The text cannot be parsed.
        PlanningError: The query has no meaning.
    """
    found = text if isinstance(text, Query) else query(_as_text(text, "query"))
    check_bound(found)
    return Operator(found, found.source)


def _check_output(value: st.Expression) -> list[Problem]:
    """An aggregate, or something that is computed of aggregates alone."""
    if isinstance(value, st.Aggregate):
        if value.distinct or value.function not in _FUNCTIONS:
            message = f"{print_expression(value)} is none of {', '.join(_FUNCTIONS)}"
            return [problem_at(value.span, "TW282", message, "write for example AVG(price) AS mean")]
        if value.argument is None and value.function != "COUNT":
            message = f"{value.function} needs a column"
            return [problem_at(value.span, "TW213", message, f"write {value.function}(price)")]
        return []
    if isinstance(value, st.Attribute | st.NextAttribute | st.PreviousAttribute | st.Equivalence):
        message = f"{print_expression(value)} describes one event, but a row covers many"
        return [problem_at(value.span, "TW282", message, "write for example MAX of it, or make it a key")]
    return [problem for child in value.children() for problem in _check_output(cast("st.Expression", child))]


def _as_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        message = f"{what} is a text, not {type(value).__name__}"
        raise PlanningError([Problem("TW282", message, "write it in quotes")])
    return value


def _names(names: str | Iterable[str] | None, what: str) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) else tuple(names or ())
    for name in found:
        if not isinstance(name, str) or not name:
            message = f"{what} are names of columns, and {name!r} is none"
            raise PlanningError([Problem("TW282", message, "write for example keys=['machine']")])
    return tuple(dict.fromkeys(found))


def _check_one_row(condition: st.Expression, source: str) -> None:
    problems = []
    for node in condition.walk():
        if isinstance(node, _OF_TRENDS):
            message = f"{print_expression(node)} describes several events, but the condition is on one"
            problems.append(problem_at(node.span, "TW282", message, "use only columns of the event"))
    raise_problems(problems, source)
