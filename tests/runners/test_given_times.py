"""`time_unit` and `time_format` in every place of this process: the rows are those of a table with timestamps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from trendweave import operators
from trendweave.errors import DataError, OptionError

START = 1_714_566_600_000  # 2024-05-01T12:30:00Z
STEPS = [0, 1_000, 2_500, 61_000, 62_000]
TYPES = ["A", "B", "B", "A", "B"]
TEXT = "RETURN COUNT(*), MAX(b.time) AS last PATTERN SEQ(A a, B b) WITHIN 1 minute SLIDE 1 minute"
QUERY = trendweave.query(TEXT)

Table = Callable[[], tuple[pa.Table, dict[str, Any]]]


def expected(unit: str = "ms") -> pa.Table:
    times = pa.array([START + step for step in STEPS], pa.timestamp("ms", "UTC"))
    return pa.table({"time": times.cast(pa.timestamp(unit, "UTC")), "type": TYPES})


def in_millis() -> tuple[pa.Table, dict[str, Any]]:
    return pa.table({"time": [START + step for step in STEPS], "type": TYPES}), {"time_unit": "ms"}


def in_floats() -> tuple[pa.Table, dict[str, Any]]:
    return pa.table({"time": [(START + step) / 1000 for step in STEPS], "type": TYPES}), {"time_unit": "s"}


def in_text() -> tuple[pa.Table, dict[str, Any]]:
    times = [datetime.fromtimestamp((START + step) / 1000, UTC).isoformat() for step in STEPS]
    return pa.table({"time": times, "type": TYPES}), {"time_format": "iso"}


given = pytest.mark.parametrize("given", [in_millis, in_floats, in_text])


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return table.to_pylist()


@given
def test_run_iter_and_schema(given: Table) -> None:
    events, options = given()
    wanted = QUERY.run(expected())

    found = QUERY.run(events, **options)
    batches = QUERY.iter(events, **options)

    assert wanted.num_rows == 2
    assert rows(found) == rows(wanted)
    assert rows(pa.Table.from_batches(batches, batches.schema)) == rows(wanted)
    assert QUERY.schema(events.schema, **options) == found.schema.remove_metadata()


@given
def test_pieces_and_sessions(given: Table) -> None:
    events, options = given()
    wanted = rows(QUERY.run(expected()))
    engine = QUERY.incremental(events.schema, **options)
    watermark = events.column("time")[3].as_py()  # as the time column has it

    state, first = engine.push(engine.start(), events.slice(0, 3))
    state, second = engine.push(state, events.slice(3), watermark)
    session = QUERY.push(events.schema, **options)
    sent = [row for event in events.to_pylist() for row in session.send(event)]
    in_tables = QUERY.push(events.schema, **options)

    assert first.num_rows == 0
    assert rows(second) == wanted[:1]
    assert rows(engine.finish(state)) == wanted[1:]
    assert sent == wanted[:1]
    assert session.watermark == datetime(2024, 5, 1, 12, 31, 2, tzinfo=UTC)
    assert rows(session.finish()) == wanted[1:]
    assert rows(in_tables.send_table(events)) == wanted[:1]


@given
def test_workloads_and_their_sessions(given: Table) -> None:
    events, options = given()
    many = trendweave.workload({"pairs": TEXT})
    wanted = rows(many.run(expected()))

    session = many.push(events.schema, **options)
    sent = [row for event in events.to_pylist()[:2] for row in session.send(event)]
    session.with_query("more", TEXT)  # the columns are those that came
    sent += [row for event in events.to_pylist()[2:] for row in session.send(event)]

    assert rows(many.run(events, **options)) == wanted
    assert sent == wanted[:1]


@given
def test_operators_and_joins(given: Table) -> None:
    events, options = given()
    kept = operators.filter("type = 'B'")
    pairs = operators.window_join("left.type < right.type", left="1 minute", right="1 minute")
    counts = operators.filter("type = 'B'") | operators.window_aggregate("COUNT(*) AS n", within="1 minute")

    # The time of a row is the last step of its window.
    stamped = expected("ms" if given is in_millis else "us")

    for piped in (kept, counts):
        assert rows(piped.run(events, **options)) == rows(piped.run(stamped))
        assert piped.schema(events.schema, **options) == piped.run(events, **options).schema.remove_metadata()
    joined, wanted = pairs.run(events, events, **options), pairs.run(expected(), expected())
    assert wanted.num_rows
    assert rows(joined) == rows(wanted)


@pytest.mark.parametrize("numbers", [False, True])
def test_days_as_dates_and_as_numbers(numbers: bool) -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 2 days SLIDE 2 days")
    days = [date(2024, 5, 5), date(2024, 5, 6)]
    times = [int(f"{day:%Y%m%d}") for day in days] if numbers else days
    events = pa.table({"time": times, "type": ["A", "B"]})
    options: dict[str, Any] = {"time_format": "%Y%m%d" if numbers else "iso"}
    stamps = pa.array([datetime(day.year, day.month, day.day, tzinfo=UTC) for day in days], pa.timestamp("us", "UTC"))
    wanted = rows(query.run(pa.table({"time": stamps, "type": ["A", "B"]})))

    session = query.push(events.schema, **options)
    sent = [row for event in events.to_pylist() for row in session.send(event)]

    assert rows(query.run(events, **options)) == wanted != []
    assert sent + rows(session.finish()) == wanted


def test_a_frame_of_pandas_comes_back_as_one() -> None:
    events, options = in_millis()

    found = QUERY.run(events.to_pandas(), **options)

    assert type(found).__module__.startswith("pandas")
    assert str(found["window_start"].dt.tz) == "UTC"


def test_intervals_with_times_of_their_own() -> None:
    query = trendweave.query("FROM INTERVALS (start, end, name) PATTERN X before Y WITHIN 1 hour")
    table = {"start": [START, START + 9_000], "end": [START + 1_000, START + 10_000], "name": ["X", "Y"]}
    stamped = {name: pa.array(table[name], pa.timestamp("ms", "UTC")) for name in ("start", "end")}

    found = query.run(pa.table(table), time_unit="ms")

    assert rows(found) == rows(query.run(pa.table({**table, **stamped}))) != []


def test_stores_take_it_where_events_come_in(tmp_path: Path) -> None:
    events, options = in_millis()
    store = trendweave.EventStore.create(tmp_path / "store", events.schema, type="type", **options)
    store.append(events, **options)

    assert store.schema.field("time").type == pa.timestamp("ms", "UTC")
    assert rows(QUERY.run(store)) == rows(QUERY.run(expected()))
    with pytest.raises(OptionError, match="a store already has timestamps"):
        QUERY.run(store, **options)


def test_text_without_a_format_shows_the_hint() -> None:
    with pytest.raises(DataError, match="time_format='iso'"):
        QUERY.run(in_text()[0])


def test_events_of_a_session_that_have_no_time_are_dropped() -> None:
    session = QUERY.push(in_text()[0].schema, time_format="iso")

    assert session.send({"time": "soon", "type": "A"}) == []
    assert session.dropped.null_time == 1
    with pytest.raises(DataError):
        session.send({"time": 5, "type": "A"})


def test_a_watermark_that_is_no_time_is_refused() -> None:
    engine = QUERY.incremental(in_text()[0].schema, time_format="iso")

    with pytest.raises(DataError, match="the watermark 'soon' is not a time"):
        engine.push(engine.start(), in_text()[0], "soon")


def test_numbers_beyond_the_year_2200_are_told(caplog: pytest.LogCaptureFixture) -> None:
    events = in_millis()[0]
    usual = pa.table({"time": [START // 1000, START // 1000 + 1], "type": ["A", "B"]})

    QUERY.run(usual)
    assert not caplog.messages
    QUERY.run(events)
    assert "give time_unit='ms' if they are milliseconds" in caplog.messages[0]
    caplog.clear()
    session = QUERY.push(events.schema)
    for event in events.to_pylist():
        session.send(event)
    session.finish()
    assert sum("beyond the year 2200" in message for message in caplog.messages) == 1


def test_far_times_are_told_whatever_their_unit(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    events = pa.table({"time": [8 * 10**9, 8 * 10**9 + 1], "type": ["A", "B"]})
    options: dict[str, Any] = {"time_unit": "s"}
    engine, session = QUERY.incremental(events.schema, **options), QUERY.push(events.schema, **options)
    store = trendweave.EventStore.create(tmp_path / "store", events.schema, type="type", **options)

    QUERY.run(events, **options)
    QUERY.run(events, **options, device="threads")
    engine.push(engine.start(), events)
    for event in events.to_pylist():
        session.send(event)
    session.finish()
    store.append(events, **options)

    assert sum("beyond the year 2200; give time_unit='ms'" in message for message in caplog.messages) == 5
    with pytest.raises(DataError, match="beyond the year 9999"):
        QUERY.run(in_millis()[0], **options)


def test_pieces_and_stores_tell_of_them_too(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    events = in_millis()[0]
    engine = QUERY.incremental(events.schema)
    state = engine.start()
    for piece in (events.slice(0, 0), events.slice(0, 2), events.slice(2)):
        state, _ = engine.push(state, piece)
    assert sum("beyond the year 2200" in message for message in caplog.messages) == 1
    caplog.clear()
    store = trendweave.EventStore.create(tmp_path / "store", events.schema, type="type")
    store.append(events)
    assert "give time_unit='ms' if they are milliseconds" in caplog.messages[0]
    caplog.clear()
    read = trendweave.EventStore.create(tmp_path / "read", events.schema, type="type", time_unit="ms")
    read.append(events, time_unit="ms")
    assert not caplog.messages
