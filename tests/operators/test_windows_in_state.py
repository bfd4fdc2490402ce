"""Windowed aggregation in the stateful operator of a stream, without a JVM: events of any order, any micro-batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.streaming.simulated import SimulatedStream
from trendweave.language.operator_texts import read_outputs
from trendweave.planning.operator_plans import AggregatePlan, RowCount, TimeSpan
from trendweave.programs.operators.windows.program import WindowAggregates, bind_windows
from trendweave.runners.local import run_local
from trendweave.runners.options import Settings
from trendweave.runners.spark.pieces import PackTask
from trendweave.runners.spark.stream import make_processor
from trendweave.runners.spark.stream_state import StateBuckets

SECOND = 10**9
SCHEMA = pa.schema([("time", pa.int64()), ("key", pa.int64()), ("x", pa.int64()), ("y", pa.float64())])
OUTPUTS = "COUNT(*), SUM(x), AVG(y), MIN(y), MAX(x)"


class OperatorStream(SimulatedStream):
    """The same of a program."""

    def __init__(self, program: WindowAggregates, delay: int, buckets: int = 2) -> None:
        from pyspark.sql.streaming import TwsTester

        chosen = Settings(buckets=buckets)
        self.columns, self.program, self.in_parts = program.events, program, False
        prepared = program.prepare(program.events.empty_table())[0].schema
        processor = make_processor(program, prepared, chosen, StateBuckets(buckets), False)
        self.pack = PackTask(processor.schema, processor.pane)
        self.tester = TwsTester(processor, timeMode="eventtime", eventTimeExtractor=lambda piece: 2**62)
        self.delay, self.buckets, self.early = delay, buckets, False
        self.watermark, self.latest, self.late, self.same_time = 0, None, 0, 0


@some.composite
def micro_batches(draw: Any) -> list[list[dict[str, Any]]]:
    """Events that are never late: no time lies before the watermark that earlier micro-batches give. Their floats have
    the same sum in any order."""
    latest, batches = 5, []
    for _ in range(draw(some.integers(1, 4))):
        times = draw(some.lists(some.integers(latest - 2, latest + 6), max_size=6))
        batches.append(
            [
                {
                    "time": time,
                    "key": draw(some.sampled_from([None, 1, 2])),
                    "x": draw(some.none() | some.integers(-9, 9)),
                    "y": draw(some.none() | some.sampled_from([0.25, 0.5, -0.75, 2.0**40, -(2.0**40)])),
                }
                for time in times
            ]
        )
        latest = max([latest, *times])
    return batches


@given(
    micro_batches(),
    some.sampled_from([RowCount(3, 1), RowCount(2, 3), TimeSpan(5 * SECOND, 2 * SECOND), TimeSpan(SECOND, 3 * SECOND)]),
    some.booleans(),
)
@settings(max_examples=30)
def test_rows_are_those_of_one_table(
    batches: list[list[dict[str, Any]]], window: RowCount | TimeSpan, as_spark: bool
) -> None:
    plan = AggregatePlan(read_outputs(OUTPUTS), window, ("key",), (), OUTPUTS)
    program = bind_windows(plan, SCHEMA, "time", "decimal")
    stream = OperatorStream(program, delay=2)
    found = []
    for batch in batches:
        found += stream.push_as_spark(batch) if as_spark else [*stream.push(batch), *stream.advance()]
    # What comes much later closes all windows of before, and fills none of its own.
    found += stream.push_as_spark([{"time": 1000, "key": 7, "x": None, "y": None}])
    found += stream.push_as_spark([])

    events = pa.Table.from_pylist([event for batch in batches for event in batch], SCHEMA)
    wanted = run_local(program, events).to_pylist()
    assert stream.late == 0
    assert sorted(map(str, map(_plain, found))) == sorted(map(str, map(_plain, wanted)))


def _plain(row: dict[str, Any]) -> list[Any]:
    return [None if value is None else float(value) for value in row.values()]
