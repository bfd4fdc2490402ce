"""Times as people have them, read as timestamps in Spark SQL: `rows.given_times.reading` with the same meaning."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from trendweave.errors import DataError, Problem
from trendweave.expressions.spark_sql import spark_column
from trendweave.rows.given_times.reading import TimeReading
from trendweave.rows.given_times.refusing import Family, refuse_unit, refuse_written
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
        return _read_written(events, kinds, reading.written)
    assert reading.unit is not None
    return _replace(events, {name: _read(name, kind, reading.unit) for name, kind in kinds.items()})


def _replace(events: DataFrame, read: dict[str, Column]) -> DataFrame:
    """Other values in some columns; all stay where they are."""
    columns = {name: F.col(spark_column((name,))) for name in events.columns} | read
    return events.select(*(column.alias(name) for name, column in columns.items()))


def _read_written(events: DataFrame, kinds: dict[str, DataType], written: Written) -> DataFrame:
    """Texts, and numbers as such, by way of the usual text; dates are midnight of UTC, and timestamps stay."""
    texts, read = dict[str, Column](), dict[str, Column]()
    for name, kind in kinds.items():
        family = _family(kind)
        if family == "timestamps" and written.is_iso:
            continue
        refused = refuse_written(written, family)
        if refused is not None:
            raise _refuse(name, kind, *refused)
        if family == "dates":
            read[name] = F.expr(f"TIMESTAMP_SECONDS(UNIX_DATE({spark_column((name,))}) * 86400L)")
        else:
            texts[name] = write_as_iso(F.col(spark_column((name,))).cast("string"), written)
            read[name] = read_iso(name)
    return _replace(_replace(events, texts), read)


def _family(kind: DataType) -> Family:
    if isinstance(kind, StringType):
        return "text"
    if isinstance(kind, IntegralType):
        return "whole numbers"
    if isinstance(kind, DecimalType):
        return "decimals"
    if isinstance(kind, DateType):
        return "dates"
    return "timestamps" if isinstance(kind, TimestampType | TimestampNTZType) else "others"


def _read(name: str, kind: DataType, unit: TimeUnit) -> Column:
    if unit == "ns":
        hint = f"divide them, F.expr('{name} div 1000'), and give time_unit='us'; closer events get the same time"
        raise _refuse(name, kind, "Spark's timestamps are whole microseconds", hint)
    if isinstance(kind, IntegralType):
        return _read_number(name, unit)
    if isinstance(kind, FloatType | DoubleType):
        return _read_float(name, MICROS[unit])
    raise _refuse(name, kind, *refuse_unit(_family(kind)))


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
