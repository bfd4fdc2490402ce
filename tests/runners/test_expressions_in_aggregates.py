"""Aggregates of expressions against the reference twin: those of a column that holds what the expression gives.

The twin aggregates a column `v` that is calculated here event by event; the query under test names the expression
instead, in all of its aggregates.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import variable_types
from tests.reference.query import Aggregate, Query, output_text, text
from tests.reference.results import rows
from tests.reference.scalars import calculate, first_true, holds
from tests.reference.streams import calculations, crossed_cases, queries_and_streams
from tests.reference.trend_rows import each_rows, shown_text
from tests.runners.pieces import in_pieces
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_calculated_against_reference import without_dust
from tests.runners.test_trends_against_reference import planned

Event = dict[str, Any]
#: Expressions of a variable V, and what they give of an event.
EXPRESSIONS: dict[str, Callable[[Event], Any]] = {
    "V.x * V.x - 3": lambda event: calculate(calculate(event["x"], "*", event["x"]), "-", 3),
    "V.y / V.x": lambda event: calculate(event["y"], "/", event["x"]),
    "CASE WHEN V.s = 'a' THEN 1 ELSE 0 END": lambda event: first_true([(holds(event["s"], "=", "a"), 1)], 0),
    "CASE WHEN V.x > 1 THEN V.x END": lambda event: first_true([(holds(event["x"], ">", 1), event["x"])]),
    "COALESCE(V.x, 9)": lambda event: 9 if event["x"] is None else event["x"],
}
WHOLE = [one for one in sorted(EXPRESSIONS) if "/" not in one]
#: Of aggregates, what the planner refuses besides what it refuses of lists.
MORE_REFUSED = frozenset({"TW211", "TW234"})
expressions = hs.sampled_from(sorted(EXPRESSIONS))


def of_column(node: Any) -> Any:
    """The query with `v` in its aggregates wherever numbers are aggregated; `F[2].x` is one event's column."""
    if isinstance(node, Aggregate):
        numbers = node.attribute in ("x", "y") and not node.plain and node.function != "NTH"
        return replace(node, attribute="v") if numbers else node
    if isinstance(node, tuple):
        return tuple(map(of_column, node))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    return replace(node, **{field.name: of_column(getattr(node, field.name)) for field in fields(node)})


def named(outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Aggregates of expressions are named by their text, which the twin does not know; so by what they were before."""
    return tuple(replace(one, name=one.column) if isinstance(one, Aggregate) else one for one in outputs)


def of_columns(query: Query) -> Query:
    return of_column(replace(query, aggregates=named(query.aggregates)))


def of_expression(written: str, expression: str) -> str:
    return re.sub(r"\b(\w+)\.v\b", lambda found: re.sub(r"\bV\.", f"{found[1]}.", expression), written)


def with_values(events: list[Event], expression: str) -> list[Event]:
    return [event | {"v": EXPRESSIONS[expression](event)} for event in events]


@given(queries_and_streams(empty=False, conjunction=False, calculated=True), expressions)
@examples(80)
def test_aggregates_of_expressions(case: tuple[Query, list[Event]], expression: str) -> None:
    query, events = of_columns(case[0]), case[1]
    written = of_expression(text(query), expression)
    expected = rows(query, with_values(events, expression))
    found = rows_of(planned(written, MORE_REFUSED).run(table_of(events)))
    assert_same_rows(without_dust(expected), without_dust(found), written)


@given(crossed_cases(lists=False, windowed=True, calculated=True), expressions, hs.data())
@examples(60)
def test_in_pieces(case: tuple[Query, list[Event]], expression: str, data: hs.DataObject) -> None:
    query, events = of_columns(case[0]), case[1]
    written = of_expression(text(query), expression)
    expected = rows(query, with_values(events, expression))
    found = in_pieces(planned(written, MORE_REFUSED), events, data)
    assert_same_rows(without_dust(expected), without_dust(found), written)


@given(crossed_cases(lists=True), expressions, hs.data())
@examples(60)
def test_of_each_trend(case: tuple[Query, list[Event]], expression: str, data: hs.DataObject) -> None:
    """Conditions on whole matches speak of the expression as well."""
    query, events = of_columns(case[0]), case[1]
    # Among events with the same timestamp a match is chosen by the returned columns, which are others here.
    times = [event["time"] for event in events]
    assume((query.after_match is None and query.per_start is None) or len(set(times)) == len(times))
    variables = sorted(variable_types(query.pattern))
    outputs = of_column(named(data.draw(calculations(variables, of_one=True))))
    told = f"{'COMPLETE ' if query.complete else ''}EACH {', '.join(map(output_text, outputs))}"
    written = of_expression(shown_text(query, told), expression)
    expected = each_rows(query, with_values(events, expression), outputs)
    found = rows_of(planned(written).run(table_of(events)))
    assert_same_rows(without_dust(expected), without_dust(found), written)


@given(queries_and_streams(empty=False, conjunction=False, calculated=True), hs.permutations(WHOLE))
@examples(30)
def test_side_by_side(case: tuple[Query, list[Event]], chosen: list[str]) -> None:
    """One query with several expressions, as a workload: what is shared keeps them apart."""
    query, events = of_columns(case[0]), case[1]
    asked = {f"q{number}": planned(of_expression(text(query), one), MORE_REFUSED) for number, one in enumerate(chosen)}
    workload = trendweave.workload(asked)
    found = workload.run(table_of(events))
    for number, one in enumerate(chosen):
        expected = rows(query, with_values(events, one))
        assert_same_rows(without_dust(expected), without_dust(rows_of(workload.rows(found, f"q{number}"))), one)
