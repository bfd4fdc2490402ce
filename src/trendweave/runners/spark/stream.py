"""Spark streams: a streaming DataFrame in, a streaming DataFrame out; rows come out when the watermark has made them
final.

Rows are packed into pieces of one bucket of keys and one pane of time before they are shuffled, so that the stateful
operator handles a few pieces and not events. All buckets close a window in the same micro-batch, so results that are
spread over buckets are merged there, without further state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from trendweave.errors import ExecutionError, Problem
from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column
from trendweave.language.durations import read_duration
from trendweave.programs.program import MEETS, Program, name_owner
from trendweave.rows.arrow_bytes import from_stream
from trendweave.rows.encoded import TIME
from trendweave.rows.times import time_type
from trendweave.runners.options import Settings
from trendweave.runners.spark.packing import CheckedPackTask, pack_events
from trendweave.runners.spark.pieces import ORIGINAL, PackTask, stored_schema
from trendweave.runners.spark.prepare import has_time, parts_type, prepare_rows, result_type, time_in_steps
from trendweave.runners.spark.stream_operator import StreamProcessor, through_state
from trendweave.runners.spark.stream_state import StateBuckets
from trendweave.runners.spark.tasks import MergeTask
from trendweave.runners.spark.versions import find_state_interface, to_arrow
from trendweave.runners.spark.workers import set_lasting_objects_aside, travelling
from trendweave.runners.spark.workload_operator import WorkloadProcessor

_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_WATERMARK = "spark.watermarkDelayMs"
_MOMENT = "trendweave_moment"


def run_stream(program: Program, events: DataFrame, settings: Settings) -> DataFrame:
    """The rows of a program on a stream. Nothing runs before the user starts it.

    Args:
        program: Bound to the columns of the events.
        events: A stream whose strings are compared by their bytes (`in_plain_strings`).
        settings: Checked options.
    """
    program = program.on_streams(settings.early)
    _check(program, events, settings)
    watched = _with_watermark(program, events, settings)
    prepared = prepare_rows(program, watched).schema
    kept = to_arrow(StructType([field for field in prepared if field.name != MEETS]))
    in_parts, delay = merges_parts(program, settings), _delay(events, settings)
    buckets = StateBuckets.choose(settings.buckets, events.sparkSession)
    processor = make_processor(program, kept, settings, buckets, in_parts, delay)
    packed = PackTask(processor.schema, processor.pane, buckets.numbers() if buckets.spread else None)
    pack = CheckedPackTask(packed, processor.owner, buckets, program.workload is not None)
    pieces = pack_events(program, watched, pack, settings, events.columns)
    found = _through_state(pieces, processor, settings, delay)
    return _unpack(program, found, events.schema, settings, in_parts)


def _check(program: Program, events: DataFrame, settings: Settings) -> None:
    """Everything that can be known to be wrong before the stream starts, with the hint."""
    problems = []
    for name in program.never_closing:
        message = "a stream never ends, but the query has one window over the whole input"
        hint = "add WITHIN, for aggregates usually with SLIDE"
        problems.append(Problem("TW409", message, hint, query=name))
    if settings.early:
        problems += program.problems_of_early_rows()
    if settings.watermark is None and not any(_WATERMARK in field.metadata for field in events.schema):
        message = "the stream has no watermark, so no window would ever close"
        hint = 'call withWatermark on the time column, or give watermark="10 seconds"'
        problems.append(Problem("TW410", message, hint))
    store = events.sparkSession.conf.get(_STORE, None) or ""
    if "RocksDB" not in store and find_state_interface(events).needs_rocksdb:
        named = store.rpartition(".")[2] or "Spark's default one"
        message = f"the state store of the session is {named}; Spark supports this state only in RocksDB"
        problems.append(Problem("TW411", message, f"set {_STORE} to {_ROCKSDB}"))
    if problems:
        raise ExecutionError(problems, program.text)


def _with_watermark(program: Program, events: DataFrame, settings: Settings) -> DataFrame:
    """With the watermark of the call: on a column of its own, as Spark knows watermarks of timestamps alone."""
    if settings.watermark is None:
        return events
    time = program.needs.time
    assert time is not None
    steps = time_in_steps(program.moment, spark_column((time,)))
    step = time_type(program.moment).step // 1_000
    known = has_time(time, schema_of(events))
    moment = F.expr(f"IF({known}, TIMESTAMP_MICROS(TRY_MULTIPLY({steps}, {step}L)), NULL)")
    return events.withColumn(_MOMENT, moment).withWatermark(_MOMENT, f"{_delay(events, settings)} milliseconds")


def _delay(events: DataFrame, settings: Settings) -> int:
    """How far the watermark is behind the latest event, in milliseconds. Rounded up: no event is late too early."""
    if settings.watermark is not None:
        return -(-read_duration(settings.watermark, "watermark", or_none_at_all=True) // 1_000_000)
    return max((field.metadata[_WATERMARK] for field in events.schema if _WATERMARK in field.metadata), default=0)


def merges_parts(program: Program, settings: Settings) -> bool:
    """Whether rows of the result are spread over buckets, and merged at the end."""
    parts = program.partials()
    return parts is not None and not parts.of_stretches and not settings.early


def make_processor(
    program: Program, kept: pa.Schema, settings: Settings, buckets: StateBuckets, in_parts: bool, delay: int = 0
) -> StreamProcessor:
    """The stateful operator of rows with these columns; it knows whose state it is. The watermark is behind the latest
    event by `delay` milliseconds."""
    schema = stored_schema(kept, program.needs)
    if program.workload is not None:
        # Each query tells its own state from others.
        facts = ["workload", str(program.needs.time), "early" if settings.early else "final"]
        owner = name_owner(facts, pa.schema([schema.field(TIME)]))
        return WorkloadProcessor(program.workload, schema, owner, buckets.stored, in_parts, settings.early, delay)
    owner = name_owner(_facts(program, settings), schema)
    return StreamProcessor(program, schema, owner, buckets.stored, in_parts, settings.early)


def _facts(program: Program, settings: Settings) -> list[str]:
    needs = program.needs
    rule = [] if needs.rule is None else [needs.rule]
    return [program.text, str(needs.time), str(needs.type), "early" if settings.early else "final", *rule]


def _through_state(pieces: DataFrame, processor: StreamProcessor, settings: Settings, delay: int) -> DataFrame:
    """What the stateful operator gives out, one call per bucket, with rows that are there for the counts alone."""
    found = through_state(pieces, processor, settings.early, delay)
    counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("events", "late", "same_time")]
    return found.observe(settings.metrics, *counts)


def _unpack(program: Program, found: DataFrame, events: StructType, settings: Settings, in_parts: bool) -> DataFrame:
    late = [StructField("late", events)] if settings.late_rows else []
    shown = StructType([*result_type(program, events).fields, *late])
    parts = program.partials()
    if not in_parts or parts is None:
        return found.mapInArrow(travelling(UnpackTask(to_arrow(shown))), shown)
    carried = StructType([*parts_type(parts.schema).fields, *(StructField("late", BinaryType()) for _ in late)])
    unpacked = found.mapInArrow(travelling(UnpackTask(to_arrow(carried))), carried)
    keys = [F.col(spark_column((name,))) for name in parts.together]
    together = unpacked.repartition(*keys) if keys else unpacked.coalesce(1)
    return together.mapInArrow(travelling(MergeStreamTask(MergeTask(program), to_arrow(shown))), shown)


@dataclass(frozen=True, slots=True)
class UnpackTask:
    """For mapInArrow: what the stateful operator gave out, as rows with these columns."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.select(["payload", "late_rows"]).to_pylist():
                if row["payload"] is not None:
                    yield from fill_columns(from_stream(row["payload"]), self.schema).to_batches()
                if row["late_rows"] is not None:
                    yield from self._read_late(row["late_rows"]).to_batches()
        set_lasting_objects_aside("unpack")

    def _read_late(self, data: bytes) -> pa.Table:
        if pa.types.is_binary(self.schema.field("late").type):
            return fill_columns(pa.table({"late": pa.array([data], pa.binary())}), self.schema)
        return fill_columns(read_late_rows(data), self.schema)


@dataclass(frozen=True, slots=True)
class MergeStreamTask:
    """For mapInArrow: parts of what closes, all of a row of the result in one task; late events pass."""

    merge: MergeTask
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = []
        for batch in batches:
            if "late" in batch.schema.names:
                for data in batch.column("late").drop_null().to_pylist():
                    yield from fill_columns(read_late_rows(data), self.schema).to_batches()
                batch = batch.filter(batch.column("late").is_null()).drop_columns(["late"])
            if batch.num_rows:
                rows.append(batch)
        for batch in self.merge(rows):
            yield from fill_columns(pa.Table.from_batches([batch]), self.schema).to_batches()
        set_lasting_objects_aside("merge")


def read_late_rows(data: bytes) -> pa.Table:
    return pa.table({"late": from_stream(data).column(ORIGINAL)})


def fill_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Columns that the table lacks are NULL."""
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
