"""What a query has read, dropped and found, counted by Spark while rows pass: no further job, no second pass."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column
from trendweave.planning.plan import Plan
from trendweave.runners.spark.prepare import has_time
from trendweave.runners.spark.task import PEAK, TRENDS


class Metrics:
    """Counts of one run, there after its first action: `run(events, metrics=Metrics())`, then `metrics.get`.

    `rows`, `null_time`, `null_type`, `other_type`: rows read, and dropped by reason. `trends`: trends counted, as a
    float, in all windows and groups together. `peak_rows`: events of the largest key (in its chunk of time).
    """

    def __init__(self) -> None:
        self._read, self._found = Observation(), Observation()

    @property
    def get(self) -> dict[str, Any]:
        return {**self._read.get, **self._found.get}

    def of_events(self, plan: Plan, events: DataFrame, time: str, type_: str | None) -> DataFrame:
        return observed(plan, events, time, type_, self._read)

    def of_results(self, results: DataFrame) -> DataFrame:
        """Counts what the hidden columns say, then takes them away."""
        trends, peak = F.sum(TRENDS).alias("trends"), F.max(PEAK).alias("peak_rows")
        return results.observe(self._found, F.coalesce(trends, F.lit(0.0)).alias("trends"), peak).drop(TRENDS, PEAK)


def observed(plan: Plan, events: DataFrame, time: str, type_: str | None, observation: Observation) -> DataFrame:
    """Counts rows and those that are dropped while they pass."""
    types = {variable.type for variable in plan.variables}
    return events.observe(observation, *counts_of_rows(types, events, time, type_))


def counts_of_rows(types: set[str], events: DataFrame, time: str, type_: str | None) -> list[Column]:
    no_time = ~F.expr(has_time(time, schema_of(events)))
    counts = [F.count(F.lit(1)).alias("rows"), F.count_if(no_time).alias("null_time")]
    no_type = other_type = F.lit(False)
    if type_ is not None:
        kind = F.col(spark_column((type_,)))
        no_type, other_type = kind.isNull(), kind.isNotNull() & ~kind.isin(sorted(types))
    counts.append(F.count_if(~no_time & no_type).alias("null_type"))
    counts.append(F.count_if(~no_time & other_type).alias("other_type"))
    return counts
