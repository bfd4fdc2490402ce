"""The operator of Spark streams keeps numbers, and no events that the watermark has passed."""

from __future__ import annotations

import trendweave
from tests.folding.test_state_size import COLUMNS, DAY, FIRST, QUERY, a_day
from tests.streaming.simulated import SimulatedStream


def test_the_operator_of_streams_keeps_no_event_that_the_watermark_has_passed() -> None:
    sizes = {}
    for of_a_key in (6, 60):
        stream = SimulatedStream(trendweave.query(QUERY + "WITHIN 7 days SLIDE 7 days"), 60, schema=COLUMNS)
        for day in range(3):
            stream.advance()
            stream.push(a_day(day, of_a_key, keys=20).to_pylist())
        stream.advance()
        stream.push([{"time": FIRST + 3 * DAY, "type": "Z", "x": 0, "k": 0}])
        stream.advance()
        stream.push([{"time": FIRST + 3 * DAY + 1, "type": "A", "x": 0, "k": key} for key in range(20)])
        sizes[of_a_key] = stream.held_bytes()
    assert sizes[60] < 2 * sizes[6]
