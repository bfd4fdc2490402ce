"""`order_by` against the reference twin: events of one time follow each other in the order of a column, and windows go
by times alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import shown_text, trend_rows
from tests.runners.reference_tables import SCHEMA, rows_of
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import PLAIN, counted
from tests.runners.test_trends_against_reference import planned as planned_list
from tests.streaming.simulated import SimulatedStream
from trendweave.errors import DataError, OptionError

MOVES = pa.table({"time": [60, 60, 61], "number": [2, 1, 3], "type": ["Buy", "Click", "Buy"]})
CHOOSING = {"choice": True, "whole": True, "complete": True, "lists": True}
PAIRS = "RETURN COUNT(*) AS n PATTERN SEQ(Click, Buy)"


def numbered(events: list[dict[str, Any]], data: hs.DataObject) -> list[dict[str, Any]]:
    """Events with numbers that order those of one time; some are equal, some NULL."""
    orders = data.draw(hs.lists(hs.none() | hs.integers(0, 3), min_size=len(events), max_size=len(events)))
    return [{**event, "order": order} for event, order in zip(events, orders, strict=True)]


def table_of(events: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(events, schema=SCHEMA.append(pa.field("order", pa.int64())))


def in_pieces(asked: trendweave.Query, events: list[dict[str, Any]], data: hs.DataObject) -> list[dict[str, Any]]:
    """The rows of all pieces together; pieces may end between events of one time."""
    waiting = sorted((event for event in events if event["time"] is not None), key=lambda event: event["time"])
    engine = asked.incremental(table_of(events).schema, order_by="order")
    state, found = engine.start(), list[dict[str, Any]]()
    while waiting:
        cut = data.draw(hs.integers(1, len(waiting)))
        piece, waiting = waiting[:cut], waiting[cut:]
        state, closed = engine.push(state, table_of(piece), watermark=waiting[0]["time"] if waiting else None)
        found += rows_of(closed)
    return found + rows_of(engine.finish(state))


@given(queries_and_streams(empty=False) | queries_and_streams(empty=False, anchors=True, session=True), hs.data())
@examples(80)
def test_aggregates(case: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    query, events = case[0], numbered(case[1], data)
    asked = planned(query)
    expected = rows(query, events)
    assert_same_rows(expected, rows_of(asked.run(table_of(events), order_by="order")), text(query))
    if query.window is not None:
        assert_same_rows(expected, in_pieces(asked, events, data), text(query))


@given(queries_and_streams(empty=False, conjunction=False, lists=True), hs.data())
@examples(60)
def test_trends(case: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    query, events = case[0], numbered(case[1], data)
    for complete in (False, True):
        asked = planned_list(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x, s)"))
        expected = counted(trend_rows(query, events, PLAIN, complete))
        assert counted(rows_of(asked.run(table_of(events), order_by="order"))) == expected, str(asked)
        if query.window is not None:
            assert counted(in_pieces(asked, events, data)) == expected, str(asked)


@given(queries_and_streams(empty=False, conjunction=False, **CHOOSING), hs.data())
@examples(60)
def test_choosing(case: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    """AFTER MATCH SKIP and PER START take away beginnings in the finer order, too."""
    query, events = case[0], numbered(case[1], data)
    asked = planned_list(shown_text(query, f"{'COMPLETE ' if query.complete else ''}TRENDS(x, s)"))
    expected = counted(trend_rows(query, events, PLAIN))
    assert counted(rows_of(asked.run(table_of(events), order_by="order"))) == expected, str(asked)
    if query.window is not None:
        assert counted(in_pieces(asked, events, data)) == expected, str(asked)


@given(queries_and_streams(10, empty=False, conjunction=False, choice=True, lists=True, moving=True), hs.data())
@examples(120)
def test_choosing_under_within_alone_in_pieces(case: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    """What was taken away goes by the finer order, however pieces are cut, in a session's state and in Spark's."""
    query, events = case[0], numbered(case[1], data)
    for event in events:
        event["time"] = None if event["time"] is None else event["time"] // 4
    asked = planned_list(shown_text(query, "TRENDS(x, s)"))
    expected = counted(trend_rows(query, events, PLAIN))
    assert counted(rows_of(asked.run(table_of(events), order_by="order"))) == expected, str(asked)
    assert counted(in_pieces(asked, events, data)) == expected, str(asked)
    in_time = sorted((event for event in events if event["time"] is not None), key=lambda event: event["time"])
    stream = SimulatedStream(asked, delay=0, schema=table_of([]).schema, order_by=("order",))
    found = list[dict[str, Any]]()
    last = {**dict.fromkeys(table_of([]).schema.names), "time": 1000, "type": "Z", "k": 9, "g": "z", "s": "z"}
    while in_time:
        cut = data.draw(hs.integers(1, len(in_time)))
        piece, in_time = in_time[:cut], in_time[cut:]
        while in_time and in_time[0]["time"] == piece[-1]["time"]:
            piece.append(in_time.pop(0))  # the next micro-batch would find it late
        found += stream.push(piece) + stream.advance()
    found += stream.push([last]) + stream.advance()
    assert counted(found) == expected, str(asked)


def test_what_a_match_takes_away_goes_by_the_order() -> None:
    """Pairs of one time: the first takes its events away, and the third event begins the next one."""
    events = pa.table({"time": [60, 60, 60, 61], "number": [1, 2, 3, 9], "type": ["Click", "Buy", "Click", "Buy"]})
    text = "RETURN EACH FIRST(Click.number) AS a, LAST(Buy.number) AS b PATTERN SEQ(Click, Buy) WITHIN 1 minute"
    text = f"{text} SEMANTICS skip-till-next-match AFTER MATCH SKIP PAST LAST EVENT"
    expected = [{"time": 60, "a": 1, "b": 2}, {"time": 61, "a": 3, "b": 9}]
    assert trendweave.query(text).run(events, order_by="number").to_pylist() == expected
    session = trendweave.query(text).push(events.schema, order_by="number")
    found = [row for event in events.to_pylist() for row in session.send(event)]
    found += session.send({"time": 90, "number": 1, "type": "Click"})
    assert found == expected
    workload = trendweave.workload({"pairs": PAIRS + " WITHIN 1 minute", "taken": text})
    session = workload.push(events.schema, order_by="number")
    found = [row for event in events.to_pylist() for row in session.send(event)] + session.finish().to_pylist()
    taken = [{name: row[name] for name in ("time", "a", "b")} for row in found if row["query"] == "taken"]
    assert taken == expected


def test_a_session_takes_events_one_by_one() -> None:
    session = trendweave.query(f"{PAIRS} WITHIN 10 seconds").push(MOVES.schema, order_by="number", numbers="int64")
    found = [row for event in MOVES.to_pylist() for row in session.send(event)] + session.finish().to_pylist()
    assert found == [{"time": 60, "n": 1}, {"time": 61, "n": 2}]


def test_several_columns_order_one_after_the_other() -> None:
    clicks = pa.table({"time": [1] * 3, "type": ["A", "B", "A"], "day": ["x", "x", None], "number": [2.0, 1.0, 9.0]})
    query = trendweave.query("RETURN COUNT(*) AS n PATTERN SEQ(A, B)")
    assert query.run(clicks, order_by=["day", "number"], numbers="int64")["n"].to_pylist() == [1]
    assert query.run(clicks, order_by="number", numbers="int64").num_rows == 0
    assert query.run(clicks, order_by="day", numbers="int64")["n"].to_pylist() == [1]


@pytest.mark.parametrize("device", ["cpu", "threads", "auto"])
def test_every_device_orders_alike(device: Any) -> None:
    query = trendweave.query(f"{PAIRS} WITHIN 10 seconds SLIDE 10 seconds")
    assert query.run(MOVES, order_by="number", device=device, numbers="int64")["n"].to_pylist() == [2]


@pytest.mark.parametrize("order", ["", [], 3, [None], {"number": 1}])
def test_what_is_no_column_is_refused(order: Any) -> None:
    with pytest.raises(OptionError, match="order_by names a column"):
        trendweave.query(PAIRS).run(MOVES, order_by=order)


def test_columns_are_there_and_have_an_order() -> None:
    query = trendweave.query(PAIRS)
    with pytest.raises(DataError, match="numbr"):
        query.run(MOVES, order_by="numbr")
    lists = MOVES.append_column("many", pa.array([[1], [2], [3]]))
    with pytest.raises(DataError, match="cannot order events"):
        query.run(lists, order_by="many")


def test_stores_are_read_whole(tmp_path: Any) -> None:
    store = trendweave.EventStore.create(str(tmp_path / "moves"), MOVES.schema, type="type")
    store.append(MOVES)
    query = trendweave.query(PAIRS)
    assert query.run(store, order_by="number", using="index", numbers="int64")["n"].to_pylist() == [2]
    assert "the columns that order events of one time" in query.explain(store, order_by="number", using="index")


def test_where_it_is_not_known_it_is_refused() -> None:
    situations = "FROM A DEFINE X AS number > 1 RETURN SITUATIONS"
    for asked in (trendweave.query(situations), trendweave.workload({"situations": situations})):
        with pytest.raises(OptionError, match="situations begin and end at times"):
            asked.run(MOVES, order_by="number")
    with pytest.raises(OptionError, match="pass it to each operator"):
        trendweave.operators.filter("number > 1").run(MOVES, order_by="number")
    with pytest.raises(DataError, match="numbr"):
        trendweave.workload({"pairs": PAIRS}).run(MOVES, order_by="numbr")
