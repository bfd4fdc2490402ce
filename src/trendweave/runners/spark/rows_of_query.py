"""The rows of one query out of those of a workload, on Spark: a filter and a projection, in batch and on streams."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trendweave.expressions.spark_sql import spark_column
from trendweave.results.united_columns import QUERY, Shown


def select_rows_on_spark(result: DataFrame, name: str, columns: Sequence[Shown]) -> DataFrame:
    """Rows of one query, with its columns alone; nothing runs.

    Args:
        result: Rows of a workload.
        name: The name of the query.
        columns: The columns of its own result.
    """
    return result.where(F.col(QUERY) == name).select(*(_select(column) for column in columns))


def _select(column: Shown) -> Column:
    given = F.col(spark_column((column.name,)))
    if not column.fields:
        return given

    def narrow(event: Column) -> Column:
        return F.struct(*(event.getField(field).alias(field) for field in column.fields))

    return F.transform(given, narrow).alias(column.name)
