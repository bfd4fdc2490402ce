"""Interval queries on Spark batch: a lazy DataFrame in, a lazy DataFrame out.

Spark evaluates the conditions of situations, brings partitions together and sorts them in the JVM; each task derives
and matches. Without PARTITION BY, time is cut into chunks (thesis, Section 5.6.3). A chunk owns the matches whose first
situation starts in it; it also reads one window more, and the last step before it, which tells whether a condition held
already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column, spark_sql
from trendweave.language import syntax_tree as st
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.programs.intervals.program import BoundIntervals, bind_intervals
from trendweave.programs.intervals.rows import BITS, CHUNK, TIME
from trendweave.programs.intervals.stretches import PIECE_SCHEMA, IntervalTask, MergePiecesTask, PieceTask
from trendweave.runners.options import Settings
from trendweave.runners.spark.prepare import arrow_schema, has_time, in_plain_strings, time_in_steps
from trendweave.runners.spark.task import Limits

if TYPE_CHECKING:
    from pyspark.sql import Observation

#: A chunk of time is this many times as long as the window that it reads beyond its end.
_CHUNK_FACTOR = 9


def run_spark_intervals(
    plan: IntervalPlan, events: DataFrame, time: str, type_: str | None, options: Settings
) -> DataFrame:
    """Matches, counts or situations. Nothing runs before an action on the result does."""
    events, observation = in_plain_strings(events), options.observation
    bound = bind_intervals(plan, arrow_schema(events.schema), time, type_)
    limits = Limits(options.rows_at_once, options.max_rows_of_a_key)
    result = in_spark(bound.schema)
    if bound.plan.intervals is not None:
        return _summed(bound, _given(bound, events, limits, result), result)
    if observation is not None:
        events = _observed(bound, events, observation)
    prepared = prepared_rows(bound, events)
    keys = bound.preparation.keys
    if keys:
        columns = [F.col(name) for name in keys]
        placed = prepared.repartition(*columns).sortWithinPartitions(*columns, F.col(TIME))
        found = placed.mapInArrow(IntervalTask(bound, keys, False, limits).__call__, result)
        return _summed(bound, found, result)
    if bound.plan.returns == "situations" and not bound.plan.looks_back:
        return _situations_of_pieces(bound, prepared, result)
    within = bound.lengths.within
    # Whether a condition that looks back held before a chunk would take more than the last step before it to tell.
    if not within or bound.plan.looks_back or options.chunks == "off":
        placed = prepared.coalesce(1).sortWithinPartitions(F.col(TIME))
        return placed.mapInArrow(IntervalTask(bound, (), False, limits).__call__, result)
    length = _CHUNK_FACTOR * within
    placed = _chunked(bound, prepared, length, within).repartition(F.col(CHUNK))
    placed = placed.sortWithinPartitions(F.col(CHUNK), F.col(TIME))
    task = IntervalTask(bound.in_chunks(length), (CHUNK,), False, limits)
    return _summed(bound, placed.mapInArrow(task.__call__, result), result)


def interval_type(plan: IntervalPlan, events: DataFrame, time: str, type_: str | None) -> StructType:
    """The columns of the result; those of a stream are the same."""
    return in_spark(bind_intervals(plan, arrow_schema(in_plain_strings(events).schema), time, type_).schema)


def in_spark(schema: Any) -> StructType:
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def prepared_rows(bound: BoundIntervals, events: DataFrame, *others: Column) -> DataFrame:
    """Time, conditions and the columns that travel along, all of it Spark SQL; `others` go with them."""
    schema = schema_of(events)
    events = events.where(F.expr(has_time(bound.time, schema)))
    if bound.type is not None:
        name = spark_sql(st.Literal(bound.plan.source), {})
        events = events.where(F.expr(f"{spark_column((bound.type,))} = {name}"))
    bits = [
        f"IF({spark_sql(condition, schema)}, {1 << number}L, 0L)"
        for number, condition in enumerate(bound.preparation.now)
        if condition is not None
    ]
    columns = [F.expr(spark_column((bound.time,))).alias(TIME), F.expr(" | ".join(bits) or "0L").alias(BITS)]
    columns += [F.expr(spark_column(path)).alias(name) for name, path in bound.preparation.columns]
    return events.select(*columns, *others)


def _given(bound: BoundIntervals, intervals: DataFrame, limits: Limits, result: StructType) -> DataFrame:
    """Given intervals: brought together by partition."""
    given = bound.plan.intervals
    assert given is not None
    paths = [(given.start,), (given.end,), (given.name,), *bound.plan.needed_columns]
    names = list(dict.fromkeys(path[0] for path in paths))
    selected = intervals.select(*(F.col(spark_column((name,))) for name in names))
    keys = [F.expr(spark_column(path)) for path in bound.plan.partition_by]
    placed = selected.repartition(*keys) if keys else selected.coalesce(1)
    everything = Limits(2**62, 2**62)  # rows are not sorted by keys, so a task takes all of its partition
    return placed.mapInArrow(IntervalTask(bound, (), False, everything).__call__, result)


def _chunked(bound: BoundIntervals, prepared: DataFrame, length: int, within: int) -> DataFrame:
    """Each row with its chunk, once more for the chunk before where that reads it, and the last step of a chunk once
    more for the next one that has rows."""
    steps = time_in_steps(bound)
    own = f"({steps} DIV {length}L - IF({steps} % {length}L < 0L, 1L, 0L))"
    before = f"IF(PMOD({steps}, {length}L) < {within}L, {own} - 1L, NULL)"
    copies = F.expr(f"EXPLODE(FILTER(ARRAY({own}, {before}), number -> number IS NOT NULL))")
    rows = prepared.select("*", copies.alias(CHUNK))
    numbered = prepared.withColumn(CHUNK, F.expr(own))
    in_order = Window.partitionBy(F.lit(0)).orderBy(CHUNK)
    newest = numbered.groupBy(CHUNK).agg(F.max(TIME).alias("newest"))
    newest = newest.withColumn("next", F.lead(CHUNK).over(in_order)).where("next IS NOT NULL")
    last = numbered.join(F.broadcast(newest), CHUNK).where(F.col(TIME) == F.col("newest"))
    last = last.select(*prepared.columns, F.col("next").alias(CHUNK))
    return rows.unionByName(last)


def _situations_of_pieces(bound: BoundIntervals, prepared: DataFrame, result: StructType) -> DataFrame:
    """Stretches of time side by side; their runs are merged in one place."""
    pieces = prepared.repartitionByRange(F.col(TIME)).sortWithinPartitions(F.col(TIME))
    runs = pieces.mapInArrow(PieceTask(bound).__call__, in_spark(PIECE_SCHEMA))
    return runs.coalesce(1).mapInArrow(MergePiecesTask(bound).__call__, result)


def _summed(bound: BoundIntervals, found: DataFrame, result: StructType) -> DataFrame:
    """Counts of one window and group may come from several tasks."""
    if bound.plan.returns != "counts":
        return found
    counts = [output.name for output in bound.plan.outputs if output.function is not None]
    groups = [name for name in result.names if name not in counts]
    quoted = [F.col(spark_column((name,))) for name in groups]
    totals = [F.sum(F.col(spark_column((name,)))).alias(name) for name in counts]
    together = found.groupBy(*quoted).agg(*totals)
    return together.select(*(F.col(spark_column((name,))) for name in result.names))


def _observed(bound: BoundIntervals, events: DataFrame, observation: Observation) -> DataFrame:
    """Counts rows and those that are dropped while they pass, without another job."""
    no_time = ~F.expr(has_time(bound.time, schema_of(events)))
    counts = [F.count(F.lit(1)).alias("rows"), F.count_if(no_time).alias("null_time")]
    if bound.type is not None:
        kind = F.col(spark_column((bound.type,)))
        counts.append(F.count_if(~no_time & kind.isNull()).alias("null_type"))
        counts.append(F.count_if(~no_time & kind.isNotNull() & (kind != bound.plan.source)).alias("other_type"))
    return events.observe(observation, *counts)
