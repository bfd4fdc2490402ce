"""Operators on DataFrames, one by one, and on streams."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_sql
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.program import Program
from trendweave.runners.options import Settings
from trendweave.runners.spark.batch import run_batch
from trendweave.runners.spark.operators.windows import windows_in_sql
from trendweave.runners.spark.prepare import has_time


def run_stage(program: Program, events: DataFrame, settings: Settings) -> DataFrame:
    """The rows of an operator. Nothing runs before an action on the result does.

    Args:
        program: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.
    """
    if isinstance(program, KeptEvents):
        return run_filter(program, events)
    if isinstance(program, WindowAggregates) and (found := windows_in_sql(program, events, settings)) is not None:
        return found
    return run_batch(program, events, settings)


def run_filter(program: KeptEvents, events: DataFrame) -> DataFrame:
    """The rows of a filter, of a DataFrame or of a stream: Spark SQL alone.

    Args:
        program: Bound to the columns of the events.
        events: As for `run_stage`.
    """
    schema = schema_of(events)
    condition = spark_sql(program.plan.condition, schema)
    return events.where(F.expr(has_time(program.time, schema))).where(F.expr(condition))
