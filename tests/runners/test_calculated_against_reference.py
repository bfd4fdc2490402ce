"""STDDEV, COUNT(DISTINCT ...), calculated outputs, HAVING, ORDER BY and LIMIT against the reference twin."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import variable_types
from tests.reference.query import (
    LENGTH,
    Aggregate,
    Arithmetic,
    Calculated,
    Constant,
    Moving,
    Query,
    Session,
    output_text,
    text,
)
from tests.reference.ranking import assert_first_rows, assert_in_order
from tests.reference.results import ranked_rows, rows
from tests.reference.streams import calculations, crossed_cases, orders
from tests.reference.trend_rows import ranked_each_rows, shown_text
from tests.runners.pieces import in_pieces
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import planned as list_planned

calculated, calculated_in_windows = (crossed_cases(lists=False, windowed=w, calculated=True) for w in (False, True))


def tells_sessions_apart(case: tuple[Query, list[dict]]) -> bool:
    """Rows of a session whose keys they do not show are not counted together (TW234)."""
    query, _ = case
    shown = {attribute.name for attribute in query.group_by}
    return not isinstance(query.window, Session) or all(a.name in shown for a in query.equivalence if not a.variable)


ordered, ordered_in_windows = (
    crossed_cases(lists=False, windowed=w, ordered=True).filter(tells_sessions_apart) for w in (False, True)
)


def without_dust(found: list[dict]) -> list[dict]:
    """The deviation of equal values may come out as the root of what rounding has left."""
    return [
        row | {"deviation": 0.0} if row.get("deviation") is not None and row["deviation"] < 1e-6 else row
        for row in found
    ]


@given(calculated)
@examples(80)
def test_calculated_outputs(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    found = rows_of(planned(query).run(table_of(events)))
    assert_same_rows(rows(query, events), without_dust(found), text(query))


@given(calculated_in_windows, hs.data())
@examples(50)
def test_calculated_outputs_piece_by_piece(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    assert_same_rows(rows(query, events), without_dust(in_pieces(planned(query), events, data)), text(query))


@given(ordered)
@examples(60)
def test_first_rows(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    found = rows_of(planned(query).run(table_of(events)))
    expected = ranked_rows(query, events)
    assert_first_rows(expected, found, query.limit, text(query))
    assert_in_order(expected, found, text(query))


@given(ordered_in_windows, hs.data())
@examples(80)
def test_first_rows_piece_by_piece(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    found = in_pieces(planned(query), events, data)
    assert_first_rows(ranked_rows(query, events), found, query.limit, text(query))


@given(crossed_cases(lists=True).filter(tells_sessions_apart), hs.data())
@examples(60)
def test_of_each_trend(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    variables = sorted(variable_types(query.pattern))
    outputs = (
        *data.draw(calculations(variables, of_one=True)),
        Calculated(Arithmetic(Aggregate(LENGTH), "+", Constant(1)), "n"),
    )
    limit, order_by = None, ()
    if data.draw(hs.booleans()):
        limit = data.draw(hs.sampled_from([1, 2, None]))
        order_by = data.draw(orders(variables, of_one=True))
    query = replace(query, order_by=order_by, limit=limit)
    # LIMIT chooses among trends of one time, which taken ones under WITHIN alone become known after (TW232).
    also_refused = frozenset({"TW232"}) if limit is not None and isinstance(query.window, Moving) else frozenset()
    asked = list_planned(
        shown_text(query, f"{'COMPLETE ' if query.complete else ''}EACH {', '.join(map(output_text, outputs))}"),
        also_refused,
    )
    found = without_dust(rows_of(asked.run(table_of(events))))
    assert_first_rows(ranked_each_rows(query, events, outputs), found, limit, str(asked))
