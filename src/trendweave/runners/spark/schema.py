"""The schema of a result, in Spark's types: those of the input where the result shows its columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from trendweave.planning.plan import Path
from trendweave.programs.program import Program
from trendweave.results.types import ResultColumn


def result_type(program: Program, events: StructType) -> StructType:
    """The columns of the result of a program, on events with these columns."""
    return spark_schema(program.result, events)


def parts_type(schema: pa.Schema) -> StructType:
    """The columns of parts of a result, which stay between our own tasks."""
    return StructType(
        [StructField(field.name, from_arrow_type(field.type, prefer_timestamp_ntz=True)) for field in schema]
    )


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
        found = _type_at(events, column.source)
        return ArrayType(found) if column.is_list else found
    return from_arrow_type(column.type, prefer_timestamp_ntz=True)


def _type_at(schema: StructType, path: Path) -> DataType:
    found: Any = schema
    for name in path:
        found = found[name].dataType
    return found
