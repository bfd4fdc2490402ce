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
from tests.runners.reference_tables import SCHEMA, rows_of
from trendweave.events import AUTO
from trendweave.expressions.arrow.evaluate import column_of
from trendweave.operators.binding import Asked
from trendweave.operators.operator import Piped
from trendweave.programs.bind import bind
from trendweave.rows.arrow_bytes import from_stream
from trendweave.runners.options import Settings
from trendweave.runners.spark.pieces import BUCKET, PackTask
from trendweave.runners.spark.stream import MergeStreamTask, make_processor, merges_parts
from trendweave.runners.spark.stream_state import StateBuckets
from trendweave.runners.spark.tasks import MergeTask

Event = dict[str, Any]


class SimulatedStream:
    """Takes micro-batches of events whose times are whole seconds; gives the rows that have become final."""

    def __init__(
        self,
        query: trendweave.Query | trendweave.Workload | Piped,
        delay: int,
        buckets: int = 3,
        early: bool = False,
        schema: pa.Schema = SCHEMA,
        sharing: str = "auto",
        as_run: bool = False,
        order_by: tuple[str, ...] = (),
    ) -> None:
        """`as_run`: the column of the type is the one that `run` takes where none is given."""
        settings = Settings(buckets=buckets, early=early, sharing=sharing, order_by=order_by)
        type_ = "type" if "type" in schema.names else None
        if as_run and isinstance(query, trendweave.Query):
            type_ = query._type_column(AUTO)
        self.columns = schema
        if isinstance(query, trendweave.Query):
            self.program = bind(query.plan, schema, "time", type_, settings)
        elif isinstance(query, Piped):
            self.program = Asked(query.operators, "time", AUTO).bind(schema, settings)
        else:
            self.program = query._asked(None, "time", AUTO).bind(schema, settings)
        self.in_parts = merges_parts(self.program, settings)
        steps = self.program.steps(self.in_parts, early)
        self.folds = steps is not None and steps.folds
        prepared = self.program.prepare(schema.empty_table())[0].schema
        processor = make_processor(self.program, prepared, settings, StateBuckets(buckets), self.in_parts)
        self.pack = PackTask(processor.schema, processor.pane)
        # Pieces have no time that Spark could find late: the operator looks at each event.
        self.tester = TwsTester(processor, timeMode="eventtime", eventTimeExtractor=lambda piece: 2**62)
        self.delay, self.buckets, self.early = delay, buckets, early
        self.watermark, self.latest, self.late, self.same_time = 0, None, 0, 0

    def push(self, events: list[Event]) -> list[Event]:
        """One micro-batch: the watermark of those before it holds while its events are read."""
        found: list[Row] = []
        for bucket, rows in self._in_buckets(events).items():
            found += self.tester.test((bucket,), rows)
        times = [event["time"] for event in events if event["time"] is not None]
        self.latest = max([*times, *([] if self.latest is None else [self.latest])], default=None)
        self.late += sum(row.late for row in found)
        return self._unpack(found)

    def advance(self) -> list[Event]:
        """What the next micro-batch does first: the watermark moves, and something becomes final."""
        if self.latest is None or (self.latest - self.delay) * 1_000 <= self.watermark:
            return []
        self.watermark = (self.latest - self.delay) * 1_000
        found = self._unpack(self.tester.setWatermark(self.watermark))
        # One that has passed would never expire, or would at once.
        assert all(timer > self.watermark for timer in self.timers())
        return found

    def next_watermark(self) -> int:
        """That of the next micro-batch."""
        return self.watermark if self.latest is None else max(self.watermark, (self.latest - self.delay) * 1_000)

    def push_as_spark(self, events: list[Event]) -> list[Event]:
        """A micro-batch in Spark's order: the watermark has moved, events are taken, and only then timers expire."""
        if self.next_watermark() > self.watermark:
            self.watermark = self.next_watermark()
            self.tester._currentWatermarkMs = self.watermark
            self.tester.handle.setWatermark(self.watermark)
        found = self.push(events)
        found += self._unpack(self.tester._handleExpiredTimers())
        assert all(timer > self.watermark for timer in self.timers())
        return found

    def held(self) -> int:
        """Pieces in the state of all buckets."""
        return sum(len(self.tester.peekMapState("pieces", (bucket,))) for bucket in range(self.buckets))

    def held_bytes(self) -> int:
        """Bytes in the state of all buckets."""
        pieces = [self.tester.peekMapState("pieces", (bucket,)) for bucket in range(self.buckets)]
        rows = sum(len(piece[-1]) for held in pieces for piece in held.values())
        return rows + sum(len(content) for bucket in range(self.buckets) for content in self._carried(bucket))

    def carries(self) -> int:
        """Buckets that remember something of rows that were let go."""
        return sum(bool(self._carried(bucket)) for bucket in range(self.buckets))

    def _carried(self, bucket: int) -> list[bytes]:
        """What a bucket carries on: a value for all, or where rows are folded one for each table."""
        if "tables" in self.tester.handle.map_states:
            return [content for content, _ in self.tester.peekMapState("tables", (bucket,)).values()]
        carry = self.tester.peekValueState("carry", (bucket,))
        return [] if carry is None else [carry[0]]

    def timers(self) -> list[int]:
        timers = self.tester.handle._timers
        return [timer for key in timers.getAllKeysWithTimers() for timer in timers.listTimers(key)]

    def _in_buckets(self, events: list[Event]) -> dict[int, list[Row]]:
        rows, _ = self.program.prepare(pa.Table.from_pylist(events, self.columns))
        needs = self.program.needs
        columns = [column_of(rows, path).to_pylist() for path in (needs.merged if self.early else needs.together)]
        keys = list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows
        numbers = pa.array([zlib.crc32(str(hashed(key)).encode()) % self.buckets for key in keys], pa.int32())
        pieces: dict[int, list[Row]] = {}
        for batch in self.pack(rows.append_column(BUCKET, numbers).to_batches() if rows.num_rows else []):
            for piece in batch.to_pylist():
                pieces.setdefault(piece["bucket"], []).append(Row(**piece))
        return pieces

    def _unpack(self, found: list[Row]) -> list[Event]:
        self.same_time += sum(row.same_time for row in found)
        tables = [from_stream(row.payload) for row in found if row.payload is not None]
        if self.in_parts:
            batches = [batch for table in tables for batch in table.to_batches()]
            merged = MergeStreamTask(MergeTask(self.program), self.program.schema)(batches)
            tables = [pa.Table.from_batches([batch]) for batch in merged]
        return [row for table in tables for row in rows_of(table)]


def hashed(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """What Spark hashes of a key: -0.0 as 0.0."""
    return tuple(value + 0.0 if isinstance(value, float) else value for value in key)
