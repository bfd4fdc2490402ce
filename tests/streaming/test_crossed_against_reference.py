"""The features of matches on streams, against the reference twin: any cut into micro-batches, any order within the
watermark, late events; and the same stream pushed into a session of this process."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import crossed_cases
from tests.reference.trend_rows import trend_rows
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from tests.runners.test_crossed_against_reference import list_text
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import PLAIN, counted
from tests.runners.test_trends_against_reference import planned as list_planned
from tests.streaming.simulated import SimulatedStream
from tests.streaming.test_state_against_reference import END, moved

Events = list[dict[str, Any]]


def streamed(asked: trendweave.Query, events: Events, data: hs.DataObject) -> tuple[Events, Events]:
    """The rows of a stream of these events, and the events that were not late."""
    stream = SimulatedStream(asked, data.draw(hs.integers(0, 8)), data.draw(hs.integers(1, 3)))
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
    return found + stream.push([END]) + stream.advance(), in_time


def pushed(asked: trendweave.Query, events: Events, data: hs.DataObject) -> Events:
    session = asked.push(SCHEMA, watermark="100 seconds")
    cut = data.draw(hs.integers(0, len(events)))
    return [
        row for batch in (events[:cut], events[cut:], [END]) for row in rows_of(session.send_table(table_of(batch)))
    ]


@given(crossed_cases(lists=False, windowed=True), hs.data())
@examples(80)
def test_aggregates(case: tuple[Query, Events], data: hs.DataObject) -> None:
    query, events = case[0], data.draw(hs.permutations(moved(case[1])))
    asked = planned(query)
    found, in_time = streamed(asked, events, data)
    assert_same_rows(rows(query, in_time), found, text(query))
    assert_same_rows(rows(query, events), pushed(asked, events, data), text(query))


@given(crossed_cases(lists=True, windowed=True), hs.data())
@examples(80)
def test_lists(case: tuple[Query, Events], data: hs.DataObject) -> None:
    query, events = case[0], data.draw(hs.permutations(moved(case[1])))
    asked = list_planned(list_text(query))
    found, in_time = streamed(asked, events, data)
    assert counted(found) == counted(trend_rows(query, in_time, PLAIN)), str(asked)
    assert counted(pushed(asked, events, data)) == counted(trend_rows(query, events, PLAIN)), str(asked)
