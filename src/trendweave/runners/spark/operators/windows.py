"""Plain windows of time in Spark SQL, where its values are ours: `groupBy(window(...), keys)`.

Counts, sums of whole numbers, smallest and largest values come out the same and are handed over. Spark adds floats in
whatever order they come, with a rounding at every step, and divides by rounded sums; ours are exact and rounded once.
So sums and means of floats, and all means, run in our tasks.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trendweave.expressions.spark_sql import spark_column
from trendweave.language.syntax_tree import CalculatedName
from trendweave.programs.operators.windows.edges import StepSpan
from trendweave.programs.operators.windows.outputs import Asked, aggregate_of
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.results.types import DIGITS
from trendweave.runners.options import Settings
from trendweave.runners.spark.schema import result_type

#: Spark copies each row for each window that holds it; beyond so many our tasks, which do not, are quicker.
_MOST_COPIES = 4
_WINDOW = "trendweave_window"
_ORDERED = (
    *(T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType, T.DecimalType),
    *(T.StringType, T.BooleanType, T.DateType, T.TimestampType, T.TimestampNTZType),
)


def windows_in_sql(program: WindowAggregates, events: DataFrame, settings: Settings) -> DataFrame | None:
    """The rows of a windowed aggregation, by Spark SQL alone.

    Args:
        program: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.

    Returns:
        The rows; None where Spark's would differ, or where it would be slow: then they are computed in tasks.
    """
    window = program.window
    kinds = {field.name: field.dataType for field in events.schema}
    if not isinstance(window, StepSpan) or not isinstance(kinds[program.time], T.TimestampType | T.TimestampNTZType):
        return None
    if window.slide > window.length or window.length > _MOST_COPIES * window.slide:
        return None
    if settings.device == "gpu" or events.isStreaming or settings.observation is not None:
        return None
    if program.numbers != "decimal":
        return None
    asked = [_aggregate(one, kinds) for one in program.outputs.asked]
    shown = [aggregate_of(expression) for _, expression in program.outputs.shown]
    if None in shown or any(column is None for column in asked):
        return None
    if not all(isinstance(kinds[key], _ORDERED) for key in program.plan.keys):
        return None
    length, slide = f"{window.length} microseconds", f"{window.slide} microseconds"
    span = F.window(F.expr(spark_column((program.time,))), length, slide).alias(_WINDOW)
    keys = [F.expr(spark_column((key,))).alias(f"key {number}") for number, key in enumerate(program.plan.keys)]
    named = [column.alias(f"aggregate {number}") for number, column in enumerate(asked) if column is not None]
    groups = events.groupBy(span, *keys).agg(*named)
    columns = [F.col(f"`key {number}`") for number in range(len(keys))]
    columns += [F.col(f"{_WINDOW}.start"), F.col(f"{_WINDOW}.end")]
    columns.append(F.expr(f"{_WINDOW}.end - INTERVAL '0.000001' SECOND"))
    columns += [F.col(f"`aggregate {number}`") for number in shown]
    wanted = result_type(program, events.schema)
    return groups.select(
        *(column.cast(field.dataType).alias(field.name) for column, field in zip(columns, wanted, strict=True))
    )


def _aggregate(asked: Asked, kinds: dict[str, T.DataType]) -> Column | None:
    """None where Spark's value may be another one than ours."""
    if asked.path is None:
        return F.count(F.lit(1))
    if len(asked.path) > 1 or isinstance(asked.path[0], CalculatedName):
        return None
    column, kind = F.expr(spark_column(asked.path)), kinds[asked.path[0]]
    if asked.function == "COUNT":
        return F.count(column)
    if asked.function == "SUM":
        return _sum(column, kind)
    if asked.function == "AVG" or not isinstance(kind, _ORDERED):
        return None
    found = F.min(column) if asked.function == "MIN" else F.max(column)
    # -0.0 is 0.0.
    return found + F.lit(0.0).cast(kind) if isinstance(kind, T.FloatType | T.DoubleType) else found


def _sum(column: Column, kind: T.DataType) -> Column | None:
    """Exact sums. Those of 64 bits are added in two halves, which is quicker than with decimals and leaves no bits."""
    wide = T.DecimalType(DIGITS, 0)
    if isinstance(kind, T.ByteType | T.ShortType | T.IntegerType):
        return F.sum(column.cast("bigint")).cast(wide)
    if isinstance(kind, T.LongType):
        upper, lower = F.sum(F.shiftright(column, 32)), F.sum(column.bitwiseAND(F.lit(0xFFFFFFFF)))
        scaled = upper.cast(T.DecimalType(20, 0)) * F.lit(2**32).cast(T.DecimalType(10, 0))
        return (scaled + lower.cast(T.DecimalType(20, 0))).cast(wide)
    if isinstance(kind, T.DecimalType) and kind.precision <= 18:
        return F.sum(column).cast(T.DecimalType(DIGITS, kind.scale))
    return None
