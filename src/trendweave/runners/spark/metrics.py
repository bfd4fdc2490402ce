"""What a query has read, dropped and found, counted by Spark while rows pass: no further job, no second pass."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column
from trendweave.programs.program import TRENDS, Needs
from trendweave.programs.shared.unit import COUNTED
from trendweave.runners.metrics import Metrics
from trendweave.runners.spark.prepare import has_time
from trendweave.runners.spark.tasks import COUNTS, PEAK


def observe_rows(metrics: Metrics) -> Observation:
    """Make the observations of a run; that of rows comes back."""
    of_rows, of_results = Observation(), Observation()
    metrics.observations = (of_rows, of_results)
    return of_rows


def count_results(metrics: Metrics, results: DataFrame, shares: bool) -> DataFrame:
    """Counts what the hidden columns say, then takes them away, with rows that are there for the counts alone.
    `shares`: there are counts of what the queries of a workload shared."""
    trends, peak = F.sum(TRENDS).alias("trends"), F.max(PEAK).alias("peak_rows")
    counts = [F.coalesce(trends, F.lit(0.0)).alias("trends"), peak, *_sum_counts(shares)]
    return results.observe(metrics.observations[1], *counts).where(F.col(COUNTS).isNull()).drop(TRENDS, PEAK, COUNTS)


def _sum_counts(shares: bool) -> list[Column]:
    """Counts by name, of rows with a list of them."""
    names = ("same_time", *(COUNTED if shares else ()))
    sums = {name: F.sum(F.col(COUNTS)[place]) for place, name in enumerate(names)}
    return [F.coalesce(total, F.lit(0)).alias(name) for name, total in sums.items()]


def count_rows(needs: Needs, events: DataFrame) -> list[Column]:
    """Counts of rows, and of those that are dropped by reason."""
    no_time = F.lit(False) if needs.time is None else ~F.expr(has_time(needs.time, schema_of(events)))
    counts = [F.count(F.lit(1)).alias("rows"), F.count_if(no_time).alias("null_time")]
    no_type = other_type = F.lit(False)
    if needs.type is not None:
        kind = F.col(spark_column((needs.type,)))
        no_type = kind.isNull()
        if needs.named_types is not None:
            other_type = kind.isNotNull() & ~kind.isin(sorted(needs.named_types))
    counts.append(F.count_if(~no_time & no_type).alias("null_type"))
    counts.append(F.count_if(~no_time & other_type).alias("other_type"))
    return counts
