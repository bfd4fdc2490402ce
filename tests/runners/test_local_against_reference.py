"""The in-process runner against the reference twin: random queries on random streams, all features crossed."""

from __future__ import annotations

from hypothesis import assume, given, settings

import trendweave
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.runners.reference_tables import rows_of, table_of
from trendweave.errors import PlanningError

#: What the planner refuses although it is legal, with the reason in its error.
REFUSED = {"TW206", "TW207", "TW209", "TW223", "TW211"}


def planned(query: Query) -> trendweave.Query:
    try:
        return trendweave.query(text(query))
    except PlanningError as refused:
        assert {problem.code for problem in refused.problems} <= REFUSED, refused  # noqa: PT017
        assume(False)
        raise


@given(queries_and_streams(negation=False, empty=False))
@settings(max_examples=300)
def test_queries_without_negation(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))


@given(queries_and_streams(negation=True, empty=False))
@settings(max_examples=200)
def test_queries_with_negation(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))
