"""Interval queries on streams and in sessions against the reference twin: any cut into pieces, any order within the
watermark, late events: the rows are those of one batch over the events that were not late."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

import trendweave
from tests.intervals.engines import ARROW, full_text, planned
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.intervals.query import Query
from tests.reference.intervals.results import rows
from tests.reference.intervals.streams import COLUMN_TYPES, queries_and_events
from tests.streaming.simulated import SimulatedStream
from trendweave.errors import DataError, ExecutionError

#: Times of drawn events lie around 0, where Spark knows no watermark.
SHIFT = 1_000
SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in COLUMN_TYPES.items()])
TYPED = SCHEMA.append(pa.field("type", pa.string()))


def with_types(events: list[dict[str, Any]], source: str | None) -> list[dict[str, Any]]:
    return [
        event | {"time": None if event["time"] is None else event["time"] + SHIFT, "type": source} for event in events
    ]


def final_at(row: dict[str, Any]) -> int:
    """The watermark with which a row comes out: at the end of its window, or one step after it became certain."""
    return row["window_end"] if "window_end" in row else row["time" if "time" in row else "end"] + 1


@given(queries_and_events(windowed=True), hs.data())
@examples(200)
def test_any_stream_gives_the_rows_of_one_batch(case: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    query, asked = case[0], planned(case[0])
    assume(asked is not None)
    source = asked.plan.source
    # Mostly in order, so that some are late and many are not.
    events = with_types(case[1], source)
    if data.draw(hs.booleans()):
        events = data.draw(hs.permutations(events))
    stream = SimulatedStream(asked, data.draw(hs.integers(0, 8)), data.draw(hs.integers(1, 3)), schema=TYPED)
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=6)))
    found, in_time, late, known = [], [], 0, []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        found += stream.advance()
        known.append((stream.watermark // 1_000, len(found)))
        for event in events[low:high]:
            behind = event["time"] is not None and stream.watermark and event["time"] * 1_000 < stream.watermark
            late += bool(behind)
            in_time += [] if behind else [event]
        found += stream.push(events[low:high])
    end = dict.fromkeys(TYPED.names) | {"time": 100_000, "type": "end of the stream"}
    found += stream.push([end]) + stream.advance()
    expected = rows(query, in_time)
    if query.return_situations:
        # A stream has no end at which situations that still run could come out.
        expected = [row for row in expected if row["end"] is not None]
    assert_same_rows(expected, found, full_text(query))
    for watermark, count in known:
        assert count == sum(final_at(row) <= watermark for row in expected), "no row comes too early or too late"
    assert stream.late == late
    # Nothing waits any more, and no timer does.
    assert all(not stream.tester.peekMapState("pieces", (bucket,)) for bucket in range(stream.buckets))
    stream.push([end | {"time": 200_000}])
    assert stream.advance() == []
    assert stream.timers() == []


QUERY = trendweave.query(
    "FROM X PARTITION BY k DEFINE A AS a > 0, B AS b > 0 PATTERN A meets; before B WITHIN 10 seconds RETURN k, SUM(A.a)"
)
COUNTS = trendweave.query(
    "FROM X PARTITION BY k DEFINE A AS a > 0, B AS b > 0 PATTERN A meets B WITHIN 10 seconds EVERY 10 seconds "
    "RETURN COUNT(*)"
)
PLAIN = pa.schema([("time", pa.int64()), ("k", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])


def event(time: int, k: int, a: int, b: int) -> dict[str, Any]:
    return {"time": time, "k": k, "a": a, "b": b}


def test_a_long_stream_of_new_partitions_does_not_grow_the_state() -> None:
    stream = SimulatedStream(QUERY, 2, schema=PLAIN)
    held, matches = [], 0
    for second in range(SHIFT, SHIFT + 400, 4):
        matches += len(stream.advance())
        for key in range(second * 10, second * 10 + 6):
            stream.push([event(second, key, 1, 0), event(second + 1, key, 0, 1), event(second + 2, key, 0, 0)])
        held.append(stream.held_bytes())
    assert matches > 500
    assert max(held[60:]) <= 1.1 * max(held[20:60])
    assert stream.late == 0
    stream.push([event(10_000, 0, 0, 0)])
    stream.advance()
    stream.push([event(20_000, 0, 0, 0)])
    stream.advance()
    assert stream.held_bytes() < held[-1] / 3


def test_a_count_comes_out_at_the_end_of_its_window_though_its_partition_is_silent() -> None:
    query = trendweave.query(str(COUNTS).replace("COUNT(*)", "k, COUNT(*)"))
    stream = SimulatedStream(query, 0, schema=PLAIN.append(pa.field("type", pa.string())))
    stream.push([event(1_001, 1, 1, 0) | {"type": "X"}, event(1_002, 1, 0, 1) | {"type": "X"}])
    found = []
    for second in (1_009, 1_010, 1_011):
        stream.push([event(second, 2, 0, 0) | {"type": "another"}])
        found.append(stream.advance())
    assert found == [[], [{"window_start": 1_000, "window_end": 1_010, "k": 1, "count": 1}], []]


def half_a_stream() -> SimulatedStream:
    stream = SimulatedStream(QUERY, 1, buckets=1, schema=PLAIN)
    for second in range(SHIFT, SHIFT + 4):
        stream.advance()
        stream.push([event(second, 1, 1, 0)])
    return stream


@pytest.mark.parametrize("part", ["content", "checksum"])
def test_a_damaged_carry_is_noticed(part: str) -> None:
    stream = half_a_stream()
    content, checksum = stream.tester.peekValueState("carry", (0,))
    damaged = (content, checksum + 1) if part == "checksum" else (content[:-9] + b"x" + content[-8:], checksum)
    assert damaged != (content, checksum)
    stream.tester.updateValueState("carry", (0,), damaged)
    with pytest.raises(DataError, match="TW311: the carried state is damaged"):
        stream.advance()


def test_the_state_of_another_query_is_refused() -> None:
    stream = half_a_stream()
    other = trendweave.query(str(QUERY).replace("10 s", "20 s"))
    assert other != QUERY
    stream.tester.processor.owner = other.incremental(PLAIN).owner
    with pytest.raises(DataError, match="TW311: the checkpoint was made for another query"):
        stream.advance()


# Sessions


@given(queries_and_events(windowed=True), hs.data())
@examples(200)
def test_events_and_tables_pushed_in_any_mixture(case: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    query, asked = case[0], planned(case[0])
    assume(asked is not None)
    events = data.draw(hs.permutations(case[1])) if data.draw(hs.booleans()) else case[1]
    delay = data.draw(hs.integers(0, 8))
    session = asked.push(SCHEMA, watermark=f"{delay} seconds")
    found, in_time, latest, late, rest = [], [], None, 0, events
    while rest:
        if data.draw(hs.integers(0, 9)) == 0:
            session = asked.push(SCHEMA, watermark=f"{delay} seconds", state=session.state())
        size = data.draw(hs.integers(1, 3))
        piece, rest = rest[:size], rest[size:]
        if size == 1:
            found += session.send(piece[0])
        else:
            found += session.send_table(pa.Table.from_pylist(piece, SCHEMA)).to_pylist()
        for one in piece:
            behind = latest is not None and one["time"] is not None and one["time"] < latest - delay
            late += behind
            in_time += [] if behind else [one]
        latest = max((one["time"] for one in in_time if one["time"] is not None), default=None)
    assert session.late == late
    found += session.finish().to_pylist()
    assert_same_rows(rows(query, in_time), found, full_text(query))


def test_a_match_comes_with_the_first_event_after_the_step_that_makes_it_certain() -> None:
    session = QUERY.push(PLAIN)
    assert session.watermark is None
    assert [session.send(event(time, 1, int(time < 3), int(time >= 4))) for time in range(5)] == [[]] * 5
    # Another event of time 4 could still have no B.
    assert session.send(event(5, 2, 0, 0)) == [
        {"time": 4, "A_start": 0, "A_end": 3, "B_start": 4, "B_end": None, "k": 1, "sum_A_a": 3}
    ]
    assert session.watermark == 5
    assert session.send(event(4, 1, 1, 1)) == []
    assert (session.late, session.dropped.rows) == (1, 6)
    assert session.finish().num_rows == 0


def test_windows_are_counted_when_the_watermark_reaches_their_end() -> None:
    session = COUNTS.push(PLAIN, watermark="2 seconds")
    for key in (1, 2):
        session.send(event(0, key, 1, 0))
        assert session.send(event(1, key, 0, 1)) == []
    assert session.send(event(11, 3, 0, 0)) == []
    assert session.send(event(12, 3, 0, 0)) == [{"window_start": 0, "window_end": 10, "count": 2}]


def test_what_cannot_be_pushed_is_refused() -> None:
    with pytest.raises(ExecutionError, match="TW452"):
        trendweave.query("FROM X DEFINE A AS a > 0, B AS b > 0 PATTERN A before B").push(PLAIN)
    other = trendweave.query("FROM X DEFINE A AS a > 0 RETURN SITUATIONS").push(PLAIN)
    with pytest.raises(DataError, match="TW311"):
        QUERY.push(PLAIN, state=other.state())
    with pytest.raises(DataError, match="TW312: an event lacks b, k"):
        QUERY.push(PLAIN).send({"time": 1, "a": 1})
