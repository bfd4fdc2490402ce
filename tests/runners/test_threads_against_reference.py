"""Random queries on all cores against the reference twin: aggregates, lists of trends and intervals; even the fewest
rows are dealt out to threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from tests.features.places import dealing_everything_out
from tests.intervals.engines import as_table, full_text
from tests.intervals.engines import planned as interval_planned
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.intervals.query import Query as IntervalQuery
from tests.reference.intervals.results import rows as interval_rows
from tests.reference.intervals.streams import queries_and_events
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import crossed_cases
from tests.reference.trend_rows import trend_rows
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_crossed_against_reference import list_text
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import PLAIN, counted
from tests.runners.test_trends_against_reference import planned as list_planned


@pytest.fixture(scope="module", autouse=True)
def threads_for_everything() -> Iterator[None]:
    with dealing_everything_out():
        yield


@given(crossed_cases(lists=False))
@examples(25)
def test_aggregates(case: tuple[Query, list[dict[str, Any]]]) -> None:
    query, events = case
    found = planned(query).run(table_of(events), device="threads")
    assert_same_rows(rows(query, events), rows_of(found), text(query))


@given(crossed_cases(lists=True))
@examples(25)
def test_lists(case: tuple[Query, list[dict[str, Any]]]) -> None:
    query, events = case
    asked = list_planned(list_text(query))
    found = asked.run(table_of(events), device="threads")
    assert counted(rows_of(found)) == counted(trend_rows(query, events, PLAIN)), str(asked)


@given(queries_and_events())
@examples(25)
def test_intervals(case: tuple[IntervalQuery, list[dict[str, Any]]]) -> None:
    query, events = case
    asked = interval_planned(query)
    if asked is not None:
        found = asked.run(as_table(query, events), device="threads")
        assert_same_rows(interval_rows(query, events), found.to_pylist(), full_text(query))
