"""What is told, once, of a query that may not mean what its user thinks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import trendweave
from trendweave.runners import nothing_found

TYPES = ["Stock", "Stock", "Trade"]
EVENTS = pa.table({"time": [1, 2, 3], "type": TYPES, "price": [5, 6, 7], "company": pa.nulls(3, pa.string())})
AT_ONCE = pa.table({"time": [1, 1], "type": ["Stock", "Trade"]})


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nothing_found, "_TOLD", {})


def told(caplog: pytest.LogCaptureFixture, pattern: str, events: pa.Table = EVENTS, **columns: Any) -> list[str]:
    caplog.clear()
    trendweave.query(f"RETURN COUNT(*) PATTERN {pattern}").run(events, **columns)
    return caplog.messages


def test_a_result_is_nothing_to_tell_of(caplog: pytest.LogCaptureFixture) -> None:
    assert told(caplog, "SEQ(Stock, Trade)") == []
    assert told(caplog, "SEQ(NOT Accident, Stock S+)") == []  # what must not be there is not there
    assert told(caplog, "Anything+", type=None) == []


def test_types_that_no_event_has(caplog: pytest.LogCaptureFixture) -> None:
    there = "the types in type are Stock, Trade"

    assert told(caplog, "Stocks S+") == [
        f"the result is empty: no event is of type Stocks; {there}; did you mean Stock?"
    ]
    # There are trends without it, and it may still be a slip.
    assert told(caplog, "SEQ(Stock, Tarde?)") == [f"no event is of type Tarde; {there}; did you mean Trade?"]
    in_codes = EVENTS.set_column(1, "type", EVENTS.column("type").dictionary_encode())
    assert told(caplog, "X+", in_codes) == [f"the result is empty: no event is of type X; {there}"]
    # A name in a dictionary is no event; one that stands there twice, or in a later chunk, may be one.
    unused = pa.DictionaryArray.from_arrays([0, 0, 1], ["Stock", "Trade", "X"])
    assert told(caplog, "X", EVENTS.set_column(1, "type", unused)) == [
        f"the result is empty: no event is of type X; {there}"
    ]
    for later in (
        pa.DictionaryArray.from_arrays([0, 0, 2], ["Stock", "Trade", "Trade"]),
        pa.chunked_array([EVENTS["type"].slice(0, 1).combine_chunks(), EVENTS["type"].slice(1).combine_chunks()])
        .dictionary_encode()
        .combine_chunks(),
        pa.chunked_array([pa.array(["Stock", "Stock"]).dictionary_encode(), pa.array(["Trade"]).dictionary_encode()]),
    ):
        assert told(caplog, "SEQ(Stock+, Trade)", EVENTS.set_column(1, "type", later)) == []
    many = pa.table({"time": range(20), "type": [f"T{number:02}" for number in range(20)]})
    assert told(caplog, "Q+", many)[0].endswith("T10, T11 and 8 more")


def test_conditions_that_no_event_meets(caplog: pytest.LogCaptureFixture) -> None:
    assert told(caplog, "SEQ(Stock S, Trade T) WHERE S.price > 2 AND S.price > 100") == [
        "the result is empty: none of 2 events of type Stock meets price > 100, as S has to"
    ]
    assert told(caplog, "Stock S+ WHERE [company]") == [
        "the result is empty: company is NULL in all events, and NULL equals nothing"
    ]


def test_conditions_that_no_event_meets_where_there_are_rows(caplog: pytest.LogCaptureFixture) -> None:
    unmet = "none of 1 events of type Trade meets price > 100, as T has to"

    assert told(caplog, "(Stock S OR Trade T) WHERE T.price > 100") == [unmet]
    assert told(caplog, "(Stock S OR Trade T) WHERE T.price > 100") == [], "it is told once"
    assert told(caplog, "SEQ(Stock, Trade T?, Stock U) WHERE T.price > 100") == [unmet]
    assert told(caplog, "(Stock S OR Trade T) WHERE T.price > 6") == []
    assert told(caplog, "SEQ(Stock S+, NOT Trade T) WHERE T.price > 100") == [], "what must not be there is not there"
    many = pa.table({"time": range(5_000), "type": ["A"] * 4_999 + ["B"], "x": range(5_000)})
    assert told(caplog, "(A OR B) WHERE B.x > 4998 WITHIN 1 second", many) == []
    assert told(caplog, "(A OR B) WHERE A.x > 4998 WITHIN 1 second", many) == [
        "none of 4,999 events of type A meets x > 4998, as A has to"
    ]


def test_a_condition_that_trends_can_do_without_explains_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert "3 events hold no sequence" in told(caplog, "SEQ(Trade, Trade T?, Stock) WHERE T.price > 100")[0]


def test_having_may_keep_no_row(caplog: pytest.LogCaptureFixture) -> None:
    assert told(caplog, "Stock S+ HAVING COUNT(*) > 100") == [
        "the result is empty: HAVING leaves out all rows, or 3 events hold no sequence that is in "
        "the order of the pattern and meets all conditions between events"
    ]
    # Single events are trends, too.
    assert "HAVING leaves out all rows" in told(caplog, "Stock S+ HAVING COUNT(*) > 200", AT_ONCE)[0]


def test_conditions_on_whole_trends(caplog: pytest.LogCaptureFixture) -> None:
    trendweave.query("RETURN EACH COUNT(S) AS number PATTERN Stock S+ WHERE SUM(S.price) > 1000").run(EVENTS)

    assert "between events and on the whole of it" in caplog.messages[0]


@pytest.mark.parametrize(
    ("window", "at_once"),
    [
        ("WITHIN 1 second SLIDE 1 second", True),
        ("WITHIN 60 seconds SLIDE 60 seconds", True),
        ("WITHIN 61 seconds SLIDE 60 seconds", False),
        ("WITHIN 120 seconds SLIDE 120 seconds", False),
        ("WITHIN 60 seconds", True),
        ("WITHIN 60500 milliseconds", False),
        ("WITHIN 61 seconds", False),
        ("WITHIN SESSION 60 seconds", True),
        ("WITHIN SESSION 61 seconds", False),
        ("", False),
    ],
)
def test_windows_that_hold_one_time(caplog: pytest.LogCaptureFixture, window: str, at_once: bool) -> None:
    events = pa.table({"time": [0, 0, 60, 60], "type": ["Trade", "Stock", "Trade", "Stock"], "price": [1, 2, 3, 4]})
    pattern = f"SEQ(Stock S, Trade T) WHERE S.price > T.price {window}"

    (message,) = told(caplog, pattern, events)

    assert ("all events of a window have the same time" in message) == at_once
    assert ("unless order_by= names a column" in message) == at_once


def test_why_there_are_no_trends(caplog: pytest.LogCaptureFixture) -> None:
    of_pairs = "3 events hold no sequence that is in the order of the pattern and meets all conditions between events"

    assert told(caplog, "SEQ(Trade, Stock)") == [f"the result is empty: {of_pairs}"]
    assert "hold no sequence that lies in one window, is in" in told(caplog, "SEQ(Trade, Stock) WITHIN 1 second")[0]
    assert told(caplog, "SEQ(Stock, Trade)", AT_ONCE) == [
        "the result is empty: all 2 events have the same time, and events with the same timestamp never follow each "
        "other, unless order_by= names a column that orders them"
    ]
    assert told(caplog, "Stock+", EVENTS.slice(0, 0)) == ["the result is empty: there are no events"]
    without = EVENTS.set_column(0, "time", pa.nulls(3, pa.int64()))
    assert "the result is empty: no row has a time in time" in told(caplog, "Stock S{2,}", without)


def test_interval_queries(caplog: pytest.LogCaptureFixture) -> None:
    query = trendweave.query("DEFINE High AS price > 100 RETURN SITUATIONS")
    query.run(EVENTS)

    assert caplog.messages == ["the result is empty: no situation, or no match of situations, is in 3 rows"]


def test_it_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN Stocks S+")
    for _ in range(3):
        query.run(EVENTS)

    assert len(caplog.messages) == 1


def test_each_reason_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(Trade T, Stock S)")
    for events in (EVENTS, EVENTS.slice(1), AT_ONCE, EVENTS.slice(0, 0), AT_ONCE):
        query.run(events)

    reasons = [message.removeprefix("the result is empty: ") for message in caplog.messages]
    assert [reason[:20] for reason in reasons] == [
        "3 events hold no seq",
        "all 2 events have th",
        "there are no events",
    ]


def test_a_slip_under_not(caplog: pytest.LogCaptureFixture) -> None:
    slip = "no event is of type Tarde; the types in type are Stock, Trade; did you mean Trade?"

    assert told(caplog, "SEQ(Stock S, NOT Tarde, Stock T)") == [slip]
    assert told(caplog, "SEQ(Stock S, NOT Tarde, Trade T)") == [], "a type that the query knows is not meant"
    assert told(caplog, "SEQ(Stock S, NOT Other, Stock T)") == []
    in_codes = EVENTS.set_column(1, "type", EVENTS.column("type").dictionary_encode())
    assert told(caplog, "SEQ(Stock, NOT Tarde, Stock)", in_codes) == [slip]
    caplog.clear()
    texts = ["RETURN COUNT(*) PATTERN SEQ(Stock S, NOT Tarde, Stock T)", "RETURN COUNT(*) PATTERN Stock S+"]
    trendweave.workload(texts).run(EVENTS)
    assert caplog.messages == [slip]


def test_workloads_tell_where_nothing_is_found_at_all_or_a_name_looks_like_a_slip(
    caplog: pytest.LogCaptureFixture,
) -> None:
    texts = {"a": "RETURN COUNT(*) PATTERN Stocks S+", "b": "RETURN COUNT(*) PATTERN Trade T+"}
    slip = "no event is of type Stocks; the types in type are Stock, Trade; did you mean Stock?"
    for _ in range(2):
        trendweave.workload(texts).run(EVENTS)
    assert caplog.messages == [slip]

    caplog.clear()
    trendweave.workload(texts | {"a": "RETURN COUNT(*) PATTERN Fire F+"}).run(EVENTS)
    assert caplog.messages == [], "a rule may wait for what is rare"

    trendweave.workload({"a": texts["a"]}).run(EVENTS)
    assert caplog.messages == [f"the result is empty: {slip}"]


def test_sessions_tell_at_their_end(caplog: pytest.LogCaptureFixture) -> None:
    session = trendweave.query("RETURN COUNT(*) PATTERN Stocks S+ WITHIN 1 minute").push(EVENTS)
    for event in EVENTS.to_pylist():
        session.send(event)
    assert caplog.messages == []

    session.finish()
    assert caplog.messages == ["none of 3 events has a type of the query: Stocks"]


def test_batches_are_told_of_after_the_last_one(caplog: pytest.LogCaptureFixture) -> None:
    batches = trendweave.query("RETURN COUNT(*) PATTERN Stocks S+").iter(EVENTS)
    assert caplog.messages == []
    for _ in range(2):
        assert list(batches) == []
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("the result is empty: no event is of type Stocks")
    caplog.clear()
    assert list(trendweave.query("RETURN COUNT(*) PATTERN SEQ(Stock, Trade)").iter(EVENTS))
    assert caplog.messages == []
    assert list(trendweave.workload(["RETURN COUNT(*) PATTERN X", "RETURN COUNT(*) PATTERN Y"]).iter(EVENTS)) == []
    assert caplog.messages == [
        "the result is empty: no event is of type X or Y; the types in type are Stock, Trade",
    ]
