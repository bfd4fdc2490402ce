"""The features of matches crossed with each other, against the reference twin: anchors, choices, conditions on whole
matches, complete trends, sessions, lists and aggregates; on a table and piece by piece."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import crossed_cases, groups_of_beginnings
from tests.reference.trend_rows import shown_text, trend_rows
from tests.runners.pieces import in_pieces
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import PLAIN, counted
from tests.runners.test_trends_against_reference import planned as list_planned

Case = tuple[Query, list[dict]]


def list_text(query: Query) -> str:
    return shown_text(query, f"{'COMPLETE ' if query.complete else ''}TRENDS(x, s)")


@given(crossed_cases(lists=False))
@examples(60)
def test_aggregates(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))


@given(crossed_cases(lists=True))
@examples(60)
def test_lists(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    asked = list_planned(list_text(query))
    assert counted(rows_of(asked.run(table_of(events)))) == counted(trend_rows(query, events, PLAIN)), str(asked)


@given(crossed_cases(lists=False, windowed=True), hs.data())
@examples(50)
def test_aggregates_piece_by_piece(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    assert_same_rows(rows(query, events), in_pieces(planned(query), events, data), text(query))


@given(crossed_cases(lists=True, windowed=True), hs.data())
@examples(50)
def test_lists_piece_by_piece(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    asked = list_planned(list_text(query))
    assert counted(in_pieces(asked, events, data)) == counted(trend_rows(query, events, PLAIN)), str(asked)


@given(groups_of_beginnings(lists=False), groups_of_beginnings(lists=False, windowed=True), hs.data())
@examples(60)
def test_groups_by_what_only_begins(case: Case, windowed: Case, data: hs.DataObject) -> None:
    """Under skip-till-next-match, where none of the events that have the groups is ever skipped."""
    query, events = case
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))
    query, events = windowed
    assert_same_rows(rows(query, events), in_pieces(planned(query), events, data), text(query))


@given(groups_of_beginnings(lists=True), groups_of_beginnings(lists=True, windowed=True, choice=True), hs.data())
@examples(60)
def test_lists_of_groups_by_what_only_begins(case: Case, windowed: Case, data: hs.DataObject) -> None:
    query, events = case
    asked = list_planned(list_text(query))
    assert counted(rows_of(asked.run(table_of(events)))) == counted(trend_rows(query, events, PLAIN)), str(asked)
    query, events = windowed
    asked = list_planned(list_text(query))
    assert counted(in_pieces(asked, events, data)) == counted(trend_rows(query, events, PLAIN)), str(asked)


def test_contiguous_trends_in_sessions() -> None:
    """Results are written after the times of the rows are gone; those of sessions stay."""
    events = [{"time": time, "type": kind, "x": time, "s": "p"} for time, kind in ((1, "B"), (2, "C"), (7, "B"))]
    query = "RETURN TRENDS(x) PATTERN B SEMANTICS contiguous WITHIN SESSION 3 seconds"
    for choice in ("", "AFTER MATCH SKIP PAST LAST EVENT", "LONGEST PER START"):
        found = rows_of(trendweave.query(f"{query} {choice}").run(table_of(events)))
        assert [(row["window_start"], row["window_end"]) for row in found] == [(1, 5), (7, 10)]
