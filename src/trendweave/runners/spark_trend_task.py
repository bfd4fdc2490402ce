"""Trends one by one on Spark: each task yields batches while it finds them, and nobody holds all trends.

Rows come together by partition key, or by group where LIMIT, LONGEST or SAMPLE chooses among trends of several keys.
So no trends are merged, and none are shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructField, StructType

from trendweave.errors import TrendweaveError
from trendweave.planning.outputs import TREND_COLUMNS
from trendweave.planning.plan import MovingWindow
from trendweave.runners.bound_query import BoundQuery
from trendweave.runners.encoded_rows import TIME
from trendweave.runners.spark_schema import aggregate_type, type_at
from trendweave.runners.spark_task import AggregateTask
from trendweave.runners.trend_table import shown_attributes


@dataclass(frozen=True, slots=True)
class TrendsTask(AggregateTask):
    """For mapInArrow. `max_trends` is checked for the keys that are computed together, before any of their trends is
    built."""

    def _computed(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        # Spark hands timestamps over in the session's zone; the answer does not depend on it.
        time = self.bound.events.field(self.bound.time).type
        table = table.set_column(table.schema.get_field_index(TIME), TIME, table.column(TIME).cast(time))
        try:
            yield from self.bound.trends(table).batches()
        except TrendweaveError as error:
            place = f"{self._place(table)}: "
            problems = [replace(problem, message=place + problem.message) for problem in error.problems]
            raise type(error)(problems, self.bound.plan.text) from error


def trend_type(bound: BoundQuery, events: StructType) -> StructType:
    """The columns of a result that has a row per trend, as Spark has them."""
    plan = bound.plan
    moment = events[bound.time].dataType
    names = ["time"] if isinstance(plan.window, MovingWindow) else ["window_start", "window_end"]
    fields = [StructField(name, moment) for name in names]
    fields += [StructField(group.name, type_at(events, group.path)) for group in plan.groups]
    if plan.returns == "each":
        for column in plan.aggregates:
            kind: DataType
            if column.function == "COUNT":
                kind = LongType()
            elif column.function in ("FIRST", "LAST"):
                kind = type_at(events, column.path or ())
            else:
                kind = aggregate_type(column, events, bound.numbers)
            fields.append(StructField(column.name, kind))
        return StructType(fields)
    event = [StructField("variable", StringType()), StructField("time", moment), StructField("type", StringType())]
    event += [
        StructField(shown.name, type_at(events, shown.path))
        for _, shown in shown_attributes(plan, bound.time, bound.type)
    ]
    length, listed = TREND_COLUMNS
    return StructType([*fields, StructField(length, LongType()), StructField(listed, ArrayType(StructType(event)))])
