"""Spark batch: a lazy DataFrame in, a lazy DataFrame out.

Spark evaluates every expression, filters, partitions and sorts in the JVM; each task calls the same code as the in-
process runner on its rows. Keys are cut into chunks of time as well, so that one large key, or none, still makes many
tasks: a chunk owns the windows that start in it and also reads the events of the window length that follows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import DataType, DecimalType, DoubleType, LongType, StringType, StructField, StructType

from trendweave.errors import ExecutionError, Problem
from trendweave.events import Kind, Schema, schema_of
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import AggregateColumn, MovingWindow, Plan, SlidingWindow
from trendweave.runners.bound_query import BoundQuery, bind
from trendweave.runners.encoded_rows import CHUNK, LETTERS, TIME
from trendweave.runners.partial_table import WINDOW, group_names, partial_schema
from trendweave.runners.result_table import NUMBERS, Numbers
from trendweave.runners.spark_expressions import spark_column, spark_sql
from trendweave.runners.spark_task import AggregateTask, Limits, MergeTask
from trendweave.runners.times import steps_of, time_type
from trendweave.runners.trend_options import Detection

if TYPE_CHECKING:
    from pyspark.sql import Observation

    from trendweave.queries import Query

#: A chunk of time is this many times as long as what it reads beyond its end: one event in nine is read twice.
_CHUNK_FACTOR = 9


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks of time, in steps of the time column: their length, and how far before or after it they read."""

    length: int
    before: int
    after: int


def run_spark(
    query: Query,
    events: DataFrame,
    time: str,
    type_: str | None,
    numbers: Numbers | None = None,
    observation: Observation | None = None,
    detection: Detection | None = None,
) -> DataFrame:
    """The rows of an aggregate query. Nothing runs before an action on the result does."""
    if events.isStreaming:
        raise ExecutionError([Problem("TW404", "streams cannot be run yet", "run the query on a batch DataFrame")])
    query.check(events, time, type_)
    setting = _Settings(events)
    chosen = numbers or setting.get("numbers", "decimal")
    if chosen not in NUMBERS:
        raise ValueError(f"numbers is one of {', '.join(NUMBERS)}, not {chosen}")
    events = _in_plain_strings(events)
    bound = bind(query.plan, _arrow_schema(events.schema), time, type_, chosen, detection=detection)
    if observation is not None:
        events = _observed(query.plan, events, time, type_, observation)
    prepared = _Preparation(bound, schema_of(events), events).frame()
    return _aggregated(bound, prepared, events.schema, setting)


class _Settings:
    """`spark.trendweave.*` of the session, as defaults."""

    def __init__(self, events: DataFrame) -> None:
        self._conf = events.sparkSession.conf

    def get(self, name: str, default: Any) -> Any:
        return self._conf.get(f"spark.trendweave.{name}", str(default))


def _in_plain_strings(events: DataFrame) -> DataFrame:
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


def _arrow_schema(schema: StructType) -> pa.Schema:
    """Columns of types that Arrow lacks, which no query can use, stand as NULLs."""
    return pa.schema([pa.field(field.name, _arrow_type(field.dataType)) for field in schema])


def _arrow_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, StructType):
        return pa.struct(list(_arrow_schema(kind)))
    try:
        return to_arrow_schema(StructType([StructField("value", kind)]), timezone="UTC").field(0).type
    except PySparkTypeError:
        return pa.null()


def _has_time(time: str, schema: Schema) -> str:
    """The condition under which a row has a time; NaN and infinities are none."""
    column = spark_column((time,))
    if schema[time].kind is not Kind.FLOAT:
        return f"({column} IS NOT NULL)"
    return f"({column} IS NOT NULL AND NOT isnan({column}) AND abs({column}) < double('infinity'))"


