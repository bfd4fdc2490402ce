"""Operators on real Spark streams against the slow twin: files of events that come too late for their neighbours, but
in time for the watermark."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.operators.running import as_events, assert_rows_in_any_order
from tests.operators.strategies import Clock
from tests.reference.operators.aggregation import window_aggregate
from tests.reference.operators.events import Event
from tests.reference.operators.filtering import keep
from tests.reference.operators.joining import window_join
from tests.reference.operators.windows import Rows, Span
from tests.spark.comparing import settings
from tests.streaming.running import ROCKSDB, Files, counted, run_to_the_end
from trendweave import operators as ops

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CLOCK = Clock(pa.timestamp("us", "UTC"), "microseconds")
SCHEMA = pa.schema({"time": CLOCK.arrow, "side": pa.string(), "k": pa.string(), "v": pa.int64()})
COLUMNS = "time timestamp, side string, k string, v long"
NAMES = ["time", "k", "v"]
BEGIN = datetime(2024, 5, 1, tzinfo=UTC)
SECOND = 10**6
DELAY = 5


def make_files(seed: int) -> list[list[dict[str, Any]]]:
    """Four files; neighbours overlap by less than the delay. A last event, an hour later, closes all windows."""
    draw = random.Random(seed)
    events = []
    for _ in range(60):
        second = draw.randrange(60)
        event = {"time": BEGIN + timedelta(seconds=second), "side": draw.choice(["left", "right"])}
        events.append(
            (second + draw.random() * (DELAY - 1), event | {"k": draw.choice(["a", "b", None]), "v": draw.randrange(9)})
        )
    # Sorted by the time of their arrival, which is up to four seconds behind their own.
    arrived = [event for _, event in sorted(events, key=lambda pair: pair[0])]
    last = {"time": BEGIN + timedelta(hours=1), "side": "left", "k": "z", "v": 5}
    return [arrived[:15], arrived[15:30], arrived[30:45], arrived[45:], [last]]


def chain_of_windows() -> tuple[Any, Any]:
    operator = (
        ops.filter("v > 1")
        | ops.window_aggregate("SUM(v) AS total, COUNT(*) AS n", within="6 seconds", slide="2 seconds", keys=["k"])
        | ops.filter("n > 1")
        | ops.window_aggregate("MAX(total) AS most", rows=3, slide_rows=2, keys=["k"])
    )

    def twin(events: list[Event]) -> list[Event]:
        kept = keep(events, lambda event: event["v"] > 1)
        sums = [("total", "SUM", "v"), ("n", "COUNT", None)]
        rows = window_aggregate(kept, sums, Span(6 * SECOND, 2 * SECOND), ["k"], schema=NAMES)
        rows = keep(rows, lambda row: row["n"] > 1)
        return window_aggregate(rows, [("most", "MAX", "total")], Rows(3, 2), ["k"], schema=["k", "total"])

    return operator, twin


def join_and_count() -> tuple[Any, Any]:
    join = ops.window_join("left.v <= right.v", left="3 rows", right="4 seconds", keys=["k"])
    operator = join | ops.window_aggregate("COUNT(*) AS n, SUM(left_v) AS total", within="10 seconds", keys=["k"])

    def twin(events: list[Event]) -> list[Event]:
        sides = [
            [{name: event[name] for name in NAMES} for event in events if event["side"] == side]
            for side in ("left", "right")
        ]
        rows = window_join(
            *sides,
            lambda left, right: left["v"] <= right["v"],
            Rows(3),
            Span(4 * SECOND),
            ["k"],
            left_schema=NAMES,
            right_schema=NAMES,
        )
        sums = [("n", "COUNT", None), ("total", "SUM", "left_v")]
        return window_aggregate(rows, sums, Span(10 * SECOND, 10 * SECOND), ["k"], schema=["k", "left_v"])

    return operator, twin


@pytest.mark.parametrize("make", [chain_of_windows, join_and_count])
def test_a_stream_gives_the_rows_of_the_twin(spark: SparkSession, tmp_path: Path, make: Any) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")  # shown where the test fails
    operator, twin = make()
    files, pieces = Files(tmp_path / "events"), make_files(seed)
    for piece in pieces:
        files.write(pa.Table.from_pylist(piece, SCHEMA))
    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=2):
        rows = operator.run(files.stream(spark, COLUMNS), watermark=f"{DELAY} seconds")
        found, query = run_to_the_end(rows, tmp_path / "checkpoint")
    assert counted(query, "late") == 0
    events = as_events(pa.Table.from_pylist([event for piece in pieces for event in piece], SCHEMA), CLOCK)
    closing = max(event["time"] for event in events) - DELAY * SECOND
    expected = [row for row in twin(events) if row["time"] < closing]
    assert expected
    assert_rows_in_any_order(as_events(found, CLOCK), expected)
