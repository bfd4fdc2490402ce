"""Trends one by one against the reference twin: random queries on random streams, all features crossed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Any
from unittest import mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.pattern import Event, Not, Or, Pattern, Repeat, Seq, variable_types
from tests.reference.query import Aggregate, Attribute, Moving, Query, Sliding, output_text
from tests.reference.streams import event_streams, queries_and_streams, values_of_one
from tests.reference.trend_rows import each_rows, named_attributes, shown_text, trend_rows
from tests.runners.reference_tables import rows_of, table_of
from trendweave.errors import PlanningError

#: What the planner refuses although it is legal, with the reason in its error.
REFUSED = {"TW206", "TW207", "TW209", "TW223", "TW231"}
PLAIN = (Attribute("x"), Attribute("s"))


def planned(written: str, also_refused: frozenset[str] = frozenset()) -> trendweave.Query:
    try:
        return trendweave.query(written)
    except PlanningError as refused:
        assert {problem.code for problem in refused.problems} <= REFUSED | also_refused, refused  # noqa: PT017
        assume(False)
        raise


def identity(value: Any) -> Hashable:
    """Rows as something that can be counted; NaN is itself, and 1 is 1.0 (both come from columns of one type)."""
    if isinstance(value, dict):
        return tuple((name, identity(inner)) for name, inner in value.items())
    if isinstance(value, list):
        return tuple(map(identity, value))
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def counted(rows: list[dict]) -> Counter:
    return Counter(map(identity, rows))


def places(rows: list[dict]) -> Counter:
    """Number of rows by window and group."""
    return Counter(map(place_of, rows))


def place_of(row: dict) -> Hashable:
    return identity({name: row[name] for name in row if name not in ("length", "events", "count")})


cases, cases_in_windows = (
    queries_and_streams(empty=False, conjunction=False, lists=True, windowed=windowed) for windowed in (False, True)
)


@given(cases, hs.data())
@examples(200)
def test_trends(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    variables = sorted(variable_types(query.pattern))
    shown = data.draw(
        hs.lists(
            hs.builds(Attribute, hs.sampled_from("xysk"), hs.none() | hs.sampled_from(variables)),
            min_size=1,
            max_size=3,
            unique_by=lambda attribute: attribute.name,
        ).map(tuple)
    )
    listed = ", ".join(a.name if a.variable is None else f"{a.variable}.{a.name}" for a in shown)
    for complete in (False, True):
        asked = planned(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS({listed})"))
        found = rows_of(asked.run(table_of(events)))
        assert counted(found) == counted(trend_rows(query, events, shown, complete)), str(asked)


@given(queries_and_streams(negation=True, empty=False, conjunction=False, lists=True))
@examples(100)
def test_trends_with_negation(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    for returned, complete in (("TRENDS(x, s)", False), ("COMPLETE TRENDS(x, s)", True)):
        asked = planned(shown_text(query, returned))
        assert counted(rows_of(asked.run(table_of(events)))) == counted(trend_rows(query, events, PLAIN, complete))
    asked = planned(shown_text(query, "TRENDS"))
    found = rows_of(asked.run(table_of(events)))
    assert counted(found) == counted(trend_rows(query, events, named_attributes(query))), str(asked)


# Trends with and without an a, whose group is NULL: one may be part of the other.
A, B = Event("A", "a"), Event("B", "b")
WITH_AND_WITHOUT = (
    Seq((Repeat(A, 0, 1), B)),
    Seq((Repeat(A, 0, None), Repeat(B, 1, None))),
    Seq((B, Repeat(A, 0, 2), B)),
    Repeat(Or((A, B)), 1, None),
    Or((Seq((A, B)), Repeat(B, 1, 2))),
    Seq((Repeat(A, 0, 1), Not(Event("N")), B)),
)


@given(hs.sampled_from(WITH_AND_WITHOUT), hs.sampled_from("kg"), hs.integers(2, 12), hs.booleans(), hs.data())
@examples(150)
def test_complete_trends_whose_groups_are_of_one_variable(
    pattern: Pattern, key: str, within: int, limited: bool, data: hs.DataObject
) -> None:
    events = data.draw(event_streams(pattern))
    window = Moving(within) if data.draw(hs.booleans()) else Sliding(within, data.draw(hs.integers(1, within)))
    query = Query(pattern, group_by=(Attribute(key, "a"),), window=window)
    asked = planned(shown_text(query, "COMPLETE TRENDS(x, s)", "LIMIT 2" if limited else ""))
    found = rows_of(asked.run(table_of(events)))
    expected = trend_rows(query, events, PLAIN, complete=True)
    if limited:
        assert counted(found) <= counted(expected), str(asked)
        assert places(found) == Counter({place: min(2, size) for place, size in places(expected).items()}), str(asked)
    else:
        assert counted(found) == counted(expected), str(asked)


@given(cases)
@examples(100)
def test_one_row_per_trend(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    variables = sorted(variable_types(query.pattern))
    one, other = variables[0], variables[-1]
    outputs = (
        Aggregate("FIRST", one, "s"), Aggregate("LAST", other, "y"), Aggregate("FIRST", other, "time"),
        Aggregate("COUNT", one), Aggregate("SUM", one, "x"), Aggregate("SUM", other, "y", "sum_of_doubles"),
        Aggregate("AVG", other, "x"), Aggregate("MIN", one, "y"), Aggregate("MAX", other, "x"),
        *values_of_one(other, "s", "y"),
    )  # fmt: skip
    asked = planned(shown_text(query, f"EACH {', '.join(map(output_text, outputs))}"))
    assert counted(rows_of(asked.run(table_of(events)))) == counted(each_rows(query, events, outputs)), str(asked)


@given(queries_and_streams(empty=False, conjunction=False, moving=False))
@examples(80)
def test_as_many_rows_as_count_says(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    table = table_of(events)
    counting = rows_of(planned(shown_text(query, "COUNT(*)")).run(table))
    batches = planned(shown_text(query, "TRENDS")).iter(table)
    shown = [row for batch in batches for row in batch.to_pylist()]
    assert batches.trends == sum(row["count"] for row in counting) == len(shown)
    assert places(shown) == Counter({place_of(row): row["count"] for row in counting})


@given(cases)
@examples(60)
def test_graphs_without_listed_edges_have_the_same_trends(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    asked = planned(shown_text(query, "TRENDS(x, s)"))
    with mock.patch("trendweave.programs.trends.lists.graphs.edge_room", return_value=0):
        found = rows_of(asked.run(table_of(events)))
    assert counted(found) == counted(trend_rows(query, events, PLAIN))


@given(cases, hs.integers(1, 4), hs.booleans())
@examples(100)
def test_limit_longest_and_sample(case: tuple[Query, list[dict]], number: int, complete: bool) -> None:
    query, events = case
    expected = trend_rows(query, events, PLAIN, complete)
    every = counted(expected)
    wanted = Counter({place: min(number, size) for place, size in places(expected).items()})
    # Of trends of which only some end with NOT, those of one time become known at different times.
    also = frozenset({"TW232"}) if isinstance(query.window, Moving) else frozenset[str]()
    for choice in ("LIMIT", "LONGEST", "SAMPLE"):
        written = shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x, s)", f"{choice} {number}")
        try:
            asked = trendweave.query(written)
        except PlanningError as refused:
            assert {problem.code for problem in refused.problems} <= REFUSED | also, refused  # noqa: PT017
            continue
        found = rows_of(asked.run(table_of(events)))
        assert counted(found) <= every, written
        assert places(found) == wanted, written
        if choice == "LONGEST":
            for place in wanted:
                lengths = sorted((row["length"] for row in expected if place_of(row) == place), reverse=True)
                shown = sorted((row["length"] for row in found if place_of(row) == place), reverse=True)
                assert shown == lengths[:number], written


@pytest.mark.parametrize("room", [0, 10**6])
def test_trends_of_many_batches(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More trends than a buffer holds: the walk goes on where it stopped."""
    monkeypatch.setattr("trendweave.programs.trends.lists.walking.TRENDS_AT_ONCE", 7)
    monkeypatch.setattr("trendweave.programs.trends.lists.walking.VERTICES_AT_ONCE", 40)
    monkeypatch.setattr("trendweave.programs.trends.lists.graphs.edge_room", lambda memory: room)
    table = table_of([{"time": i, "type": "A", "x": i, "k": i % 2} for i in range(10)])
    batches = list(trendweave.query("RETURN TRENDS(x) PATTERN A+ WHERE [k] GROUP-BY k").iter(table))
    assert len(batches) > 8
    found = {tuple(event["x"] for event in row["events"]) for batch in batches for row in batch.to_pylist()}
    assert len(found) == sum(batch.num_rows for batch in batches) == 2 * (2**5 - 1)


@given(cases_in_windows, hs.booleans(), hs.data())
@examples(60)
def test_piece_by_piece(case: tuple[Query, list[dict]], complete: bool, data: hs.DataObject) -> None:
    """Trends of a window come out once, when the watermark closes it; together they are those of one run."""
    query, events = case
    asked = planned(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x, s)"))
    in_order = sorted((event for event in events if event["time"] is not None), key=lambda event: event["time"])
    session = asked.incremental(table_of(events).schema)
    state = session.start()
    rows: list[dict] = []
    while in_order:
        cut = data.draw(hs.integers(1, len(in_order)))
        piece, in_order = in_order[:cut], in_order[cut:]
        state, closed = session.push(state, table_of(piece), watermark=in_order[0]["time"] if in_order else None)
        rows += rows_of(closed)
    rows += rows_of(session.finish(state))
    assert counted(rows) == counted(trend_rows(query, events, PLAIN, complete)), str(asked)
