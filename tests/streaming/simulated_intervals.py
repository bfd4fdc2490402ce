"""An interval query on a stream without a JVM: its stateful operator in PySpark's own tester, watermarks by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import TwsTester

from trendweave.intervals import IntervalQuery
from trendweave.runners.spark_interval_state import IntervalProcessor, IntervalWork
from trendweave.runners.spark_interval_stream import ONE_PANE, bucket_keys
from trendweave.runners.stream_chunks import BUCKET, PackTask, from_stream

Event = dict[str, Any]


class SimulatedIntervals:
    """Takes micro-batches of events whose times are whole seconds; gives the rows that have become certain."""

    def __init__(self, query: IntervalQuery, schema: pa.Schema, delay: int, buckets: int = 3) -> None:
        self.engine = query.incremental(schema, type="type" if "type" in schema.names else None)
        self.columns, self.delay, self.buckets = schema, delay, buckets
        prepared = self.engine.bound.prepare(schema.empty_table())[0].schema
        self.pack = PackTask(prepared, ONE_PANE)
        self.watermark, self.latest, self.late = 0, None, 0
        processor = IntervalProcessor(IntervalWork(self.engine, prepared), self.engine.made_for, buckets)
        self.tester = TwsTester(processor, timeMode="eventtime", eventTimeExtractor=lambda piece: 2**62)

    def push(self, events: list[Event]) -> list[Event]:
        """One micro-batch: the watermark of those before it holds while its events are read."""
        found: list[Row] = []
        for bucket, rows in self._in_buckets(events).items():
            found += self.tester.test((bucket,), rows)
        times = [event["time"] for event in events if event["time"] is not None]
        self.latest = max([*times, *([] if self.latest is None else [self.latest])], default=None)
        self.late += sum(row.late for row in found)
        return unpacked(found)

    def advance(self) -> list[Event]:
        """What the next micro-batch does: the watermark moves, and steps become final."""
        if self.latest is None or (self.latest - self.delay) * 1_000 <= self.watermark:
            return []
        self.watermark = (self.latest - self.delay) * 1_000
        found = unpacked(self.tester.setWatermark(self.watermark))
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
        numbers = pa.array([hash(str(key)) % self.buckets for key in keys], pa.int32())
        pieces: dict[int, list[Row]] = {}
        for batch in self.pack(rows.append_column(BUCKET, numbers).to_batches() if rows.num_rows else []):
            for piece in batch.to_pylist():
                pieces.setdefault(piece["bucket"], []).append(Row(**piece))
        return pieces


def unpacked(found: list[Row]) -> list[Event]:
    return [row for one in found if one.payload is not None for row in from_stream(one.payload).to_pylist()]
