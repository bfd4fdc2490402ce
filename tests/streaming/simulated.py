"""A stream without a JVM: the stateful operator in PySpark's own tester, between our tasks, with a watermark by hand.

What Spark does around the operator is done here in plain Python: buckets of keys, watermarks from the events of earlier
micro-batches, and everything of a micro-batch in one merge.
"""

from __future__ import annotations

import zlib
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import TwsTester

import trendweave
from tests.runners.reference_tables import SCHEMA, rows_of, table_of
from trendweave.programs.trends.program import bind
from trendweave.rows.arrow_bytes import from_stream
from trendweave.rows.closing import Closing
from trendweave.rows.times import time_type
from trendweave.runners.spark.pieces import BUCKET, PackTask, stored_schema
from trendweave.runners.spark.prepare import groups_span_keys, shuffle_keys
from trendweave.runners.spark.stream import MergeStreamTask
from trendweave.runners.spark.stream_operator import TrendProcessor
from trendweave.runners.spark.stream_work import StreamWork
from trendweave.runners.spark.task import MergeTask

Event = dict[str, Any]


class SimulatedStream:
    """Takes micro-batches of events whose times are whole seconds; gives the rows of the windows that they close."""

    def __init__(self, query: trendweave.Query, delay: int, buckets: int = 3, early: bool = False) -> None:
        self.bound = bind(query.plan, SCHEMA, "time", "type", "decimal")
        closing = Closing.of(query.plan.window, time_type(SCHEMA.field("time").type))
        assert closing is not None
        self.partial = groups_span_keys(self.bound) and not early and not self.bound.shows_trends
        self.schema = stored_schema(self.bound.prepare(table_of([]))[0].schema, len(query.plan.variables))
        work = StreamWork(self.bound, closing, self.schema, self.partial)
        self.pack = PackTask(self.schema, closing)
        processor = TrendProcessor(work, "query", buckets, early)
        # Pieces have no time that Spark could find late: the operator looks at each event.
        self.tester = TwsTester(processor, timeMode="eventtime", eventTimeExtractor=lambda piece: 2**62)
        self.delay, self.buckets, self.early = delay, buckets, early
        self.watermark, self.latest, self.late = 0, None, 0

    def push(self, events: list[Event]) -> list[Event]:
        """One micro-batch: the watermark of those before it holds while its events are read."""
        found: list[Row] = []
        for bucket, rows in self._in_buckets(events).items():
            found += self.tester.test((bucket,), rows)
        times = [event["time"] for event in events if event["time"] is not None]
        self.latest = max([*times, *([] if self.latest is None else [self.latest])], default=None)
        self.late += sum(row.late for row in found)
        return self._unpacked(found)

    def advance(self) -> list[Event]:
        """What the next micro-batch does first: the watermark moves, and windows close."""
        if self.latest is None or (self.latest - self.delay) * 1_000 <= self.watermark:
            return []
        self.watermark = (self.latest - self.delay) * 1_000
        return self._unpacked(self.tester.setWatermark(self.watermark))

    def held(self) -> int:
        """Pieces in the state of all buckets."""
        return sum(len(self.tester.peekMapState("pieces", (bucket,))) for bucket in range(self.buckets))

    def _in_buckets(self, events: list[Event]) -> dict[int, list[Row]]:
        rows, _ = self.bound.prepare(table_of(events))
        names = [] if self.early else shuffle_keys(self.bound)
        keys = [tuple(row.values()) for row in rows.select(names).to_pylist()] if names else [()] * rows.num_rows
        return self._packed(rows, keys)

    def _packed(self, rows: pa.Table, keys: list[Any]) -> dict[int, list[Row]]:
        """Rows of these keys, as pieces by bucket."""
        numbers = pa.array([zlib.crc32(str(key).encode()) % self.buckets for key in keys], pa.int32())
        pieces: dict[int, list[Row]] = {}
        for batch in self.pack(rows.append_column(BUCKET, numbers).to_batches() if rows.num_rows else []):
            for piece in batch.to_pylist():
                pieces.setdefault(piece["bucket"], []).append(Row(**piece))
        return pieces

    def _unpacked(self, found: list[Row]) -> list[Event]:
        tables = [from_stream(row.payload) for row in found if row.payload is not None]
        if self.partial:
            batches = [batch for table in tables for batch in table.to_batches()]
            merged = MergeStreamTask(MergeTask(self.bound), self.bound.schema)(batches)
            tables = [pa.Table.from_batches([batch]) for batch in merged]
        return [row for table in tables for row in rows_of(table)]
