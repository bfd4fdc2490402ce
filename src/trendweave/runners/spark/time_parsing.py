"""Times as people have them, read as timestamps in Spark SQL: `rows.time_parsing` with the same meaning."""

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
from trendweave.rows.time_parsing import (
    MICROS,
    MONTHS,
    Family,
    TimeReading,
    TimeUnit,
    Written,
    refuse_unit,
    refuse_written,
)


def write_as_iso(column: Column, written: Written) -> Column:
    """The parts of a text, put together as 2024-05-01T12:30:59.123456+02:00; NULL where it is not written so.

    Args:
        column: Texts.
        written: How they are written.
    """
    parts = {
        name: F.regexp_extract(column, written.expression, number) for number, name in enumerate(written.parts, start=1)
    }
    usual = F.concat(
        *(_year(parts), F.lit("-"), _month(parts), F.lit("-"), _digits(parts, "day"), F.lit("T")),
        *(_hour(parts), F.lit(":"), _digits(parts, "minute"), F.lit(":"), _digits(parts, "second")),
        *(_fraction(parts), _zone(parts)),
    )
    return F.when(column.rlike(written.expression), usual)


def read_iso(name: str) -> Column:
    """Moments of texts as `write_as_iso` puts them together, whatever the session's settings; NULL where it is no time.

    `try_to_timestamp` gives wall clocks, without their zones, where the session's kind of timestamps is one.

    Args:
        name: The column.
    """
    return F.expr(f"TRY_CAST({spark_column((name,))} AS TIMESTAMP_LTZ)")


def _digits(parts: dict[str, Column], name: str) -> Column:
    """Two digits; a part that is not written is 0."""
    return F.lpad(parts[name], 2, "0") if name in parts else F.lit("00")


def _year(parts: dict[str, Column]) -> Column:
    if "year" in parts:
        return parts["year"]
    short = parts["short_year"]
    return F.concat(F.when(short >= "69", F.lit("19")).otherwise(F.lit("20")), short)


def _month(parts: dict[str, Column]) -> Column:
    if "month" in parts:
        return _digits(parts, "month")
    place = F.position(F.lower(F.substring(parts["month_name"], 1, 3)), F.lit(MONTHS))
    return F.lpad(F.floor((place + 2) / 3).cast("string"), 2, "0")


def _hour(parts: dict[str, Column]) -> Column:
    if "half_hour" not in parts:
        return _digits(parts, "hour")
    # Of a text that does not fit there is no such part, which a cast would not take.
    half = F.lpad(parts["half_hour"], 2, "0").cast("int")
    after_noon = F.when(F.lower(parts["half"]) == "pm", F.lit(12)).otherwise(F.lit(0))
    # An hour of 0 or more than 12 becomes one that no day has.
    hour = F.when((half >= 1) & (half <= 12), half % 12 + after_noon).otherwise(F.lit(99))
    return F.lpad(hour.cast("string"), 2, "0")


def _fraction(parts: dict[str, Column]) -> Column:
    """What is finer than a microsecond is cut off."""
    if "fraction" not in parts:
        return F.lit("")
    return F.concat(F.lit("."), F.substring(F.rpad(parts["fraction"], 6, "0"), 1, 6))


def _zone(parts: dict[str, Column]) -> Column:
    """+02:00; Z where there is none."""
    if "zone" not in parts:
        return F.lit("Z")
    zone = parts["zone"]
    digits = F.rpad(F.regexp_replace(zone, "[^0-9]", ""), 4, "0")
    ahead = F.concat(F.substring(zone, 1, 1), F.substring(digits, 1, 2), F.lit(":"), F.substring(digits, 3, 2))
    return F.when(F.upper(zone).isin("", "Z"), F.lit("Z")).otherwise(ahead)


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
