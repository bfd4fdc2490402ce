"""Interval queries on Spark streams: matches come out when the watermark has passed the event that makes them certain.

Conditions are Spark SQL, as in batch. Rows travel in pieces by bucket of partitions, as those of trend queries do, and
wait in the state until the watermark has passed them; then situations are the state.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from trendweave.errors import ExecutionError, Problem
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.programs.intervals.program import BoundIntervals
from trendweave.rows.closing import Closing
from trendweave.runners.interval_incremental import IntervalIncremental
from trendweave.runners.options import Settings
from trendweave.runners.spark.checkpoint_owner import CheckedPackTask
from trendweave.runners.spark.interval_batch import in_spark, prepared_rows
from trendweave.runners.spark.interval_operator import IntervalProcessor, IntervalWork
from trendweave.runners.spark.metrics import counts_of_rows
from trendweave.runners.spark.pieces import PackTask
from trendweave.runners.spark.prepare import arrow_schema, in_plain_strings
from trendweave.runners.spark.stream import (
    UnpackTask,
    in_arrow,
    kept_schema,
    originals,
    stream_problems,
    through_state,
    with_watermark,
)

#: Rows wait for the watermark and not for a window, so time is not cut into panes.
ONE_PANE = Closing(2**62, 2**62)


def run_interval_stream(
    plan: IntervalPlan, events: DataFrame, time: str, type_: str | None, options: Settings
) -> DataFrame:
    """Matches, counts or situations of a stream. Nothing runs before the user starts it."""
    plain = in_plain_strings(events)
    engine = IntervalIncremental(plan, arrow_schema(plain.schema), time, type_)
    _check(plan, plain, options)
    bound = engine.bound
    watched = with_watermark(bound, plain, options)
    counts = counts_of_rows({bound.plan.source or ""}, watched, time, type_)
    counted = watched.observe(f"{options.metrics}_read", *counts)
    return _rows(engine, plain.schema, prepared_rows(bound, counted, *originals(plain, options)), options)


def _check(plan: IntervalPlan, events: DataFrame, options: Settings) -> None:
    problems = stream_problems(events, options)
    if options.early:
        message = "matches of an interval query come out as soon as they are certain; there are no earlier ones"
        problems.insert(0, Problem("TW409", message, "leave early out"))
    if problems:
        raise ExecutionError(problems, plan.text)


def _rows(engine: IntervalIncremental, events: StructType, prepared: DataFrame, options: Settings) -> DataFrame:
    bound = engine.bound
    schema = kept_schema(prepared)
    keys = [f"`{name}`" for name in bucket_keys(bound)]
    pack = CheckedPackTask(PackTask(schema, ONE_PANE), engine.made_for, options.buckets)
    processor = IntervalProcessor(IntervalWork(engine, schema), engine.made_for, options.buckets)
    found = through_state(prepared, keys, pack, processor, options)
    late = [StructField("late", events)] if options.late_rows else []
    shown = StructType([*in_spark(bound.schema).fields, *late])
    return found.mapInArrow(UnpackTask(in_arrow(shown)).__call__, shown)


def bucket_keys(bound: BoundIntervals) -> tuple[str, ...]:
    """The columns by which rows come together: partitions, or where they are counted, groups of them."""
    keys = zip(bound.preparation.keys, bound.plan.partition_by, strict=True)
    if bound.plan.returns != "counts":
        return bound.preparation.keys
    grouped = {output.path for output in bound.plan.outputs if output.function is None}
    return tuple(name for name, path in keys if path in grouped)
