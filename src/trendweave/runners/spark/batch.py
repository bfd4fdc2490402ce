"""Spark batch: a lazy DataFrame in, a lazy DataFrame out.

Spark evaluates every expression, filters, brings rows together and sorts them in the JVM; each task gives its rows to
the program. Time is cut into chunks as well where the program allows it, so that one large key, or none, still makes
many tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, LongType, StructField, StructType

from trendweave.expressions.spark_sql import spark_column
from trendweave.programs.program import TRENDS, PartialResults, Program, Scope
from trendweave.programs.shared.program import Shared
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.metrics import Metrics
from trendweave.runners.options import Settings
from trendweave.runners.spark.chunks import PackedTimes, number_chunks
from trendweave.runners.spark.metrics import count_results, count_rows, observe_rows
from trendweave.runners.spark.prepare import prepare_rows
from trendweave.runners.spark.schema import parts_type, result_type
from trendweave.runners.spark.task import PEAK, SHARED, ComputeTask, Limits, MergeTask


def run_batch(program: Program, events: DataFrame, settings: Settings) -> DataFrame:
    """The rows of a program. Nothing runs before an action on the result does.

    Args:
        program: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes (`in_plain_strings`).
        settings: Checked options.
    """
    metrics = settings.observation if isinstance(settings.observation, Metrics) else None
    if isinstance(program, Shared):
        program.count_what_is_planned()
    if settings.observation is not None:
        observation = settings.observation if metrics is None else observe_rows(metrics)
        events = events.observe(observation, *count_rows(program.needs, events))
    rows = prepare_rows(program, events, all_words=False)
    result = result_type(program, events.schema)
    found = _compute(program, rows, result, settings, counted=metrics is not None)
    return found if metrics is None else count_results(metrics, found)


def _compute(program: Program, rows: DataFrame, result: StructType, settings: Settings, counted: bool) -> DataFrame:
    parts = program.partials()
    limits = Limits(settings.rows_at_once, settings.max_rows_of_a_key)
    placed, scope, packed = _place(program, rows, parts, settings)
    # Rows without a time are not sorted by keys either, so a task takes all of its partition.
    in_order = program.needs.time is not None
    limits = limits if in_order else Limits(2**62, 2**62)
    scope = Scope(chunk=scope.chunk, counted=counted)
    task = ComputeTask(program, scope, parts is not None, limits, packed, in_order)
    shares = isinstance(program, Shared)
    shown = _with_hidden(result, shares) if counted else result
    if parts is None:
        return placed.mapInArrow(task.__call__, shown)
    carried = parts_type(parts.schema)
    found = placed.mapInArrow(task.__call__, _with_hidden(carried, shares, trends=False) if counted else carried)
    keys = [F.col(spark_column((name,))) for name in parts.together]
    together = found.repartition(*keys) if keys else found.coalesce(1)
    return together.mapInArrow(MergeTask(program, counted).__call__, shown)


def _place(
    program: Program, rows: DataFrame, parts: PartialResults | None, settings: Settings
) -> tuple[DataFrame, Scope, PackedTimes | None]:
    """Rows that belong together in one partition, in order; the chunks of time that they carry; how times travel."""
    keys = [F.expr(spark_column(path)) for path in program.needs.together]
    if program.needs.time is None:
        return (rows.repartition(*keys) if keys else rows.coalesce(1)), Scope(), None
    if parts is not None and parts.of_stretches:
        return rows.repartitionByRange(F.col(TIME)).sortWithinPartitions(F.col(TIME)), Scope(), None
    wanted = settings.chunks if isinstance(settings.chunks, int) else None
    cut = program.cut(wanted) if settings.chunks != "off" else None
    if cut is None:
        return _sort(rows, keys, keys), Scope(), None
    packed = PackedTimes.of(cut, program.moment)
    if packed is not None:
        return _sort(packed.pack(rows), [*keys, F.expr(packed.chunk)], keys), Scope(chunk=cut.length), packed
    rows = number_chunks(rows, cut, program.moment)
    columns = [*keys, F.col(CHUNK)]
    return _sort(rows, columns, columns), Scope(chunk=cut.length), None


def _sort(rows: DataFrame, together: Sequence[Column], order: Sequence[Column]) -> DataFrame:
    placed = rows.repartition(*together) if together else rows.repartition(1)
    return placed.sortWithinPartitions(*order, F.col(TIME))


def _with_hidden(schema: StructType, shares: bool, trends: bool = True) -> StructType:
    hidden = [StructField(TRENDS, DoubleType())] if trends else []
    hidden.append(StructField(PEAK, LongType()))
    hidden += [StructField(SHARED, ArrayType(LongType()))] if shares else []
    return StructType([*schema.fields, *hidden])
