"""Sessions against the reference twin: aggregates and lists, on a table, in pieces, and on a stream."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Attribute, Query, Session, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import shown_text, trend_rows
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import counted
from tests.runners.test_trends_against_reference import planned as trends_planned
from tests.streaming.simulated import SimulatedStream
from tests.streaming.test_state_against_reference import END, moved

aggregated = queries_and_streams(empty=False)
shown = queries_and_streams(empty=False, conjunction=False)
gaps = hs.integers(1, 6)


@given(aggregated, gaps)
@examples(200)
def test_aggregates(case: tuple[Query, list[dict]], gap: int) -> None:
    query, events = replace(case[0], window=Session(gap)), case[1]
    assert_same_rows(rows(query, events), rows_of(planned(query).run(table_of(events))), text(query))


@given(shown, gaps, hs.booleans())
@examples(100)
def test_lists(case: tuple[Query, list[dict]], gap: int, complete: bool) -> None:
    query, events = replace(case[0], window=Session(gap)), case[1]
    asked = trends_planned(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x, s)"))
    expected = trend_rows(query, events, (Attribute("x"), Attribute("s")), complete)
    assert counted(rows_of(asked.run(table_of(events)))) == counted(expected), str(asked)


@given(aggregated, gaps, hs.data())
@examples(150)
def test_streams(case: tuple[Query, list[dict]], gap: int, data: hs.DataObject) -> None:
    query, events = replace(case[0], window=Session(gap)), data.draw(hs.permutations(moved(case[1])))
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
    # Of ended sessions nothing is left; the event that ends the stream has a session of its own.
    assert stream.held() + stream.carries() <= 1
