"""Events -> prepared rows, in Spark SQL: the same columns that `programs.preparing` makes with Arrow; and the schema of
a result, in Spark's types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, DataType, NullType, StringType, StructField, StructType

from trendweave.events import Kind, Schema, schema_of
from trendweave.expressions.spark_sql import spark_column, spark_sql
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.programs.program import FAMILY, MEETS, Family, Flag, Needs, Program
from trendweave.results.types import ResultColumn
from trendweave.rows.encoded import TIME
from trendweave.rows.unknown_types import TypedQuery, find_numbers
from trendweave.runners.spark.versions import to_arrow


def settle_numbers_on_spark(events: DataFrame, queries: Iterable[TypedQuery]) -> DataFrame:
    """Columns that are NULL in all rows, and of no type, are floats where queries take numbers from them."""
    unknown = [field.name for field in events.schema if isinstance(field.dataType, NullType)]
    numbers = find_numbers(queries) if unknown else frozenset()
    settled = {name: F.lit(None).cast("double") for name in unknown if name in numbers}
    return events.withColumns(settled) if settled else events


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


def prepare_rows(program: Program, events: DataFrame, *others: Column, all_words: bool = True) -> DataFrame:
    """Rows that can play a part, with the columns that tasks read, all of it Spark SQL.

    Args:
        program: Says what it needs.
        events: Events as they come.
        others: Columns that travel along.
        all_words: False where flags that are the same in all rows may stay behind.
    """
    needs, schema = program.needs, schema_of(events)
    for condition in _kept_rows(needs, schema):
        events = events.where(F.expr(condition))
    flags = [None if flag is None else _flag(flag, needs, schema) for flag in needs.flags]
    if needs.only_flagged:
        events = events.where(F.expr(" OR ".join(f"({flag})" for flag in flags if flag is not None)))
    columns = (
        [] if needs.time is None or TIME in dict(needs.columns) else [F.expr(spark_column((needs.time,))).alias(TIME)]
    )
    chosen = any(family.takes is not None for family in needs.families)
    if all_words or chosen or len(flags) > 1 or not needs.only_flagged:
        columns += [F.expr(word).alias(name) for name, word in zip(needs.words, _words(flags), strict=True)]
    columns += [F.expr(_expression(expression, schema)).alias(name) for name, expression in needs.columns]
    rows = events.select(*columns, *others)
    return copy_rows(rows, needs) if len(needs.families) > 1 else rows


def copy_rows(rows: DataFrame, needs: Needs) -> DataFrame:
    """Each row for each family that takes it.

    Copied first and chosen after: Spark compiles both, where it would interpret a list that is filtered in place.
    """
    listed = F.expr(f"EXPLODE(ARRAY({', '.join(str(family.mark) for family in needs.families)}))")
    copied = rows.select("*", listed.alias(FAMILY))
    if any(family.takes is not None for family in needs.families):
        copied = copied.where(F.expr(_of_family(needs, [_is_taken(family, needs) for family in needs.families])))
    return copied.withColumn(MEETS, F.expr(_of_family(needs, [meeting_number(family) for family in needs.families])))


def is_first_copy(needs: Needs) -> str:
    """Whether a row is the first copy of its event, in Spark SQL."""
    taken = [_is_taken(family, needs) for family in needs.families]
    before = [f"NOT ({' OR '.join(taken[:number])})" if number else "TRUE" for number in range(len(taken))]
    return _of_family(needs, before)


def _of_family(needs: Needs, values: Sequence[str]) -> str:
    cases = " ".join(f"WHEN {family.mark} THEN {value}" for family, value in zip(needs.families, values, strict=True))
    return f"CASE `{FAMILY}` {cases} END"


def _is_taken(family: Family, needs: Needs) -> str:
    if family.takes is None:
        return "TRUE"
    masks = [0] * len(needs.words)
    for bit in family.takes:
        masks[bit // 64] |= 1 << bit % 64
    tests = [f"(`{name}` & {_whole(mask)}) != 0L" for name, mask in zip(needs.words, masks, strict=True) if mask]
    return f"({' OR '.join(tests)})" if tests else "FALSE"


def meeting_number(family: Family) -> str:
    """A number that rows of a family with the same keys have in common, in Spark SQL. Different keys that get the same
    number only share a task: programs tell them apart."""
    return f"XXHASH64({', '.join([str(family.mark), *map(spark_column, family.keys)])})"


def key_column(path: Path, needs: Needs, schema: Schema) -> str:
    """An attribute of prepared rows, made from events, in Spark SQL."""
    expression = dict(needs.columns)[path[0]]
    if isinstance(expression, st.Attribute):
        return spark_column((*expression.names, *path[1:]))
    return spark_sql(expression, schema)


def _kept_rows(needs: Needs, schema: Schema) -> Iterator[str]:
    if needs.time is not None:
        yield has_time(needs.time, schema)
    if needs.type is not None:
        column = spark_column((needs.type,))
        if needs.kept_types is None:
            yield f"{column} IS NOT NULL"
        else:
            yield f"{column} IN ({', '.join(map(_text, sorted(needs.kept_types)))})"
    yield from (f"{spark_column(path)} IS NOT NULL" for path in needs.known)


def _flag(flag: Flag, needs: Needs, schema: Schema) -> str:
    parts = [] if flag.type is None else [f"{spark_column((needs.type or '',))} = {_text(flag.type)}"]
    parts += [] if flag.condition is None else [spark_sql(flag.condition, schema)]
    return " AND ".join(f"({part})" for part in parts) or "TRUE"


def _expression(expression: st.Expression, schema: Schema) -> str:
    """A plain column stays what it is: keys and results have its type."""
    return spark_column(expression.names) if isinstance(expression, st.Attribute) else spark_sql(expression, schema)


def _words(flags: Sequence[str | None]) -> list[str]:
    """64 flags a word: bit i is set where condition i is true."""
    words = []
    for low in range(0, len(flags), 64):
        bits = [f"IF({flag}, {_bit(i)}, 0L)" for i, flag in enumerate(flags[low : low + 64]) if flag is not None]
        words.append(" | ".join(bits) or "0L")
    return words


def _bit(index: int) -> str:
    return _whole(1 << index)


def _whole(word: int) -> str:
    """64 bits as a literal."""
    signed = word - (1 << 64) if word >= 1 << 63 else word
    return f"({signed}L)" if signed > -(1 << 63) else "(-9223372036854775807L - 1L)"


def _text(value: str) -> str:
    return spark_sql(st.Literal(value), {})


def time_in_steps(kind: pa.DataType, column: str = f"`{TIME}`") -> str:
    """A time of this type as a whole number of steps, in Spark SQL."""
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
