"""Events piece by piece give the rows of one batch, whatever the cuts and the order of arrival."""

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
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from tests.runners.test_local_against_reference import planned
from trendweave.errors import DataError
from trendweave.runners.incremental import State


def pieces(data: hs.DataObject, events: list[dict[str, Any]]) -> list[tuple[list[dict[str, Any]], int | None]]:
    """The stream cut anywhere, each piece with a watermark that is not ahead of anything still to come."""
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=4)))
    parts = []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        to_come = [event["time"] for event in events[high:] if event["time"] is not None]
        latest = min(to_come) if to_come else 20
        watermark = data.draw(hs.none() | hs.integers(latest - 6, latest))
        parts.append((events[low:high], watermark))
    return parts


@given(queries_and_streams(empty=False), hs.data())
@examples(300)
def test_any_cut_gives_the_rows_of_one_batch(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    engine = planned(query).incremental(SCHEMA)
    state, found = engine.start(), []
    for piece, watermark in pieces(data, events):
        # The state survives being written and read between any two pieces.
        state, table = engine.push(State.from_bytes(state.to_bytes()), table_of(piece), watermark)
        found += rows_of(table)
    found += rows_of(engine.finish(state))
    assert state.late == 0
    assert_same_rows(rows(query, events), found, text(query))


@given(queries_and_streams(empty=False), hs.data())
@examples(100)
def test_late_events_are_dropped_and_counted(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    engine = planned(query).incremental(SCHEMA)
    state, found, in_time, watermark = engine.start(), [], [], None
    late = 0
    for event in events:
        is_event = event["time"] is not None and event["type"] is not None
        if is_event and watermark is not None and event["time"] < watermark:
            late += 1
        else:
            in_time.append(event)
        moved = data.draw(hs.none() | hs.integers(-6, 15))
        watermark = moved if watermark is None else watermark if moved is None else max(watermark, moved)
        state, table = engine.push(state, table_of([event]), moved)
        found += rows_of(table)
    found += rows_of(engine.finish(state))
    assert state.late == late
    assert_same_rows(rows(query, in_time), found, text(query))


def test_rows_come_out_when_the_watermark_passes_the_end_of_their_window() -> None:
    # A+ in windows of ten seconds: a1 a2 | a12
    engine = trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN 10 s SLIDE 10 s").incremental(SCHEMA)
    state, table = engine.push(engine.start(), table_of([{"time": 1, "type": "A"}, {"time": 2, "type": "A"}]), 9)
    assert table.num_rows == 0
    state, table = engine.push(state, table_of([{"time": 12, "type": "A"}]), 10)
    assert rows_of(table) == [{"window_start": 0, "window_end": 10, "count": 3}]
    assert state.rows is not None
    assert state.rows.num_rows == 1  # only a12 is still needed
    state, table = engine.push(state, table_of([{"time": 3, "type": "A"}]), 5)  # late, and the watermark stays
    assert (state.late, state.watermark, table.num_rows) == (1, 10, 0)
    assert rows_of(engine.finish(state)) == [{"window_start": 10, "window_end": 20, "count": 1}]


def test_a_row_without_a_type_is_no_event_and_so_never_late() -> None:
    engine = trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN 10 s SLIDE 10 s").incremental(SCHEMA)
    state, _ = engine.push(engine.start(), table_of([{"time": 1, "type": "A"}]), 10)
    state, _ = engine.push(state, table_of([{"time": 3, "type": None}, {"time": 4, "type": "A"}]))
    assert (state.late, state.dropped.null_type, state.dropped.rows) == (1, 1, 2)


def test_state_is_bounded_by_the_window() -> None:
    engine = trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN 10 s SLIDE 5 s").incremental(SCHEMA)
    state, sizes = engine.start(), []
    for second in range(200):
        state, _ = engine.push(state, table_of([{"time": second, "type": "A"}]), second)
        sizes.append(len(state.to_bytes()))
    assert max(sizes[100:]) <= max(sizes[20:100])


def test_one_window_over_everything_comes_at_the_end() -> None:
    engine = trendweave.query("RETURN COUNT(*) PATTERN A+").incremental(SCHEMA)
    state, table = engine.push(engine.start(), table_of([{"time": 1, "type": "A"}]), 100)
    assert table.num_rows == 0
    assert [row["count"] for row in rows_of(engine.finish(state))] == [1]


def test_timestamps_take_timestamps_as_watermark() -> None:
    times = pa.array([0, 5_000_000, 11_000_000], pa.timestamp("us", "UTC"))
    table = pa.table({"time": times, "type": ["A", "A", "A"]})
    engine = trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN 10 s SLIDE 10 s").incremental(table)
    _, closed = engine.push(engine.start(), table, times[2].as_py())
    assert closed.column("count").to_pylist() == [3]
    assert closed.schema == engine.schema


@pytest.mark.parametrize("data", [b"", b"nonsense", State().to_bytes().replace(b'"version": 2', b'"version": 7')])
def test_a_state_that_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="TW311"):
        State.from_bytes(data)


def test_the_schema_of_a_result_is_known_before_it_is_there() -> None:
    query = trendweave.query("RETURN g, COUNT(*), SUM(A.y), MIN(A.x) PATTERN A+ GROUP-BY g WITHIN 1 s SLIDE 1 s")
    table = table_of([{"time": 1, "type": "A"}])
    for numbers in ("decimal", "int64", "text", "float64", "log2"):
        expected = query.schema(SCHEMA, numbers=numbers)
        assert query.schema(table, numbers=numbers) == expected
        assert query.run(table, numbers=numbers).schema.remove_metadata() == expected


def test_pieces_are_read_in_the_types_that_the_query_was_made_for() -> None:
    query = trendweave.query("RETURN COUNT(*), SUM(A.x) PATTERN A+ WITHIN 10 s SLIDE 10 s")
    made_for = pa.schema({"time": pa.timestamp("us"), "type": pa.string(), "x": pa.int64()})
    engine = query.incremental(made_for)

    def piece(times: list[int], x: object) -> pa.Table:
        return pa.table({"time": pa.array(times, pa.timestamp("ms")), "type": ["A"] * len(times), "x": x})

    state, _ = engine.push(engine.start(), piece([1_000, 2_000, 30_000], pa.array([1, None, 1], pa.int8())))
    state, _ = engine.push(state, piece([40_000], pa.nulls(1)))
    counts = [int(row["count"]) for row in engine.finish(state).to_pylist()]
    assert counts == [3, 1, 1]
    for wrong in ([1.5], ["1"]):
        with pytest.raises(DataError, match="TW312"):
            engine.push(engine.start(), piece([1_000], wrong))
    with pytest.raises(DataError, match="TW312"):
        engine.push(engine.start(), piece([1_000], [1]).drop_columns(["time"]))


@pytest.mark.parametrize("watermark", [float("inf"), float("nan"), "x", 2**63, 1.5])
def test_a_watermark_is_a_time(watermark: object) -> None:
    engine = trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN 10 s SLIDE 10 s").incremental(SCHEMA)
    with pytest.raises(DataError, match="TW312"):
        engine.push(engine.start(), table_of([]), watermark)


def test_a_state_belongs_to_its_query() -> None:
    one = trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN 10 s SLIDE 10 s").incremental(SCHEMA)
    other = trendweave.query("RETURN COUNT(*) PATTERN B+ WITHIN 20 s SLIDE 20 s").incremental(SCHEMA)
    state, _ = one.push(one.start(), table_of([{"time": 1, "type": "A"}]), 11)
    with pytest.raises(DataError, match="TW311"):
        other.finish(State.from_bytes(state.to_bytes()))
    with pytest.raises(DataError, match="TW311"):
        other.push(state, table_of([]))
