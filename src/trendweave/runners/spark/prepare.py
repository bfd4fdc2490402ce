"""Events -> prepared rows, in Spark SQL: the same columns that `prepared_table` makes with Arrow."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from trendweave.events import Kind, Schema
from trendweave.expressions.spark_sql import spark_column, spark_sql
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import MovingWindow
from trendweave.programs.intervals.program import BoundIntervals
from trendweave.programs.trends.program import BoundQuery
from trendweave.rows.encoded import LETTERS, TIME
from trendweave.runners.spark.arrow_types import to_arrow


def in_plain_strings(events: DataFrame) -> DataFrame:
    """Strings are told apart by their bytes on every runner, so columns with another collation lose it."""
    casts = {field.name: _in_bytes(field.dataType) for field in events.schema}
    changed = {field.name for field in events.schema if casts[field.name] != field.dataType}
    columns = [F.col(spark_column((name,))) for name in casts]
    cast = [
        column.cast(casts[name]).alias(name) if name in changed else column
        for name, column in zip(casts, columns, strict=True)
    ]
    return events.select(*cast) if changed else events


def _in_bytes(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType([StructField(part.name, _in_bytes(part.dataType), part.nullable) for part in kind])
    return StringType() if isinstance(kind, StringType) else kind


def arrow_schema(schema: StructType) -> pa.Schema:
    """Columns of types that Arrow lacks, which no query can use, stand as NULLs."""
    return pa.schema([pa.field(field.name, _arrow_type(field.dataType)) for field in schema])


def _arrow_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, StructType):
        return pa.struct(list(arrow_schema(kind)))
    try:
        return to_arrow(StructType([StructField("value", kind)])).field(0).type
    except PySparkTypeError:
        return pa.null()


def has_time(time: str, schema: Schema) -> str:
    """The condition under which a row has a time; NaN and infinities are none."""
    column = spark_column((time,))
    if schema[time].kind is not Kind.FLOAT:
        return f"({column} IS NOT NULL)"
    return f"({column} IS NOT NULL AND NOT isnan({column}) AND abs({column}) < double('infinity'))"


class Preparation:
    """Rows that can play a part, with the columns that tasks read, all of it Spark SQL."""

    def __init__(self, bound: BoundQuery, schema: Schema, events: DataFrame) -> None:
        self._bound, self._plan, self._schema, self._events = bound, bound.plan, schema, events

    def frame(self, *others: Column, all_letters: bool = True) -> DataFrame:
        """`others` are columns that travel along. Letters that are the same in all rows may stay behind."""
        time = spark_column((self._bound.time,))
        events = self._events.where(F.expr(has_time(self._bound.time, self._schema)))
        if self._bound.type is not None:
            events = events.where(F.expr(f"{spark_column((self._bound.type,))} IS NOT NULL"))
        for key, _ in zip(self._plan.partition_key, self._bound.preparation.partition_key, strict=True):
            if not key.nullable:
                events = events.where(F.expr(f"{spark_column(key.path)} IS NOT NULL"))
        readable = [self._readable(index) for index in range(len(self._plan.variables))]
        if self._plan.strategy != "contiguous":
            events = events.where(F.expr(" OR ".join(f"({condition})" for condition in readable)))
        columns = [F.expr(time).alias(TIME)]
        if all_letters or len(readable) > 1 or self._plan.strategy == "contiguous":
            columns += [F.expr(word).alias(f"{LETTERS}{i}") for i, word in enumerate(_words(readable))]
        columns += [
            F.expr(self._computed(expression)).alias(name) for name, expression in self._bound.preparation.columns
        ]
        return events.select(*columns, *others)

    def _readable(self, index: int) -> str:
        variable, condition = self._plan.variables[index], self._bound.preparation.readable[index]
        parts = []
        if self._bound.type is not None:
            parts.append(f"{spark_column((self._bound.type,))} = {_text(variable.type)}")
        if condition is not None:
            parts.append(spark_sql(condition, self._schema))
        return " AND ".join(f"({part})" for part in parts) or "TRUE"

    def _computed(self, expression: st.Expression) -> str:
        if isinstance(expression, st.Attribute):
            return spark_column(expression.names)
        return spark_sql(expression, self._schema)


def _words(readable: list[str]) -> list[str]:
    """64 variables a word: bit i is set where a row can be read as variable i."""
    words = []
    for low in range(0, len(readable), 64):
        bits = [f"IF({condition}, {_bit(i)}, 0L)" for i, condition in enumerate(readable[low : low + 64])]
        words.append(" | ".join(bits))
    return words


def _bit(index: int) -> str:
    return f"{1 << index}L" if index < 63 else "(-9223372036854775807L - 1L)"


def _text(value: str) -> str:
    return spark_sql(st.Literal(value), {})


def time_in_steps(bound: BoundQuery | BoundIntervals, column: str = f"`{TIME}`") -> str:
    """The time as a whole number of steps of its column, in Spark SQL."""
    kind = bound.events.field(bound.time).type
    if pa.types.is_floating(kind):
        # The same two roundings as in `times.as_steps`, so that both agree on the chunk of every time.
        seconds = f"CAST({column} AS DOUBLE)"
        fraction = f"CAST(RINT(({seconds} - FLOOR({seconds})) * 1e6D) AS BIGINT)"
        # A time that does not fit goes to any chunk: the task there refuses it.
        return f"IF(ABS({seconds}) <= 9.2e12D, FLOOR({seconds}) * 1000000L + {fraction}, 0L)"
    if not pa.types.is_timestamp(kind):
        return f"CAST({column} AS BIGINT)"
    if kind.tz is not None:
        return f"UNIX_MICROS({column})"
    return (
        f"CAST(CAST(CAST({column} - TIMESTAMP_NTZ '1970-01-01 00:00:00' AS INTERVAL SECOND) AS DECIMAL(19, 6)) "
        "* 1000000 AS BIGINT)"
    )


def shuffle_keys(bound: BoundQuery) -> tuple[str, ...]:
    """The columns by which rows are brought together: all keys, or those of the group where windows depend on it or
    trends are chosen per group."""
    plan, names = bound.plan, bound.preparation.partition_key
    if not isinstance(plan.window, MovingWindow) and plan.choice is None:
        return names
    grouped = {group.path for group in plan.groups if group.variable is None}
    return tuple(name for key, name in zip(plan.partition_key, names, strict=True) if key.path in grouped)


def groups_span_keys(bound: BoundQuery) -> bool:
    """Do several keys, and so several tasks, belong to one group of a window?"""
    plan = bound.plan
    if isinstance(plan.window, MovingWindow):
        return False
    grouped = {group.path for group in plan.groups if group.variable is None}
    return any(key.path not in grouped for key in plan.partition_key)
