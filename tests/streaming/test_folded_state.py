"""The state of streams whose rows are folded: what it holds, what a micro-batch touches, and who may go on with it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.folding.expected import Case, expected_rows, folded_cases
from tests.folding.tables import SCHEMA, assert_same_rows
from tests.profiles import examples
from tests.reference.query import text
from tests.runners.test_local_against_reference import planned
from tests.streaming.simulated import SimulatedStream
from tests.streaming.test_damaged_state import other
from tests.streaming.test_state_against_reference import END, moved
from trendweave.errors import DataError
from trendweave.programs.carry import keep_tables
from trendweave.runners.spark.stream_state import FOLDED_VERSION, STATE_VERSION, About, TableState, check_about

HOUR = "RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN 1 hour SLIDE 1 hour"
SLIDING = "RETURN k, COUNT(*), SUM(A.x) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN 1 hour SLIDE 1 minute"
BEGIN = 1_000 * 3_600


def half_a_stream(query: str, events_at_once: int, batches: int = 20) -> SimulatedStream:
    """Twenty minutes of an hour, one each micro-batch, of ten keys."""
    stream = SimulatedStream(trendweave.query(query), delay=0)
    for number in range(batches):
        stream.advance()
        times = [BEGIN + 60 * number + one * 60 // events_at_once for one in range(events_at_once)]
        stream.push([event(time, one) for one, time in enumerate(times)])
    return stream


def event(time: int, number: int) -> dict[str, Any]:
    return {"time": time, "type": "AB"[number // 10 % 2], "x": number, "y": 0.0, "s": "", "k": number % 10, "g": ""}


@pytest.mark.parametrize("query", [HOUR, SLIDING])
def test_events_do_not_grow_the_state(query: str) -> None:
    few, many = (half_a_stream(query, events) for events in (60, 600))
    assert few.folds
    # Rows of the last two micro-batches are there at most: those before it wait for the next one.
    assert _waiting_rows(few) <= 2 * 60
    assert _waiting_rows(many) <= 2 * 600
    assert _bytes_carried(many) < 1.5 * _bytes_carried(few)


def _waiting_rows(stream: SimulatedStream) -> int:
    held = [stream.tester.peekMapState("pieces", (bucket,)) for bucket in range(stream.buckets)]
    return sum(value[2] for pieces in held for value in pieces.values())


def _bytes_carried(stream: SimulatedStream) -> int:
    return sum(len(content) for bucket in range(stream.buckets) for content in stream._carried(bucket))


@given(folded_cases(max_events=10), hs.data())
@examples(40)
def test_events_that_come_before_timers_expire(case: Case, data: hs.DataObject) -> None:
    query, events = case[0], data.draw(hs.permutations(moved(case[1])))
    buckets = data.draw(hs.integers(1, 2))
    stream = SimulatedStream(planned(query), data.draw(hs.integers(0, 8)), buckets, schema=SCHEMA)
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=6)))
    found, in_time = [], []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        watermark = stream.next_watermark()
        in_time += [
            event
            for event in events[low:high]
            if event["time"] is None or not watermark or event["time"] * 1_000 >= watermark
        ]
        found += stream.push_as_spark(events[low:high])
    found += stream.push_as_spark([END]) + stream.push_as_spark([])
    assert_same_rows(expected_rows(query, in_time), found, query, text(query))
    assert stream.held() == 0
    assert not stream.folds or stream.carries() == 0


def test_a_damaged_table() -> None:
    stream = half_a_stream(HOUR, 60)
    bucket = next(bucket for bucket in range(3) if stream._carried(bucket))
    tables = stream.tester.peekMapState("tables", (bucket,))
    damaged = {name: (other(content), checksum) for name, (content, checksum) in tables.items()}
    stream.tester.updateMapState("tables", (bucket,), damaged)
    stream.advance()
    with pytest.raises(DataError, match="TW311: the carried state is damaged"):
        stream.push([event(BEGIN + 1_200, key) for key in range(10)])


def test_an_earlier_state_goes_on_and_one_that_was_folded_is_refused_where_rows_are_not() -> None:
    columns = pa.schema([("time", pa.int64())])
    waits, folds = (
        About(version, "owner", 3, columns.serialize().to_pybytes()) for version in (STATE_VERSION, FOLDED_VERSION)
    )
    assert check_about(waits.as_tuple(), folds, columns) == folds
    with pytest.raises(DataError, match="TW311: the state has version 3, this release reads version 1"):
        check_about(folds.as_tuple(), waits, columns)


class Watched:
    """A map of the state that notes which tables are asked for and written."""

    def __init__(self) -> None:
        self.values_of: dict[tuple[str], Any] = {}
        self.read: list[str] = []
        self.written: list[str] = []

    def getValue(self, key: Any) -> Any:
        self.read.append(key[0])
        return self.values_of.get(key)

    def updateValue(self, key: Any, value: Any) -> None:
        self.written.append(key[0])
        self.values_of[key] = value

    def removeKey(self, key: Any) -> None:
        del self.values_of[key]


class Handle:
    def __init__(self) -> None:
        self.map = Watched()

    def getMapState(self, name: str, key: Any, value: Any) -> Watched:
        return self.map


def test_only_tables_that_are_asked_for_are_read_and_only_changed_ones_written() -> None:
    handle = Handle()
    state: Any = TableState(handle)  # type: ignore[arg-type]
    tables = {name: pa.table({"x": [number]}) for number, name in enumerate(("keys", "panes 1", "panes 2"))}
    state.write(state.read(), tables)
    handle.map.read.clear()
    handle.map.written.clear()

    before = state.read()
    assert before["panes 2"].equals(tables["panes 2"])
    state.write(before, keep_tables(before, ("keys", "panes 2"), {"panes 3": pa.table({"x": [3]})}))

    assert handle.map.read == ["", "panes 2"]
    assert handle.map.written == ["panes 3", ""]
    after = state.read()
    assert set(after) == {"keys", "panes 2", "panes 3"}
    # A plain mapping is compared table by table.
    handle.map.written.clear()
    state.write(after, dict(after) | {"keys": pa.table({"x": [9]})})
    assert handle.map.written == ["keys"]
    state.write(state.read(), {})
    assert handle.map.values_of == {}
