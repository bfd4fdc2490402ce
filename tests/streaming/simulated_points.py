"""A trend query whose events lie in situations, on a stream without a JVM: as `simulated`, with events as they are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming import TwsTester

from tests.streaming.simulated import SimulatedStream
from trendweave.programs.situated.program import bind_points
from trendweave.queries import Query
from trendweave.rows.closing import Closing
from trendweave.rows.times import time_type
from trendweave.runners.spark.pieces import PackTask
from trendweave.runners.spark.prepare import groups_span_keys
from trendweave.runners.spark.situated_stream import PointsProcessor, PointsWork


class SimulatedPoints(SimulatedStream):
    def __init__(self, query: Query, schema: pa.Schema, key: str, delay: int, buckets: int = 3) -> None:
        self.points, self.columns, self.key = bind_points(query.plan, schema, "time", "type", "decimal"), schema, key
        self.bound = self.points.trend
        closing = Closing.of(query.plan.trend.window, time_type(schema.field("time").type))
        assert closing is not None
        self.partial = groups_span_keys(self.bound)
        self.schema = self.points.kept(schema.empty_table()).schema
        work = PointsWork(self.bound, closing, self.schema, self.partial, self.points)
        self.pack = PackTask(self.schema, closing)
        processor = PointsProcessor(work, "query", buckets, False)
        self.tester = TwsTester(processor, timeMode="eventtime", eventTimeExtractor=lambda piece: 2**62)
        self.delay, self.buckets = delay, buckets
        self.watermark, self.latest, self.late = 0, None, 0

    def runs(self) -> int:
        """Buckets that remember runs of events that were let go."""
        return sum(self.tester.peekValueState("runs", (bucket,)) is not None for bucket in range(self.buckets))

    def _in_buckets(self, events: list[dict[str, Any]]) -> dict[int, list[Row]]:
        rows = self.points.kept(pa.Table.from_pylist(events, self.columns))
        return self._packed(rows, rows.column(self.points.kept_name(self.key)).to_pylist())
