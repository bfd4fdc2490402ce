"""Two DataFrames as one whose rows carry their side: `programs.operators.joins.sides.merge_sides` in Spark SQL."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trendweave.errors import ExecutionError, Problem
from trendweave.expressions.spark_sql import spark_column
from trendweave.planning.operator_plans import JoinPlan
from trendweave.programs.operators.joins.sides import SIDE, SIDES, merge_names


def merge_frames(left: DataFrame, right: DataFrame, plan: JoinPlan, time: str) -> DataFrame:
    """Two DataFrames, or two streams, as one; columns of the other side are NULL. Nothing is read.

    Args:
        left: The events of the left side.
        right: Those of the right side.
        plan: The join.
        time: The name of the time column.

    Raises:
        ExecutionError: One of them is a stream, and the other is none.
    """
    if left.isStreaming != right.isStreaming:
        stream, table = SIDES if left.isStreaming else SIDES[::-1]
        message = f"the {stream} side of the join is a stream, and the {table} side is none: it has no watermark"
        raise ExecutionError([Problem("TW409", message, "read both by spark.readStream, or both by spark.read")])
    # Rows of tasks are in no order that keys would have to tell.
    found = merge_names(left.columns, right.columns, plan.keys)
    names = [(side, name) for side, name in found if side is None or name not in plan.keys]
    parts = []
    for number, (own, frame) in enumerate(zip(SIDES, (left, right), strict=True)):
        columns = [_column(time), F.lit(number).cast("tinyint").alias(SIDE)]
        for side, name in names:
            if side is None:
                columns.append(_column(name))
            elif side == own:
                columns.append(_column(name).alias(f"{side}_{name}"))
            else:
                kind = (left if side == "left" else right).schema[name].dataType
                columns.append(F.lit(None).cast(kind).alias(f"{side}_{name}"))
        parts.append(frame.select(*columns))
    return parts[0].unionByName(parts[1])


def _column(name: str) -> Column:
    return F.col(spark_column((name,)))
