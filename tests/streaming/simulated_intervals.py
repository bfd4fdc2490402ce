"""An interval query on a stream without a JVM: its stateful operator in PySpark's own tester, watermarks by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import TwsTester

from tests.streaming.simulated import SimulatedStream
from trendweave.queries import Query
from trendweave.rows.arrow_bytes import from_stream
from trendweave.runners.spark.interval_operator import IntervalProcessor, IntervalWork
from trendweave.runners.spark.interval_stream import ONE_PANE, bucket_keys
from trendweave.runners.spark.pieces import PackTask

Event = dict[str, Any]


class SimulatedIntervals(SimulatedStream):
    """Takes micro-batches of events whose times are whole seconds; gives the rows that have become certain."""

    def __init__(self, query: Query, schema: pa.Schema, delay: int, buckets: int = 3) -> None:
        self.engine = query.incremental(schema, type="type" if "type" in schema.names else None)
        self.columns, self.delay, self.buckets = schema, delay, buckets
        prepared = self.engine.bound.prepare(schema.empty_table())[0].schema
        self.pack = PackTask(prepared, ONE_PANE)
        self.watermark, self.latest, self.late = 0, None, 0
        processor = IntervalProcessor(IntervalWork(self.engine, prepared), self.engine.made_for, buckets)
        self.tester = TwsTester(processor, timeMode="eventtime", eventTimeExtractor=lambda piece: 2**62)

    def advance(self) -> list[Event]:
        found = super().advance()
        self._check_timers()
        return found

    def held(self) -> int:
        """Bytes in the state of all buckets."""
        total = 0
        for bucket in range(self.buckets):
            pieces = self.tester.peekMapState("pieces", (bucket,))
            situations = self.tester.peekValueState("situations", (bucket,))
            total += sum(len(piece[-1]) for piece in pieces.values())
            total += 0 if situations is None else len(situations[0])
        return total

    def timers(self) -> list[int]:
        timers = self.tester.handle._timers
        return [timer for key in timers.getAllKeysWithTimers() for timer in timers.listTimers(key)]

    def _check_timers(self) -> None:
        """One that has passed would never expire, or would at once."""
        assert all(timer > self.watermark for timer in self.timers())

    def _in_buckets(self, events: list[Event]) -> dict[int, list[Row]]:
        rows, _ = self.engine.bound.prepare(pa.Table.from_pylist(events, self.columns))
        names = list(bucket_keys(self.engine.bound))
        keys = [tuple(row.values()) for row in rows.select(names).to_pylist()] if names else [()] * rows.num_rows
        return self._packed(rows, keys)

    def _unpacked(self, found: list[Row]) -> list[Event]:
        return [row for one in found if one.payload is not None for row in from_stream(one.payload).to_pylist()]
