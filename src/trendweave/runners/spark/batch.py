"""Spark batch: a lazy DataFrame in, a lazy DataFrame out.

Spark evaluates every expression and filters in the JVM. Tasks pack rows that belong together into a few large blobs
that Spark moves, and give the rows of blobs to the program. Time is cut into chunks as well where the program allows
it, so that one large key, or none, still makes many tasks. Only where stretches of time are cut between any two times,
Spark sorts rows itself.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, LongType, StructField, StructType

from trendweave.expressions.spark_sql import spark_column
from trendweave.programs.program import TRENDS, Program, Scope
from trendweave.rows.encoded import TIME
from trendweave.runners.metrics import Metrics
from trendweave.runners.options import Settings
from trendweave.runners.spark.exchange import compute_columns, is_sorted_by_time
from trendweave.runners.spark.metrics import count_results, count_rows, observe_rows
from trendweave.runners.spark.prepare import parts_type, prepare_rows, result_type
from trendweave.runners.spark.tasks import COUNTS, PEAK, ComputeTask, Limits, MergeTask, TableTask
from trendweave.runners.spark.workers import travelling


def run_batch(program: Program, events: DataFrame, settings: Settings) -> DataFrame:
    """The rows of a program. Nothing runs before an action on the result does.

    Args:
        program: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes (`in_plain_strings`).
        settings: Checked options.
    """
    metrics = settings.observation if isinstance(settings.observation, Metrics) else None
    program.count_what_is_planned()
    if settings.observation is not None:
        observation = settings.observation if metrics is None else observe_rows(metrics)
        events = events.observe(observation, *count_rows(program.needs, events))
    rows = prepare_rows(program, events, all_words=False)
    result = result_type(program, events.schema)
    found = _compute(program, rows, result, settings, counted=metrics is not None)
    return found if metrics is None else count_results(metrics, found, program.metrics is not None)


def _compute(program: Program, rows: DataFrame, result: StructType, settings: Settings, counted: bool) -> DataFrame:
    compute = _compute_sorted if is_sorted_by_time(program) else compute_columns
    task = TableTask(program, Scope(counted=counted), program.partials() is not None, device=settings.device)
    return merge_parts(task, result, lambda shown: compute(task, rows, shown, settings))


def _compute_sorted(task: TableTask, rows: DataFrame, result: StructType, settings: Settings) -> DataFrame:
    """What a task makes of rows that Spark sorts by time."""
    in_order = rows.repartitionByRange(F.col(TIME)).sortWithinPartitions(F.col(TIME))
    limits = Limits(settings.rows_at_once, settings.max_rows_of_a_key)
    return in_order.mapInArrow(travelling(ComputeTask(task, limits)), result)


def merge_parts(task: TableTask, result: StructType, compute: Callable[[StructType], DataFrame]) -> DataFrame:
    """Rows of the result, with hidden columns where trends are counted.

    Args:
        task: What tasks do; where they give parts of a result, those are merged.
        result: The columns of the result.
        compute: Gives what tasks make of their rows; called with the columns that come out of them.
    """
    program, counted = task.program, task.scope.counted
    shown = _with_hidden(result) if counted else result
    parts = program.partials()
    if parts is None:
        return compute(shown)
    carried = parts_type(parts.schema)
    found = compute(_with_hidden(carried, trends=False) if counted else carried)
    keys = [F.col(spark_column((name,))) for name in parts.together]
    together = found.repartition(*keys) if keys else found.coalesce(1)
    return together.mapInArrow(travelling(MergeTask(program, counted)), shown)


def _with_hidden(schema: StructType, trends: bool = True) -> StructType:
    hidden = [StructField(TRENDS, DoubleType())] if trends else []
    hidden += [StructField(PEAK, LongType()), StructField(COUNTS, ArrayType(LongType()))]
    return StructType([*schema.fields, *hidden])