class _Preparation:
    """Rows that can play a part, with the columns that tasks read, all of it Spark SQL."""

    def __init__(self, bound: BoundQuery, schema: Schema, events: DataFrame) -> None:
        self._bound, self._plan, self._schema, self._events = bound, bound.plan, schema, events

    def frame(self) -> DataFrame:
        time = spark_column((self._bound.time,))
        events = self._events.where(F.expr(_has_time(self._bound.time, self._schema)))
        if self._bound.type is not None:
            events = events.where(F.expr(f"{spark_column((self._bound.type,))} IS NOT NULL"))
        for key, _ in zip(self._plan.partition_key, self._bound.preparation.partition_key, strict=True):
            if not key.nullable:
                events = events.where(F.expr(f"{spark_column(key.path)} IS NOT NULL"))
        readable = [self._readable(index) for index in range(len(self._plan.variables))]
        if self._plan.strategy != "contiguous":
            events = events.where(F.expr(" OR ".join(f"({condition})" for condition in readable)))
        columns = [F.expr(time).alias(TIME)]
        columns += [F.expr(word).alias(f"{LETTERS}{i}") for i, word in enumerate(_words(readable))]
        columns += [
            F.expr(self._computed(expression)).alias(name) for name, expression in self._bound.preparation.columns
        ]
        return events.select(*columns)

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


# Partitions


def _aggregated(bound: BoundQuery, prepared: DataFrame, events: StructType, setting: _Settings) -> DataFrame:
    plan = bound.plan
    keys = _shuffle_keys(bound)
    chunks = _chunks(bound) if setting.get("chunks", "auto") != "off" else None
    if chunks is not None:
        prepared = _chunked(prepared, chunks, bound)
        keys = (*keys, CHUNK)
        bound = bound.in_chunks(chunks.length)
    columns = [F.col(name) for name in keys]
    placed = prepared.repartition(*columns) if columns else prepared.coalesce(1)
    placed = placed.sortWithinPartitions(*columns, F.col(TIME))
    limits = Limits(int(setting.get("rowsAtOnce", 1_000_000)), int(setting.get("maxRowsOfAKey", 20_000_000)))
    if bound.shows_trends:
        from trendweave.runners.spark_trend_task import TrendsTask, trend_type

        return placed.mapInArrow(TrendsTask(bound, keys, False, limits).__call__, trend_type(bound, events))
    result = _result_type(bound, events)
    if not _groups_span_keys(bound):
        return placed.mapInArrow(AggregateTask(bound, keys, False, limits).__call__, result)
    schema = from_arrow_schema(partial_schema(plan, bound.events, bound.numbers), prefer_timestamp_ntz=True)
    partial = placed.mapInArrow(AggregateTask(bound, keys, True, limits).__call__, schema)
    together = partial.repartition(F.col(WINDOW), *(F.col(name) for name in group_names(plan)))
    return together.mapInArrow(MergeTask(bound).__call__, result)


def _shuffle_keys(bound: BoundQuery) -> tuple[str, ...]:
    """The columns by which rows are brought together: all keys, or those of the group where windows depend on it or
    trends are chosen per group."""
    plan, names = bound.plan, bound.preparation.partition_key
    if not isinstance(plan.window, MovingWindow) and plan.choice is None:
        return names
    grouped = {group.path for group in plan.groups if group.variable is None}
    return tuple(name for key, name in zip(plan.partition_key, names, strict=True) if key.path in grouped)


def _groups_span_keys(bound: BoundQuery) -> bool:
    """Do several keys, and so several tasks, belong to one group of a window?"""
    plan = bound.plan
    if isinstance(plan.window, MovingWindow):
        return False
    grouped = {group.path for group in plan.groups if group.variable is None}
    return any(key.path not in grouped for key in plan.partition_key)


