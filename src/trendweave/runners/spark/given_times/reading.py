"""Times as people have them, read as timestamps in Spark SQL: `rows.given_times.reading` with the same meaning."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, FloatType, IntegralType, StringType

from trendweave.errors import DataError, Problem
from trendweave.expressions.spark_sql import spark_column
from trendweave.rows.given_times.reading import TimeReading
from trendweave.rows.given_times.units import MICROS, TimeUnit
from trendweave.rows.given_times.written import Written
from trendweave.runners.spark.given_times.texts import read_iso, write_as_iso


def read_times_on_spark(events: DataFrame, names: tuple[str, ...], reading: TimeReading) -> DataFrame:
    """A DataFrame, or a stream, whose times are read. Nothing runs.

    Args:
        events: Events as they come.
        names: The columns that hold times; one that is not there is for checks to tell.
        reading: How they are read.

    Raises:
        DataError: A column is not read so.
    """
    if not reading.changes:
        return events
    kinds = {field.name: field.dataType for field in events.schema if field.name in names}
    if reading.written is not None:
        events = _replace(events, {name: _write(name, kind, reading.written) for name, kind in kinds.items()})
        return _replace(events, {name: read_iso(name) for name in kinds})
    assert reading.unit is not None
    return _replace(events, {name: _read(name, kind, reading.unit) for name, kind in kinds.items()})


def _replace(events: DataFrame, read: dict[str, Column]) -> DataFrame:
    """Other values in some columns; all stay where they are."""
    columns = {name: F.col(spark_column((name,))) for name in events.columns} | read
    return events.select(*(column.alias(name) for name, column in columns.items()))


def _write(name: str, kind: DataType, written: Written) -> Column:
    if not isinstance(kind, StringType):
        raise _refuse(name, kind, "time_format is for text", "leave time_format out")
    return write_as_iso(F.col(spark_column((name,))), written)


def _read(name: str, kind: DataType, unit: TimeUnit) -> Column:
    if unit == "ns":
        hint = f"divide them, F.expr('{name} div 1000'), and give time_unit='us'; nearer events have the same time then"
        raise _refuse(name, kind, "Spark's timestamps are whole microseconds", hint)
    if isinstance(kind, IntegralType):
        return _read_number(name, unit)
    if isinstance(kind, FloatType | DoubleType):
        return _read_float(name, MICROS[unit])
    hint = "give time_format instead" if isinstance(kind, StringType) else "leave time_unit out"
    raise _refuse(name, kind, "time_unit is for numbers", hint)


def _read_number(name: str, unit: TimeUnit) -> Column:
    function = {"s": "TIMESTAMP_SECONDS", "ms": "TIMESTAMP_MILLIS", "us": "TIMESTAMP_MICROS"}[unit]
    return F.expr(f"{function}({spark_column((name,))})")


def _read_float(name: str, factor: int) -> Column:
    """The two roundings of the process. What is no number of microseconds is no time."""
    number = f"CAST({spark_column((name,))} AS DOUBLE)"
    micros = f"FLOOR({number}) * {factor}L + CAST(RINT(({number} - FLOOR({number})) * {factor}) AS BIGINT)"
    return F.expr(f"IF(ABS({number}) * {factor} <= 9.2e18D, TIMESTAMP_MICROS({micros}), NULL)")


def _refuse(name: str, kind: DataType, why: str, hint: str) -> DataError:
    return DataError([Problem("TW303", f"the time column {name} is {kind.simpleString()}, and {why}", hint)])
