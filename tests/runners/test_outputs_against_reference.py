"""Computed outputs, HAVING, ORDER BY, LIMIT, STDDEV and distinct values against the reference twin, in process."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import variable_types
from tests.reference.query import Query, output_text, text
from tests.reference.ranking import assert_first_rows, assert_in_order
from tests.reference.results import ranked_rows, rows
from tests.reference.streams import calculations, queries_and_streams
from tests.reference.trend_rows import each_rows, shown_text
from tests.runners.reference_tables import rows_of, table_of
from trendweave.errors import PlanningError

#: What the planner refuses although it is legal, with the reason in its error.
REFUSED = {"TW206", "TW207", "TW209", "TW223", "TW211"}


def planned(written: str) -> trendweave.Query:
    try:
        return trendweave.query(written)
    except PlanningError as refused:
        assert {problem.code for problem in refused.problems} <= REFUSED, refused  # noqa: PT017
        assume(False)
        raise


@given(queries_and_streams(empty=False, conjunction=False, calculated=True))
@examples(60)
def test_computed_outputs(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(text(query)).run(table_of(events))), text(query))


@given(queries_and_streams(empty=False, conjunction=False, ordered=True))
@examples(60)
def test_ordered_rows(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    found = rows_of(planned(text(query)).run(table_of(events)))
    ranked = ranked_rows(query, events)
    assert_first_rows(ranked, found, query.limit, text(query))
    assert_in_order(ranked, found, text(query))


@given(queries_and_streams(empty=False, conjunction=False, lists=True), hs.data())
@examples(40)
def test_computed_outputs_of_each_trend(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    outputs = data.draw(calculations(sorted(variable_types(query.pattern))))
    assume(not any("COUNT(*)" in output_text(output) for output in outputs))
    written = shown_text(query, f"EACH {', '.join(map(output_text, outputs))}")
    assert_same_rows(each_rows(query, events, outputs), rows_of(planned(written).run(table_of(events))), written)
