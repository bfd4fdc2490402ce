"""Operators on DataFrames, one by one, and on streams."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_sql
from trendweave.programs.operators.chain import Stage, make_chain, shared_keys
from trendweave.programs.operators.filter import KeptEvents
from trendweave.runners.options import Settings
from trendweave.runners.spark.batch import run_batch
from trendweave.runners.spark.operators.slices import windows_in_slices
from trendweave.runners.spark.operators.windows import windows_in_sql
from trendweave.runners.spark.prepare import has_time


def run_stages(stages: tuple[Stage, ...], events: DataFrame, settings: Settings) -> tuple[DataFrame, int]:
    """The rows of the first operator, or of several that need not change places in between.

    Args:
        stages: At least one, each bound to the rows of the one before.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.

    Returns:
        The rows, and how many operators have been run.
    """
    number = count_together(stages)
    if number == 1:
        return run_stage(stages[0], events, settings), 1
    text = " | ".join(stage.program.text for stage in stages[:number])
    return run_batch(make_chain(stages[:number], text), events, settings), number


def count_together(stages: tuple[Stage, ...]) -> int:
    """How many of the first operators run in the same tasks: those whose events meet by the keys of the first, which
    are all that there is to deal out by."""
    first = stages[0].program
    keys = first.needs.together
    if stages[0].is_filter or not keys or first.partials() is not None or first.cut() is not None:
        return 1
    number = 1
    while number < len(stages) and len(shared_keys(stages[: number + 1])) == len(keys):
        number += 1
    return number


def run_stage(stage: Stage, events: DataFrame, settings: Settings) -> DataFrame:
    """The rows of an operator. Nothing runs before an action on the result does.

    Args:
        stage: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.
    """
    if stage.filter is not None:
        return run_filter(stage.filter, events)
    found = None
    if stage.windows is not None:
        found = windows_in_sql(stage.windows, events, settings)
        found = windows_in_slices(stage.windows, events, settings) if found is None else found
    return run_batch(stage.program, events, settings) if found is None else found


def run_filter(program: KeptEvents, events: DataFrame) -> DataFrame:
    """The rows of a filter, of a DataFrame or of a stream: Spark SQL alone.

    Args:
        program: Bound to the columns of the events.
        events: As for `run_stage`.
    """
    schema = schema_of(events)
    condition = spark_sql(program.plan.condition, schema)
    return events.where(F.expr(has_time(program.time, schema))).where(F.expr(condition))
