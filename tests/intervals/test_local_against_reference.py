"""The local runner gives the rows of the reference twin."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from tests.intervals.engines import as_table, full_text, planned
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.intervals.query import Query
from tests.reference.intervals.results import rows
from tests.reference.intervals.streams import queries_and_events, queries_and_intervals


def check(query: Query, events: list[dict[str, Any]]) -> None:
    engine = planned(query)
    expected = rows(query, events)
    if engine is None:
        assert expected == []
        return
    result = engine.run(as_table(query, events))
    assert result.schema.names == engine.schema(as_table(query, [])).names
    assert_same_rows(expected, result.to_pylist(), context=full_text(query))


@examples(300)
@given(queries_and_events())
def test_queries_over_events(drawn: tuple[Query, list[dict[str, Any]]]) -> None:
    check(*drawn)


@examples(150)
@given(queries_and_intervals())
def test_queries_over_given_intervals(drawn: tuple[Query, list[dict[str, Any]]]) -> None:
    check(*drawn)