def _chunks(bound: BoundQuery) -> Chunks | None:
    kind = time_type(bound.events.field(bound.time).type)
    match bound.plan.window:
        case SlidingWindow(length=length, slide=slide):
            beyond = steps_of(length, kind, "WITHIN") - steps_of(slide, kind, "SLIDE")
            step = slide // kind.step
            windows = max(1, -(-_CHUNK_FACTOR * beyond // step))
            return Chunks(windows * step, 0, beyond)
        case MovingWindow(length=length):
            before = -(-length // kind.step)
            return Chunks(_CHUNK_FACTOR * before, before, 0)
    return None


def _chunked(prepared: DataFrame, chunks: Chunks, bound: BoundQuery) -> DataFrame:
    """Each row with the number of its chunk, and once more for each neighbour that reads it."""
    steps = _steps(bound)
    offset = f"PMOD({steps}, {chunks.length}L)"
    # Rounded down, by numbers that fit 64 bits for every time.
    own = f"({steps} DIV {chunks.length}L - IF({steps} % {chunks.length}L < 0L, 1L, 0L))"
    copies = [own]
    if chunks.after:
        copies.append(f"IF({offset} < {chunks.after}L, {own} - 1L, NULL)")
    if chunks.before:
        copies.append(f"IF({offset} >= {chunks.length - chunks.before}L, {own} + 1L, NULL)")
    if len(copies) == 1:
        return prepared.withColumn(CHUNK, F.expr(own))
    listed = F.expr(f"EXPLODE(FILTER(ARRAY({', '.join(copies)}), number -> number IS NOT NULL))")
    return prepared.select("*", listed.alias(CHUNK))


def _steps(bound: BoundQuery) -> str:
    """The time as a whole number of steps of its column, in Spark SQL."""
    kind = bound.events.field(bound.time).type
    if pa.types.is_floating(kind):
        # The same two roundings as in `times.as_steps`, so that both agree on the chunk of every time.
        seconds = f"CAST(`{TIME}` AS DOUBLE)"
        fraction = f"CAST(RINT(({seconds} - FLOOR({seconds})) * 1e6D) AS BIGINT)"
        # A time that does not fit goes to any chunk: the task there refuses it.
        return f"IF(ABS({seconds}) <= 9.2e12D, FLOOR({seconds}) * 1000000L + {fraction}, 0L)"
    if not pa.types.is_timestamp(kind):
        return f"CAST(`{TIME}` AS BIGINT)"
    if kind.tz is not None:
        return f"UNIX_MICROS(`{TIME}`)"
    return (
        f"CAST(CAST(CAST(`{TIME}` - TIMESTAMP_NTZ '1970-01-01 00:00:00' AS INTERVAL SECOND) AS DECIMAL(19, 6)) "
        "* 1000000 AS BIGINT)"
    )


# Results


def _result_type(bound: BoundQuery, events: StructType) -> StructType:
    plan = bound.plan
    moment = events[bound.time].dataType
    names = ["time"] if isinstance(plan.window, MovingWindow) else ["window_start", "window_end"]
    fields = [StructField(name, moment) for name in names]
    fields += [StructField(group.name, _type_at(events, group.path)) for group in plan.groups]
    fields += [StructField(column.name, aggregate_type(column, events, bound.numbers)) for column in plan.aggregates]
    return StructType(fields)


def _type_at(schema: StructType, path: tuple[str, ...]) -> DataType:
    found: Any = schema
    for name in path:
        found = found[name].dataType
    return found


def aggregate_type(column: AggregateColumn, events: StructType, numbers: Numbers) -> DataType:
    kind = None if column.path is None else _type_at(events, column.path)
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


def _observed(plan: Plan, events: DataFrame, time: str, type_: str | None, observation: Observation) -> DataFrame:
    """Counts rows and those that are dropped while they pass, without another job."""
    no_time = ~F.expr(_has_time(time, schema_of(events)))
    counts = [F.count(F.lit(1)).alias("rows"), F.count_if(no_time).alias("null_time")]
    if type_ is not None:
        kind = F.col(spark_column((type_,)))
        names = sorted({variable.type for variable in plan.variables})
        counts.append(F.count_if(~no_time & kind.isNull()).alias("null_type"))
        counts.append(F.count_if(~no_time & kind.isNotNull() & ~kind.isin(names)).alias("other_type"))
    return events.observe(observation, *counts)
