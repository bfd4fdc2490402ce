"""A session that is pushed event by event gives the rows of one batch over the events that were not late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
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
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from tests.runners.test_local_against_reference import planned
from trendweave.errors import DataError, ExecutionError, LanguageError
from trendweave.runners.session import PushSession

A_PLUS = "RETURN COUNT(*) PATTERN A+ WITHIN 10 s SLIDE 10 s"


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows_of(pa.Table.from_pylist(rows)) if rows else []


@given(queries_and_streams(empty=False, windowed=True), hs.data())
@examples(200)
def test_events_and_tables_in_any_mixture(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case[0], data.draw(hs.permutations(case[1]))
    delay = data.draw(hs.integers(0, 8))
    asked = planned(query)
    session = asked.push(SCHEMA, watermark=f"{delay} seconds")
    found, in_time, latest, late, rest = [], [], None, 0, events
    while rest:
        if data.draw(hs.integers(0, 9)) == 0:
            session = asked.push(SCHEMA, watermark=f"{delay} seconds", state=session.state())
        size = data.draw(hs.integers(1, 3))
        piece, rest = rest[:size], rest[size:]
        behind = [
            latest is not None
            and event["time"] is not None
            and event["type"] is not None
            and event["time"] < latest - delay
            for event in piece
        ]
        if size == 1:
            found += plain(session.send(piece[0]))
        else:
            found += rows_of(session.send_table(table_of(piece)))
        late += sum(behind)
        in_time += [event for event, is_late in zip(piece, behind, strict=True) if not is_late]
        times = [event["time"] for event in in_time if event["time"] is not None]
        latest = max(times, default=None)
    assert session.late == late
    found += rows_of(session.finish())
    assert_same_rows(rows(query, in_time), found, text(query))


def test_rows_come_back_with_the_event_that_closes_their_window() -> None:
    session = trendweave.query(A_PLUS).push(SCHEMA, watermark="2 seconds")
    event = dict.fromkeys(SCHEMA.names) | {"type": "A"}
    assert [session.send(event | {"time": time}) for time in (1, 4, 11)] == [[], [], []]
    assert plain(session.send(event | {"time": 12})) == [{"window_start": 0, "window_end": 10, "count": 3}]
    assert session.watermark == 10
    assert session.send(event | {"time": 9}) == []
    assert session.late == 1
    assert rows_of(session.finish()) == [{"window_start": 10, "window_end": 20, "count": 3}]


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_timestamps(zone: str | None, unit: str) -> None:
    schema = pa.schema({"time": pa.timestamp(unit, zone), "type": pa.string()})
    session = trendweave.query(A_PLUS).push(schema)
    begin = datetime(2024, 5, 1, tzinfo=None if zone is None else UTC)
    found = [
        row
        for second in range(0, 40, 4)
        for row in session.send({"time": begin + timedelta(seconds=second), "type": "A"})
    ]
    assert [int(row["count"]) for row in found] == [7, 3, 7]
    assert session.watermark == begin + timedelta(seconds=36)


def test_what_is_no_event_is_dropped_and_counted() -> None:
    session = trendweave.query(A_PLUS).push(pa.schema({"time": pa.float64(), "type": pa.string()}))
    for time in (1.0, None, float("nan"), 2.5):
        session.send({"time": time, "type": "A"})
    session.send({"time": 3.0, "type": None})
    session.send({"time": 3.0, "type": "B"})
    assert (session.dropped.rows, session.dropped.null_time, session.dropped.null_type) == (6, 2, 1)
    assert session.dropped.other_type == 1
    assert rows_of(session.finish())[0]["count"] == 3


def test_a_row_without_a_type_is_no_event_and_so_never_late() -> None:
    session = trendweave.query(A_PLUS).push(SCHEMA, watermark="2 seconds")
    event = dict.fromkeys(SCHEMA.names) | {"type": "A"}
    session.send(event | {"time": 12})
    session.send(event | {"time": 9, "type": None})
    session.send_table(table_of([{"time": 8, "type": None}, {"time": 9, "type": "A"}]))
    assert (session.late, session.dropped.null_type) == (1, 2)


def test_what_does_not_fit_is_refused() -> None:
    session = trendweave.query(A_PLUS).push(SCHEMA)
    with pytest.raises(DataError, match="TW312: an event lacks type"):
        session.send({"time": 1})
    for event in ({"time": 1.5, "type": "A"}, {"time": 2**70, "type": "A"}, {"time": datetime.now(UTC), "type": "A"}):
        with pytest.raises(DataError, match=r"TW312: the value .* of time does not fit the column"):
            session.send(event)
    with pytest.raises(DataError, match="TW312: an event is a mapping"):
        session.send(None)
    assert session.watermark is None, "what is refused has no effect"
    with pytest.raises(ExecutionError, match="TW409"):
        trendweave.query("RETURN COUNT(*) PATTERN A+").push(SCHEMA)
    with pytest.raises(DataError, match="TW311"):
        trendweave.query(A_PLUS).push(SCHEMA, state=trendweave.query(A_PLUS.replace("10", "20")).push(SCHEMA).state())


@pytest.mark.parametrize(
    ("kind", "value", "hint"),
    [
        (pa.float64(), True, "values of the same types"),
        (pa.int64(), False, "values of the same types"),
        (pa.decimal128(5, 2), True, "values of the same types"),
        (pa.timestamp("us"), 1_700_000_000, "with time_unit="),
        (pa.timestamp("us", "UTC"), 1.7e9, "with time_unit="),
        (pa.timestamp("us"), "2024-01-01", "give a datetime"),
        (pa.date32(), datetime(2024, 1, 1, 12), "give a date"),
        (pa.duration("s"), 5, "values of the same types"),
    ],
)
def test_values_that_would_mean_something_else_are_refused(kind: pa.DataType, value: Any, hint: str) -> None:
    moment = datetime(2024, 1, 1)
    columns = {"time": pa.timestamp("us"), "type": pa.string(), "x": kind}
    session = trendweave.query("RETURN COUNT(*) PATTERN A a WHERE a.x IS NOT NULL WITHIN 5 s").push(pa.schema(columns))
    with pytest.raises(DataError, match=rf"TW312: the value .* of x does not fit the column(.|\n)*{hint}"):
        session.send({"time": moment, "type": "A", "x": value})
    assert session.watermark is None
    if pa.types.is_timestamp(kind):
        with pytest.raises(DataError, match=r"TW312: the value .* of time does not fit the column"):
            session.send({"time": value, "type": "A", "x": moment})


def test_an_event_that_does_not_fit_is_refused_at_once() -> None:
    session = trendweave.query(A_PLUS).push(pa.schema({"time": pa.int64(), "type": pa.string()}))
    session.send({"time": 1, "type": "A"})
    with pytest.raises(DataError, match="TW312: the value 7 of type does not fit the column, which is string"):
        session.send({"time": 100, "type": 7})
    assert session.watermark == 1
    session.send({"time": 2, "type": "A"})
    assert [row["count"] for row in rows_of(session.finish())] == [3]


POSITIVE = "RETURN COUNT(*) PATTERN A+ WHERE A.x > 0 WITHIN 5 s SLIDE 5 s"
EXACT = pa.schema({"time": pa.int64(), "type": pa.string(), "x": pa.decimal128(5, 2)})
#: More digits than the column has: Arrow finds out, when the event that closes the window comes.
EVENTS = [(1, "1.00"), (2, "1.001"), (3, "1.00"), (4, "-1.00"), (7, "1.00")]


def sent_with_a_misfit() -> PushSession:
    session = trendweave.query(POSITIVE).push(EXACT)
    for time, x in EVENTS[:-1]:
        assert session.send({"time": time, "type": "A", "x": Decimal(x)}) == []
    with pytest.raises(DataError, match=r"TW312: the event .*1\.001.* was left out"):
        session.send({"time": 7, "type": "A", "x": Decimal("1.00")})
    return session


def test_what_arrow_does_not_take_takes_nothing_with_it() -> None:
    assert [row["count"] for row in rows_of(sent_with_a_misfit().finish())] == [3, 1]
    session = sent_with_a_misfit()
    assert [row["count"] for row in session.send({"time": 8, "type": "A", "x": None})] == [3]
    left = trendweave.query(POSITIVE).push(EXACT, state=sent_with_a_misfit().state())
    assert [row["count"] for row in rows_of(left.finish())] == [3, 1]


def test_a_table_is_taken_even_where_an_earlier_event_is_left_out() -> None:
    session = trendweave.query(POSITIVE).push(EXACT)
    session.send({"time": 1, "type": "A", "x": Decimal("1.001")})
    rows = [{"time": time, "type": "A", "x": Decimal(1)} for time in (2, 3)]
    with pytest.raises(DataError, match=r"1\.001.* was left out"):
        session.send_table(pa.Table.from_pylist(rows, EXACT))
    assert [row["count"] for row in rows_of(session.finish())] == [3]


def test_an_event_may_be_used_again_by_its_sender() -> None:
    session = trendweave.query(A_PLUS).push(pa.schema({"time": pa.int64(), "type": pa.string()}))
    event, found = {}, []
    for time in (1, 2, 3, 12):
        event.update(time=time, type="A")
        found += session.send(event)
    assert [row["count"] for row in [*found, *rows_of(session.finish())]] == [7, 1]


@pytest.mark.parametrize("none", ["0 seconds", "0s", " 0.0 minutes"])
def test_no_delay_at_all(none: str) -> None:
    session = trendweave.query(A_PLUS).push(pa.schema({"time": pa.int64(), "type": pa.string()}), watermark=none)
    session.send({"time": 5, "type": "A"})
    session.send({"time": 4, "type": "A"})
    assert session.late == 1
    with pytest.raises(LanguageError, match="TW106"):
        trendweave.query(A_PLUS).push(SCHEMA, watermark="0 parsecs")


def test_memory_is_that_of_open_windows() -> None:
    session = trendweave.query(A_PLUS).push(pa.schema({"time": pa.int64(), "type": pa.string()}))
    sizes = []
    for time in range(1_000):
        session.send({"time": time, "type": "A"})
        sizes.append(len(session.state()) if time % 10 == 9 else 0)
    assert max(sizes[500:]) <= max(sizes[:500])


def test_an_event_that_the_query_does_not_keep_lets_rows_out() -> None:
    # A in a window that moves: a3 is complete once c4 has moved the watermark past it.
    session = trendweave.query("RETURN COUNT(*) PATTERN A WITHIN 50 seconds").push(SCHEMA)
    event = dict.fromkeys(SCHEMA.names)
    found = [plain(session.send(event | {"time": time, "type": type_})) for time, type_ in enumerate("ACAC", 1)]
    assert found == [[], [{"time": 1, "count": 1}], [], [{"time": 3, "count": 2}]]
    assert session.finish().num_rows == 0


@pytest.mark.parametrize("between", ["state", "table"])
def test_rows_that_are_due_survive_what_comes_between(between: str) -> None:
    asked = trendweave.query("RETURN COUNT(*) PATTERN A WITHIN 50 seconds")
    session, event, found = asked.push(SCHEMA), dict.fromkeys(SCHEMA.names), []
    for time, type_ in enumerate("ACAC", 1):
        if between == "state":
            session = asked.push(SCHEMA, state=session.state())
        else:
            found += rows_of(session.send_table(table_of([])))
        found += plain(session.send(event | {"time": time, "type": type_}))
    assert found == [{"time": 1, "count": 1}, {"time": 3, "count": 2}]


@given(queries_and_streams(empty=False, windowed=True), hs.data())
@examples(150)
def test_rows_come_as_early_as_the_watermark_allows(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    """After every call the rows are those of the engine whose watermark is moved after every piece."""
    query, events = case[0], data.draw(hs.permutations(case[1]))
    delay, asked = data.draw(hs.integers(0, 6)), planned(query)
    session, engine = asked.push(SCHEMA, watermark=f"{delay} seconds"), asked.incremental(SCHEMA)
    state, latest, rest = engine.start(), None, events
    while rest:
        size = data.draw(hs.integers(1, 3))
        piece, rest = rest[:size], rest[size:]
        known = [event["time"] for event in piece if event["time"] is not None]
        latest = max([*known, latest] if latest is not None else known, default=None)
        state, due = engine.push(state, table_of(piece), None if latest is None else latest - delay)
        found = plain(session.send(piece[0])) if size == 1 else rows_of(session.send_table(table_of(piece)))
        assert_same_rows(rows_of(due), found, text(query))
        if data.draw(hs.integers(0, 4)) == 0:
            session = asked.push(SCHEMA, watermark=f"{delay} seconds", state=session.state())
    assert_same_rows(rows_of(engine.finish(state)), rows_of(session.finish()), text(query))
