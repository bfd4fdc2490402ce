"""Times that are text, in Spark SQL: `rows.given_times.text` with the same meaning."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from trendweave.expressions.spark_sql import spark_column
from trendweave.rows.given_times.written import MONTHS, Written


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
