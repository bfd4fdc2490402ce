"""Lists under WITHIN alone on streams: each trend once, and absence that times out although its key is silent."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.certainty import certain
from tests.reference.query import Query
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import rows_of_trends, shown_text, trend_rows
from tests.runners.test_certain_matches import PLAIN
from tests.runners.test_each_trend_once import ALSO_REFUSED
from tests.runners.test_trends_against_reference import counted, planned
from tests.streaming.simulated import SimulatedStream
from tests.streaming.test_state_against_reference import END, event, moved, takes_any_event


@given(
    queries_and_streams(empty=False, conjunction=False, lists=True, moving=True)
    | queries_and_streams(negation=True, empty=False, conjunction=False, lists=True, moving=True),
    hs.booleans(),
    hs.data(),
)
@examples(150)
def test_any_stream_gives_the_rows_of_one_batch(
    case: tuple[Query, list[dict]], complete: bool, data: hs.DataObject
) -> None:
    query, events = replace(case[0], complete=complete), data.draw(hs.permutations(moved(case[1])))
    asked = planned(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x, s)"), ALSO_REFUSED)
    stream = SimulatedStream(asked, data.draw(hs.integers(0, 8)), data.draw(hs.integers(1, 3)))
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=4)))
    found, in_time = [], []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        found += stream.advance()
        if stream.watermark:
            here = rows_of_trends(query, in_time, certain(query, in_time, stream.watermark / 1_000), PLAIN)
            assert counted(here) <= counted(found), f"{asked} at {stream.watermark}"
        in_time += [
            one
            for one in events[low:high]
            if one["time"] is None or not stream.watermark or one["time"] * 1_000 >= stream.watermark
        ]
        found += stream.push(events[low:high])
    found += stream.push([END]) + stream.advance()
    assert counted(found) == counted(trend_rows(query, in_time, PLAIN)), str(asked)
    assert stream.held() <= takes_any_event(query)


def test_a_key_without_further_events() -> None:
    query = "RETURN EACH FIRST(A.time) AS a PATTERN SEQ(A, NOT B) WHERE [k] GROUP-BY k WITHIN 5 seconds"
    stream = SimulatedStream(trendweave.query(query), 0)
    assert stream.push([event(1_001, "A", 1), event(1_001, "A", 2)]) == []
    assert stream.advance() + stream.push([event(1_002, "B", 2), event(1_005, "C", 3)]) == []
    assert stream.advance() + stream.push([event(1_006, "C", 3)]) == []
    assert stream.advance() == [{"time": 1_006, "k": 1, "a": 1_001}]
    assert stream.push([END]) + stream.advance() == []
    assert stream.held() == 0
