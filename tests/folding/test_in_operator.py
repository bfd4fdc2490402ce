"""The stateful operator of streams against the twin's counters: any cut into micro-batches, any order, late events."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as hs

from tests.folding.expected import Case, expected_rows, folded_cases
from tests.folding.tables import SCHEMA, assert_same_rows
from tests.profiles import examples
from tests.reference.query import text
from tests.runners.test_local_against_reference import planned
from tests.streaming.simulated import SimulatedStream
from tests.streaming.test_state_against_reference import END, moved


@given(folded_cases(max_events=10), hs.data())
@examples(40)
def test_any_stream_gives_the_rows_of_one_batch(case: Case, data: hs.DataObject) -> None:
    query, events = case[0], data.draw(hs.permutations(moved(case[1])))
    stream = SimulatedStream(planned(query), data.draw(hs.integers(0, 8)), data.draw(hs.integers(1, 3)), schema=SCHEMA)
    assume(stream.folds)
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=5)))
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
    assert_same_rows(expected_rows(query, in_time), found, query, text(query))
    assert stream.held() == 0
    assert stream.carries() == 0, "windows that are closed are forgotten"
