"""The schema of a result, in Spark's types: those of the input where the result shows its columns."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from trendweave.planning.outputs import TREND_COLUMNS
from trendweave.planning.plan import AggregateColumn, MovingWindow, Plan
from trendweave.programs.trends.program import BoundQuery, bind
from trendweave.results.aggregate_table import Numbers
from trendweave.results.trend_table import shown_attributes
from trendweave.runners.spark.prepare import arrow_schema, in_plain_strings


def result_columns(plan: Plan, events: DataFrame, time: str, type_: str | None, numbers: Numbers) -> StructType:
    """Without running anything; those of a stream are the same."""
    plain = in_plain_strings(events)
    return result_type(bind(plan, arrow_schema(plain.schema), time, type_, numbers), plain.schema)


def result_type(bound: BoundQuery, events: StructType) -> StructType:
    plan = bound.plan
    moment = events[bound.time].dataType
    names = ["time"] if isinstance(plan.window, MovingWindow) else ["window_start", "window_end"]
    fields = [StructField(name, moment) for name in names]
    fields += [StructField(group.name, type_at(events, group.path)) for group in plan.groups]
    if plan.returns == "aggregates":
        fields += [
            StructField(column.name, aggregate_type(column, events, bound.numbers)) for column in plan.aggregates
        ]
    elif plan.returns == "each":
        fields += [
            StructField(column.name, _one_trend_type(column, events, bound.numbers)) for column in plan.aggregates
        ]
    else:
        length, listed = TREND_COLUMNS
        fields += [StructField(length, LongType()), StructField(listed, ArrayType(_event_type(bound, events)))]
    return StructType(fields)


def _one_trend_type(column: AggregateColumn, events: StructType, numbers: Numbers) -> DataType:
    """Of an aggregate of one trend."""
    if column.function == "COUNT":
        return LongType()
    if column.function in ("FIRST", "LAST"):
        return type_at(events, column.path or ())
    return aggregate_type(column, events, numbers)


def _event_type(bound: BoundQuery, events: StructType) -> StructType:
    """Of an event in the list of a trend."""
    moment = events[bound.time].dataType
    known = [StructField("variable", StringType()), StructField("time", moment), StructField("type", StringType())]
    shown = shown_attributes(bound.plan, bound.time, bound.type)
    return StructType([*known, *(StructField(one.name, type_at(events, one.path)) for _, one in shown)])


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
