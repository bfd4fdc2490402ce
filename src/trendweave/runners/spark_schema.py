"""The schema of a result, in Spark's types: those of the input where the result shows its columns."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import DataType, DecimalType, DoubleType, LongType, StringType, StructField, StructType

from trendweave.planning.plan import AggregateColumn, MovingWindow
from trendweave.runners.bound_query import BoundQuery
from trendweave.runners.result_table import Numbers


def result_type(bound: BoundQuery, events: StructType) -> StructType:
    plan = bound.plan
    moment = events[bound.time].dataType
    names = ["time"] if isinstance(plan.window, MovingWindow) else ["window_start", "window_end"]
    fields = [StructField(name, moment) for name in names]
    fields += [StructField(group.name, type_at(events, group.path)) for group in plan.groups]
    fields += [StructField(column.name, aggregate_type(column, events, bound.numbers)) for column in plan.aggregates]
    return StructType(fields)


def type_at(schema: StructType, path: tuple[str, ...]) -> DataType:
    found: Any = schema
    for name in path:
        found = found[name].dataType
    return found


def aggregate_type(column: AggregateColumn, events: StructType, numbers: Numbers) -> DataType:
    kind = None if column.path is None else type_at(events, column.path)
    if column.function in ("MIN", "MAX"):
        assert kind is not None
        return kind
    if column.function == "AVG" or (kind is not None and kind.typeName() in ("float", "double")):
        return DoubleType()
    scale = kind.scale if isinstance(kind, DecimalType) else 0
    whole: dict[str, DataType] = {"decimal": DecimalType(38, scale), "int64": LongType(), "text": StringType()}
    if isinstance(kind, DecimalType):
        whole["int64"] = DecimalType(38, scale)
    return whole.get(numbers, DoubleType())
