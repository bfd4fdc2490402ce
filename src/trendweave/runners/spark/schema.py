"""The schema of a result, in Spark's types: those of the input where the result shows its columns."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from trendweave.planning.plan import Path, Plan
from trendweave.programs.trends.program import BoundQuery, bind
from trendweave.results.types import Numbers, ResultColumn, trend_columns
from trendweave.runners.spark.prepare import arrow_schema, in_plain_strings


def result_columns(plan: Plan, events: DataFrame, time: str, type_: str | None, numbers: Numbers) -> StructType:
    """Without running anything; those of a stream are the same."""
    plain = in_plain_strings(events)
    return result_type(bind(plan, arrow_schema(plain.schema), time, type_, numbers), plain.schema)


def result_type(bound: BoundQuery, events: StructType) -> StructType:
    """Write the columns of a query's result in Spark's types.

    Args:
        bound: The query, bound to the columns of the events.
        events: The same columns as Spark describes them.

    Returns:
        The columns in order.
    """
    return spark_schema(trend_columns(bound.plan, bound.events, bound.time, bound.type, bound.numbers), events)


def spark_schema(columns: tuple[ResultColumn, ...], events: StructType) -> StructType:
    """Write the columns of a result in Spark's types.

    Args:
        columns: The columns as `results.types` settles them.
        events: The columns of the events; one that the result shows keeps its own type.

    Returns:
        The columns in order.
    """
    return StructType([StructField(column.name, _spark_type(column, events)) for column in columns])


def _spark_type(column: ResultColumn, events: StructType) -> DataType:
    if column.fields:
        return ArrayType(spark_schema(column.fields, events))
    if column.source is not None:
        return _type_at(events, column.source)
    return from_arrow_type(column.type, prefer_timestamp_ntz=True)


def _type_at(schema: StructType, path: Path) -> DataType:
    found: Any = schema
    for name in path:
        found = found[name].dataType
    return found
