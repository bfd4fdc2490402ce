"""AFTER MATCH and PER START on streams under WITHIN alone: what a match takes away outlives its rows, and no longer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.certainty import certain
from tests.reference.query import Query
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import rows_of_trends, shown_text, trend_rows
from tests.runners.test_certain_matches import PLAIN, is_told
from tests.runners.test_each_trend_once import ALSO_REFUSED
from tests.runners.test_trends_against_reference import counted, planned
from tests.streaming.simulated import SimulatedStream
from tests.streaming.test_state_against_reference import END, event, moved


@given(queries_and_streams(choice=True, whole=True, empty=False, conjunction=False, lists=True, moving=True), hs.data())
@examples(100)
def test_any_stream_gives_the_rows_of_one_batch(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case[0], data.draw(hs.permutations(moved(case[1])))
    asked = planned(shown_text(query, "TRENDS(x, s)"), ALSO_REFUSED)
    stream = SimulatedStream(asked, data.draw(hs.integers(0, 8)), data.draw(hs.integers(1, 3)))
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=4)))
    found, in_time = [], []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        found += stream.advance()
        if is_told(query) and stream.watermark:
            here = rows_of_trends(query, in_time, certain(query, in_time, stream.watermark / 1_000, ("x", "s")), PLAIN)
            assert counted(here) <= counted(found), f"{asked} at {stream.watermark}"
        in_time += [
            one
            for one in events[low:high]
            if one["time"] is None or not stream.watermark or one["time"] * 1_000 >= stream.watermark
        ]
        found += stream.push(events[low:high])
    found += stream.push([END]) + stream.advance()
    assert counted(found) == counted(trend_rows(query, in_time, PLAIN)), str(asked)


def test_what_is_taken_away_is_remembered_and_forgotten() -> None:
    # A+ WITHIN 3: (a1 a2 a3) takes away a2 and a3, also once the rows of a1 are gone.
    query = (
        "RETURN EACH FIRST(A.time) AS first, LENGTH AS n PATTERN A+ WHERE [k] WITHIN 3 seconds "
        "SEMANTICS skip-till-next-match AFTER MATCH SKIP PAST LAST EVENT"
    )
    stream = SimulatedStream(trendweave.query(query), 0)
    found = []
    for time in (1_001, 1_002, 1_003, 1_004, 1_005, 1_009):
        found += stream.push([event(time, "A", 1)]) + stream.advance()
    assert [row["time"] for row in found] == [1_003, 1_005], "nothing goes on within three seconds"
    found += stream.push([END]) + stream.advance()
    assert [(row["time"], row["first"], row["n"]) for row in found] == [
        (1_003, 1_001, 3),
        (1_005, 1_004, 2),
        (1_009, 1_009, 1),
    ]
    assert stream.held() == 0
