"""The stateful operator against the reference twin: any cut into micro-batches, any order within the watermark, late
events: the rows are those of one batch over the events that were not late."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import leaves
from tests.reference.query import Attribute, Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import shown_text, trend_rows
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import counted
from tests.runners.test_trends_against_reference import planned as trends_planned
from tests.streaming.simulated import SimulatedStream

#: Times of drawn streams lie around 0, where Spark knows no watermark.
SHIFT = 1_000
#: Moves the watermark, and is an event of no type, which not even ANY reads.
END = {"time": 100_000, "type": None, "x": None, "y": None, "s": None, "k": None, "g": None}


def moved(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event | {"time": None if event["time"] is None else event["time"] + SHIFT} for event in events]


def takes_any_event(query: Query) -> bool:
    """Can an event of any type stand between two others, or be read itself?"""
    return query.strategy == "contiguous" or any(leaf.type is None for leaf, _ in leaves(query.pattern))


@given(queries_and_streams(empty=False, windowed=True), hs.data())
@examples(250)
def test_any_stream_gives_the_rows_of_one_batch(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case[0], data.draw(hs.permutations(moved(case[1])))
    stream = SimulatedStream(planned(query), data.draw(hs.integers(0, 8)), data.draw(hs.integers(1, 3)))
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=4)))
    found, in_time = [], []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        found += stream.advance()
        in_time += [
            event
            for event in events[low:high]
            if event["time"] is None or not stream.watermark or event["time"] * 1_000 >= stream.watermark
        ]
        found += stream.push(events[low:high])
    found += stream.push([END]) + stream.advance()
    assert_same_rows(rows(query, in_time), found, text(query))
    # State of closed windows is gone; where any event can play a part, the last one is held.
    assert stream.held() <= takes_any_event(query)


@given(queries_and_streams(negation=False, empty=False, windowed=True), hs.data())
@examples(100)
def test_early_rows_end_in_the_final_ones(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = replace(case[0], strategy="skip-till-any-match"), data.draw(hs.permutations(moved(case[1])))
    stream = SimulatedStream(planned(query), 1_000, early=True)
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=4)))
    latest: dict[tuple, dict[str, Any]] = {}
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        for row in stream.push(events[low:high]):
            place = tuple(row[name] for name in row if name in ("time", "window_start", "window_end"))
            groups = tuple(row[column.name] for column in stream.program.plan.groups)
            latest[place + groups] = row
    assert_same_rows(rows(query, events), list(latest.values()), text(query))


@pytest.mark.parametrize("window", ["WITHIN 10 s SLIDE 10 s", "WITHIN 10 s SLIDE 3 s", "WITHIN 10 s"])
def test_a_long_stream_of_new_keys_does_not_grow_the_state(window: str) -> None:
    import trendweave

    query = trendweave.query(f"RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [k] {window}")
    stream = SimulatedStream(query, 2)
    held = []
    for second in range(SHIFT, SHIFT + 400, 2):
        stream.advance()
        keys = range(second * 10, second * 10 + 6)
        stream.push([event(second, "A", key) for key in keys] + [event(second + 1, "B", key) for key in keys])
        held.append(stream.held())
    assert Counter(held[100:]).total() == 100
    assert max(held[100:]) <= max(held[10:100])
    assert stream.late == 0


def event(time: int, kind: str, key: int) -> dict[str, Any]:
    return {"time": time, "type": kind, "x": 0, "y": 0.0, "s": "", "k": key, "g": ""}


@given(queries_and_streams(empty=False, conjunction=False, lists=True, windowed=True), hs.booleans(), hs.data())
@examples(80)
def test_trends_come_out_when_their_window_closes(
    case: tuple[Query, list[dict]], complete: bool, data: hs.DataObject
) -> None:
    query, events = case[0], data.draw(hs.permutations(moved(case[1])))
    asked = trends_planned(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x, s)"))
    stream = SimulatedStream(asked, 100, data.draw(hs.integers(1, 3)))
    session = asked.push(SCHEMA, watermark="100 seconds")
    cut = data.draw(hs.integers(0, len(events)))
    found, pushed = [], []
    for batch in (events[:cut], events[cut:], [END]):
        found += stream.advance() + stream.push(batch)
        pushed += rows_of(session.send_table(table_of(batch)))
    found += stream.advance()
    expected = counted(trend_rows(query, events, (Attribute("x"), Attribute("s")), complete))
    assert counted(found) == expected
    assert counted(pushed) == expected
