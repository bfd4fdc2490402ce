"""Trend queries whose events lie in situations, on Spark streams.

Whether an event lies in a situation may turn out after it came, so the state holds events as they are, and workers
evaluate with Arrow what batch leaves to Spark SQL. Of events that were let go, the runs that go on are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessorHandle

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.situated.open_runs import NO_RUNS, OpenRuns
from trendweave.programs.situated.program import BoundPoints, bind_points
from trendweave.runners.options import Settings
from trendweave.runners.spark.checkpoint_owner import CheckedPackTask
from trendweave.runners.spark.metrics import counts_of_rows
from trendweave.runners.spark.pieces import PackTask, Piece, from_pieces
from trendweave.runners.spark.prepare import arrow_schema, has_time, in_plain_strings, shuffle_keys
from trendweave.runners.spark.stream import TrendStream, checked_closing, kept_schema, originals, with_watermark
from trendweave.runners.spark.stream_operator import CheckedBytes, TrendProcessor
from trendweave.runners.spark.stream_work import StreamWork


def run_points_stream(
    plan: SituatedPlan, events: DataFrame, time: str, type_: str | None, options: Settings
) -> DataFrame:
    """The rows of a query on a stream. Nothing runs before the user starts it."""
    plain = in_plain_strings(events)
    points = bind_points(plan, arrow_schema(plain.schema), time, type_, options.numbers, options.detection)
    closing = checked_closing(points.trend, plain, options, in_situations=True)
    watched = with_watermark(points.trend, plain, options)
    types = {variable.type for variable in points.trend.plan.variables}
    counted = watched.observe(f"{options.metrics}_read", *counts_of_rows(types, watched, time, type_))
    kept = _kept(points, counted, originals(plain, options))
    schema = kept_schema(kept)
    stream = TrendStream(points.trend, closing, plain.schema, options)
    made_for = stream.made_for(plan.text, schema)
    work = PointsWork(points.trend, closing, schema, stream.partial, points)
    pack = CheckedPackTask(PackTask(schema, closing), made_for, options.buckets)
    return stream.processed(kept, _bucket_keys(points), pack, PointsProcessor(work, made_for, options.buckets, False))


def _kept(points: BoundPoints, events: DataFrame, others: list[Column]) -> DataFrame:
    """Events that can play a part, as they are kept: all columns that the query reads."""
    time, type_ = points.trend.time, points.trend.type
    events = events.where(F.expr(has_time(time, schema_of(events))))
    if type_ is not None:
        kind = F.col(spark_column((type_,)))
        events = events.where(kind.isNotNull() if points.types is None else kind.isin(sorted(points.types)))
    columns = [F.col(spark_column((name,))).alias(points.kept_name(name)) for name in points.needed]
    return events.select(*columns, *others)


def _bucket_keys(points: BoundPoints) -> list[str]:
    """The keys by which rows come together, as columns of kept rows."""
    bound = points.trend
    paths = dict(zip(bound.preparation.partition_key, bound.plan.partition_key, strict=True))
    keys = [paths[name].path for name in shuffle_keys(bound)]
    return [spark_column((points.kept_name(first), *rest)) for first, *rest in keys]


@dataclass(frozen=True, slots=True)
class PointsWork(StreamWork):
    """`schema` is that of events as they are kept."""

    points: BoundPoints

    def due(self, earliest: int, latest: int, watermark: int | None) -> int:
        settled = None if watermark is None else self.settled(watermark)
        return self.closing.due(earliest, latest, settled) + self.points.delay

    def settled(self, watermark: int) -> int:
        return watermark - self.points.delay

    def runs_after(self, pieces: list[Piece], runs: OpenRuns) -> OpenRuns:
        return self.points.runs_after(from_pieces(pieces, self.schema), runs)

    def _prepared(self, rows: pa.Table, needed: np.ndarray, runs: OpenRuns) -> pa.Table:
        return self.points.prepared(rows, needed, runs)


class PointsProcessor(TrendProcessor):
    """Also keeps the runs that go on after events that were let go."""

    _work: PointsWork

    def init(self, handle: StatefulProcessorHandle) -> None:
        super().init(handle)
        self._runs = CheckedBytes(handle, "runs", "open runs")

    def _computed(self, held: list[Piece], windows: tuple[int, int]) -> Iterator[bytes]:
        yield from self._work.computed(held, windows, self._read_runs())

    def _let_go(self, pieces: list[Piece]) -> None:
        if not pieces:
            return
        runs = self._work.runs_after(pieces, self._read_runs())
        if runs.is_empty:
            self._runs.clear()
        else:
            self._runs.update(runs.to_bytes())

    def _read_runs(self) -> OpenRuns:
        content = self._runs.get()
        return NO_RUNS if content is None else OpenRuns.from_bytes(content)
