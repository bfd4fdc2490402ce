"""Trend queries whose events lie in situations, on Spark: a task per partition marks the events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType

from trendweave.expressions.spark_sql import spark_column
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.intervals.program import BoundIntervals, bind_intervals
from trendweave.programs.situated.marking import marked_events
from trendweave.runners.spark.prepare import arrow_schema, in_plain_strings


@dataclass(frozen=True, slots=True)
class _MarkTask:
    """For mapInArrow: all events of some partitions, in any order."""

    bound: BoundIntervals
    columns: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if held:
            table = pa.Table.from_batches(held).cast(self.bound.events)
            yield from marked_events(self.bound, self.columns, table).to_batches()


def with_situations(plan: SituatedPlan, events: DataFrame, time: str, type_: str | None) -> DataFrame:
    """The events with a boolean column per situation. Without keys, one task sees all of them."""
    events = in_plain_strings(events)
    needed = {path[0] for columns in plan.trend.needed_columns for path in columns.paths}
    needed |= {path[0] for path in plan.situations.needed_columns} | {time} | ({type_} if type_ is not None else set())
    names = [name for name in events.columns if name in needed]
    events = events.select(*(F.col(spark_column((name,))) for name in names))
    bound = bind_intervals(plan.situations, arrow_schema(events.schema), time, type_)
    keys = [F.expr(spark_column(path)) for path in plan.situations.partition_by]
    placed = events.repartition(*keys) if keys else events.coalesce(1)
    schema = StructType([*events.schema.fields, *(StructField(name, BooleanType()) for name in plan.columns)])
    return placed.mapInArrow(_MarkTask(bound, plan.columns).__call__, schema)


def with_empty_columns(plan: SituatedPlan, events: DataFrame) -> DataFrame:
    """For the schema of what comes out."""
    return events.withColumns({name: F.lit(None).cast(BooleanType()) for name in plan.columns})
