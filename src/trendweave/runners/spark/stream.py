"""Spark streams: a streaming DataFrame in, a streaming DataFrame out; rows come out when the watermark closes windows.

Spark evaluates every expression in the JVM, as in batch. Rows are packed into pieces of one bucket of keys and one pane
of time before they are shuffled, so that the stateful operator handles a few pieces and not events. All buckets close
a window in the same micro-batch, so groups that span buckets are merged there, without further state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, StructField, StructType

from trendweave.errors import ExecutionError, Problem
from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column
from trendweave.language.durations import read_duration
from trendweave.planning.plan import Plan
from trendweave.programs.intervals.program import BoundIntervals
from trendweave.programs.trends.program import BoundQuery, bind
from trendweave.results.partial_table import WINDOW, group_names, partial_schema
from trendweave.rows.arrow_bytes import from_stream
from trendweave.rows.closing import Closing
from trendweave.rows.times import time_type
from trendweave.runners.options import Settings
from trendweave.runners.spark.arrow_types import to_arrow
from trendweave.runners.spark.checkpoint_owner import CheckedPackTask
from trendweave.runners.spark.metrics import counts_of_rows
from trendweave.runners.spark.pieces import BUCKET, ORIGINAL, PIECE, PackTask, stored_schema
from trendweave.runners.spark.prepare import (
    Preparation,
    arrow_schema,
    groups_span_keys,
    has_time,
    in_plain_strings,
    shuffle_keys,
    time_in_steps,
)
from trendweave.runners.spark.schema import result_type
from trendweave.runners.spark.stream_operator import OUTPUT, PieceProcessor, TrendProcessor
from trendweave.runners.spark.stream_work import StreamWork
from trendweave.runners.spark.task import MergeTask
from trendweave.runners.spark.versions import find_version_problems

_STORE = "spark.sql.streaming.stateStore.providerClass"
_WATERMARK = "spark.watermarkDelayMs"
_MOMENT = "trendweave_moment"


def run_stream(
    plan: Plan,
    events: DataFrame,
    time: str,
    type_: str | None,
    options: Settings,
) -> DataFrame:
    """The rows of a query on a stream. Nothing runs before the user starts it."""
    plain = in_plain_strings(events)
    bound = bind(plan, arrow_schema(plain.schema), time, type_, options.numbers, detection=options.detection)
    closing = checked_closing(bound, plain, options)
    watched = with_watermark(bound, plain, options)
    types = {variable.type for variable in plan.variables}
    counted = watched.observe(f"{options.metrics}_read", *counts_of_rows(types, watched, time, type_))
    prepared = Preparation(bound, schema_of(counted), counted).frame(*originals(plain, options))
    return TrendStream(bound, closing, plain.schema, options).rows(prepared)


def checked_closing(bound: BoundQuery, events: DataFrame, options: Settings, in_situations: bool = False) -> Closing:
    """Everything that can be known to be wrong before the stream starts, with the way out."""
    problems = []
    closing = Closing.of(bound.plan.window, time_type(bound.events.field(bound.time).type))
    if closing is None:
        message = "a stream has no end, and the query has one window over the whole input"
        problems.append(Problem("TW409", message, "add WITHIN, and SLIDE unless the window moves with the stream"))
    if options.early and _can_be_withdrawn(bound.plan):
        message = "early results of this query could be withdrawn by later events (NOT, or a strategy that skips less)"
        problems.append(Problem("TW409", message, "leave early out, and take rows when their windows close"))
    if options.early and in_situations:
        message = "whether an event lies in a situation may turn out later, so there are no early results"
        problems.append(Problem("TW409", message, "leave early out, and take rows when their windows close"))
    if options.early and bound.shows_trends:
        message = "trends come out when their window closes; there are no early ones"
        problems.append(Problem("TW409", message, "leave early out, or return aggregates"))
    problems += stream_problems(events, options)
    if problems:
        raise ExecutionError(problems, bound.plan.text)
    assert closing is not None
    return closing


def stream_problems(events: DataFrame, options: Settings) -> list[Problem]:
    """What is wrong with the stream and its session, whatever the query is."""
    problems = find_version_problems(events)
    if options.watermark is None and not any(_WATERMARK in field.metadata for field in events.schema):
        message = "the stream has no watermark, so no window would ever close"
        problems.append(
            Problem("TW410", message, 'call withWatermark on the time column, or give watermark="10 seconds"')
        )
    store = events.sparkSession.conf.get(_STORE, "")
    if "RocksDB" not in store:
        shown = store.rpartition(".")[2] or "Spark's default one"
        message = f"the state store of the session is {shown}; Spark keeps such state in RocksDB only"
        name = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        problems.append(Problem("TW411", message, f"set {_STORE} to {name}"))
    return problems


def _can_be_withdrawn(plan: Plan) -> bool:
    return bool(plan.negations) or plan.strategy != "skip-till-any-match"


def with_watermark(bound: BoundQuery | BoundIntervals, events: DataFrame, options: Settings) -> DataFrame:
    """With the watermark of the call: on a column of its own, as Spark knows watermarks of timestamps alone."""
    if options.watermark is None:
        return events
    delay = f"{_milliseconds(options.watermark)} milliseconds"
    kind = time_type(bound.events.field(bound.time).type)
    steps = time_in_steps(bound, spark_column((bound.time,)))
    known = has_time(bound.time, schema_of(events))
    moment = F.expr(f"IF({known}, TIMESTAMP_MICROS(TRY_MULTIPLY({steps}, {kind.step // 1_000}L)), NULL)")
    return events.withColumn(_MOMENT, moment).withWatermark(_MOMENT, delay)


def _milliseconds(watermark: str) -> int:
    """Rounded up: an event is never late too early."""
    return -(-read_duration(watermark, "watermark", or_none_at_all=True) // 1_000_000)


def originals(events: DataFrame, options: Settings) -> list[Any]:
    """Whole events travel along where late ones are wanted; they do not enter the state."""
    columns = [F.col(spark_column((name,))) for name in events.columns]
    return [F.struct(*columns).alias(ORIGINAL)] if options.late_rows else []


@dataclass(frozen=True, slots=True)
class TrendStream:
    """A query bound to the columns of a stream, with what its windows and the user ask for."""

    bound: BoundQuery
    closing: Closing
    events: StructType
    options: Settings

    def rows(self, prepared: DataFrame) -> DataFrame:
        schema = stored_schema(kept_schema(prepared), len(self.bound.plan.variables))
        work = StreamWork(self.bound, self.closing, schema, self.partial)
        made_for = self.made_for(self.bound.plan.text, schema)
        processor = TrendProcessor(work, made_for, self.options.buckets, self.options.early)
        pack = CheckedPackTask(PackTask(schema, self.closing), made_for, self.options.buckets)
        return self.processed(prepared, self._bucket_keys(), pack, processor)

    @property
    def partial(self) -> bool:
        """Whether groups span buckets, and partial aggregates are merged at the end."""
        return groups_span_keys(self.bound) and not self.options.early and not self.bound.shows_trends

    def processed(
        self, kept: DataFrame, keys: list[str], pack: CheckedPackTask, processor: TrendProcessor
    ) -> DataFrame:
        """Rows as they are kept, in buckets of these keys, through the stateful operator."""
        return self._unpacked(through_state(kept, keys, pack, processor, self.options))

    def _bucket_keys(self) -> list[str]:
        """Early rows are of whole groups, so all keys of a group share a bucket."""
        names = shuffle_keys(self.bound)
        if self.options.early:
            plan = self.bound.plan
            grouped = {group.path for group in plan.groups if group.variable is None}
            by_path = {
                name: key.path
                for key, name in zip(plan.partition_key, self.bound.preparation.partition_key, strict=True)
            }
            names = tuple(name for name in names if by_path[name] in grouped)
        return [f"`{name}`" for name in names]

    def made_for(self, query: str, schema: pa.Schema) -> str:
        """Names the query and the columns that it is computed from; a state belongs to one of these."""
        columns = [f"{field.name} {field.type}" for field in schema]
        early = "early" if self.options.early else "final"
        facts = [query, self.bound.time, str(self.bound.type), early, *columns]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]

    def _unpacked(self, found: DataFrame) -> DataFrame:
        result = result_type(self.bound, self.events)
        late = [StructField("late", self.events)] if self.options.late_rows else []
        shown = StructType([*result.fields, *late])
        if not self.partial:
            return found.mapInArrow(UnpackTask(in_arrow(shown)).__call__, shown)
        merged = from_arrow_schema(
            partial_schema(self.bound.plan, self.bound.events, self.bound.numbers), prefer_timestamp_ntz=True
        )
        carried = StructType([*merged.fields, *(StructField("late", BinaryType()) for _ in late)])
        unpacked = found.mapInArrow(UnpackTask(in_arrow(carried)).__call__, carried)
        together = unpacked.repartition(F.col(WINDOW), *(F.col(name) for name in group_names(self.bound.plan)))
        return together.mapInArrow(MergeStreamTask(MergeTask(self.bound), in_arrow(shown)).__call__, shown)


def through_state(
    kept: DataFrame, keys: Sequence[str], pack: CheckedPackTask, processor: PieceProcessor, options: Settings
) -> DataFrame:
    """What the stateful operator gives out, one call per bucket of these keys, without rows that are there for the
    counts alone."""
    bucket = f"PMOD(HASH({', '.join(keys)}), {options.buckets})" if keys else "0"
    in_buckets = kept.withColumn(BUCKET, F.expr(f"CAST({bucket} AS INT)"))
    pieces = in_buckets.mapInArrow(pack.__call__, from_arrow_schema(PIECE))
    mode = "update" if options.early else "append"
    found = pieces.groupBy(BUCKET).transformWithState(processor, OUTPUT, mode, "eventTime")
    counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("events", "late")]
    return found.observe(options.metrics, *counts).where("payload IS NOT NULL OR late_rows IS NOT NULL")


def kept_schema(prepared: DataFrame) -> pa.Schema:
    """The columns that go into the state: all but whole events, which are there for those that are late."""
    return in_arrow(StructType([field for field in prepared.schema if field.name != ORIGINAL]))


def in_arrow(schema: StructType) -> pa.Schema:
    return to_arrow(schema)


@dataclass(frozen=True, slots=True)
class UnpackTask:
    """For mapInArrow: what the stateful operator gave out, as rows with these columns."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.select(["payload", "late_rows"]).to_pylist():
                if row["payload"] is not None:
                    yield from in_schema(from_stream(row["payload"]), self.schema).to_batches()
                if row["late_rows"] is not None:
                    yield from self._late(row["late_rows"]).to_batches()

    def _late(self, data: bytes) -> pa.Table:
        if pa.types.is_binary(self.schema.field("late").type):
            return in_schema(pa.table({"late": pa.array([data], pa.binary())}), self.schema)
        return in_schema(late_table(data), self.schema)


@dataclass(frozen=True, slots=True)
class MergeStreamTask:
    """For mapInArrow: partial aggregates of windows that close, all of a group in one task; late events pass."""

    merge: MergeTask
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = []
        for batch in batches:
            if "late" in batch.schema.names:
                for data in batch.column("late").drop_null().to_pylist():
                    yield from in_schema(late_table(data), self.schema).to_batches()
                batch = batch.filter(batch.column("late").is_null()).drop_columns(["late"])
            if batch.num_rows:
                rows.append(batch)
        for batch in self.merge(rows):
            yield from in_schema(pa.Table.from_batches([batch]), self.schema).to_batches()


def late_table(data: bytes) -> pa.Table:
    events = from_stream(data)
    return pa.table({"late": events.column(ORIGINAL)})


def in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Columns that the table lacks are NULL."""
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
