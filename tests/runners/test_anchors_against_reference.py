"""Conditions on earlier events of a trend against the reference twin: random queries on random streams."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import shown_text, trend_rows
from tests.runners.forced import run_forced
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import PLAIN, counted
from tests.runners.test_trends_against_reference import planned as planned_trends


@given(queries_and_streams(empty=False, anchors=True))
@examples(80)
def test_aggregates(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))


@given(queries_and_streams(empty=False, anchors=True, negation=True))
@examples(50)
def test_aggregates_with_negation(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))


@given(queries_and_streams(empty=False, anchors=True), hs.data())
@examples(60)
def test_every_way_of_summing_gives_the_same_rows(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    expected = rows(query, events)
    asked = planned(query)
    for way in ("general", "scan"):
        table = table_of(data.draw(hs.permutations(events)))
        cut = data.draw(hs.integers(0, len(events)))
        chunked = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
        found = run_forced(asked, chunked, way)
        assert_same_rows(expected, rows_of(found), f"{way}: {text(query)}")


@given(queries_and_streams(empty=False, conjunction=False, moving=False, anchors=True))
@examples(60)
def test_trends(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    for returned, complete in (("TRENDS(x, s)", False), ("COMPLETE TRENDS(x, s)", True)):
        asked = planned_trends(shown_text(query, returned))
        found = counted(rows_of(asked.run(table_of(events))))
        assert found == counted(trend_rows(query, events, PLAIN, complete)), str(asked)
