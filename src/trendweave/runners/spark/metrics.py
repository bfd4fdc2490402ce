"""What a query has read, dropped and found, counted by Spark while rows pass: no further job, no second pass."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column
from trendweave.programs.program import TRENDS, Needs
from trendweave.runners.spark.prepare import has_time
from trendweave.runners.spark.task import PEAK


class Metrics:
    """Counts of one run, there after its first action: `run(events, metrics=metrics)`, then `metrics.get`.

    `rows`, `null_time`, `null_type`, `other_type`: rows read, and dropped by reason. `trends`: trends (or matches)
    found, as a float, in all windows and groups together. `peak_rows`: events of the largest key (in its chunk of
    time); None where there is no result.
    """

    def __init__(self) -> None:
        self.of_rows, self._of_results = Observation(), Observation()

    @property
    def get(self) -> dict[str, Any]:
        """The counts by name. Waits for the first action on the result."""
        return {**self.of_rows.get, **self._of_results.get}

    def count_results(self, results: DataFrame) -> DataFrame:
        """Counts what the hidden columns say, then takes them away."""
        trends, peak = F.sum(TRENDS).alias("trends"), F.max(PEAK).alias("peak_rows")
        counts = (F.coalesce(trends, F.lit(0.0)).alias("trends"), peak)
        return results.observe(self._of_results, *counts).drop(TRENDS, PEAK)


def count_rows(needs: Needs, events: DataFrame) -> list[Column]:
    """Counts of rows, and of those that are dropped by reason."""
    no_time = F.lit(False) if needs.time is None else ~F.expr(has_time(needs.time, schema_of(events)))
    counts = [F.count(F.lit(1)).alias("rows"), F.count_if(no_time).alias("null_time")]
    no_type = other_type = F.lit(False)
    if needs.type is not None:
        kind = F.col(spark_column((needs.type,)))
        no_type, other_type = kind.isNull(), kind.isNotNull() & ~kind.isin(sorted(needs.named_types))
    counts.append(F.count_if(~no_time & no_type).alias("null_type"))
    counts.append(F.count_if(~no_time & other_type).alias("other_type"))
    return counts
