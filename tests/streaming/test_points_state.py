"""Trend queries whose events lie in situations, on streams: the rows are those of one batch over the events in time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.intervals.test_points import DEFINED, SCHEMA, TREND, events
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.streaming.simulated import SimulatedStream
from trendweave.errors import DataError

#: Times of drawn events lie around 0, where Spark knows no watermark.
SHIFT = 1_000
INSIDE = TREND.format(s="S DURING X", t="T NOT DURING Y")
WITHOUT_GROUPS = INSIDE.replace("RETURN k, ", "RETURN ").replace(" GROUP-BY k", "")


def moved(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"time": None if row["time"] is None else row["time"] + SHIFT} for row in rows]


@pytest.mark.parametrize("trend", [INSIDE, WITHOUT_GROUPS])
@pytest.mark.parametrize(
    "window",
    ["WITHIN 4 seconds SLIDE 2 seconds", "SEMANTICS contiguous WITHIN 16 seconds SLIDE 1 second"],
)
@examples(60)
@given(events, hs.data())
def test_any_stream_gives_the_rows_of_one_batch(
    trend: str, window: str, rows: list[dict[str, Any]], data: hs.DataObject
) -> None:
    query = trendweave.query(f"{trend} {window} {DEFINED}")
    rows = moved(rows)
    if data.draw(hs.booleans()):
        rows = data.draw(hs.permutations(rows))
    stream = SimulatedStream(query, data.draw(hs.integers(0, 6)), data.draw(hs.integers(1, 3)), schema=SCHEMA)
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(rows)), max_size=5)))
    found, in_time, late = [], [], 0
    for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        found += stream.advance()
        for row in rows[low:high]:
            behind = row["time"] is not None and stream.watermark and row["time"] * 1_000 < stream.watermark
            late += bool(behind) and row["type"] in (("E", "F") if "contiguous" in window else ("E",))
            in_time += [] if behind else [row]
        found += stream.push(rows[low:high])
    found += stream.push([{"time": 100_000, "type": "end of the stream", "k": None, "v": None}]) + stream.advance()
    found += stream.push([{"time": 200_000, "type": "E", "k": "end", "v": None}]) + stream.advance()
    assert_same_rows(query.run(pa.Table.from_pylist(in_time, SCHEMA)).to_pylist(), found)
    assert stream.held() <= 1, "only what came last is held"
    assert stream.late == late


def test_runs_are_remembered_while_they_go_on_and_checked() -> None:
    query = trendweave.query(
        "RETURN k, COUNT(*) PATTERN E S WHERE [k] AND S DURING X GROUP-BY k WITHIN 2 seconds SLIDE 2 seconds "
        "FROM E DEFINE X AS v > 2"
    )
    stream = SimulatedStream(query, 0, 1, schema=SCHEMA)
    event = {"time": SHIFT, "type": "E", "k": "p", "v": 3}
    found = stream.push([event])
    for second in range(1, 9):
        found += stream.push([event | {"time": SHIFT + second, "v": 3 if second < 6 else 0}]) + stream.advance()
        assert stream.carries() == (2 <= second < 8), second
    assert [(row["window_start"] - SHIFT, row["count"]) for row in found] == [(0, 2), (2, 2), (4, 2)]
    stream = SimulatedStream(query, 0, 1, schema=SCHEMA)
    stream.push([event])
    stream.push([event | {"time": SHIFT + 3}])
    stream.advance()
    content, checksum = stream.tester.peekValueState("carry", (0,))
    stream.tester.updateValueState("carry", (0,), (bytes(content)[:-1] + b"x", checksum))
    stream.push([event | {"time": SHIFT + 9}])
    with pytest.raises(DataError, match="the carried state is damaged"):
        stream.advance()
