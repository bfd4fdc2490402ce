"""Parts of moments and days, all in UTC, whatever the zone of the session.

Spark's own functions of timestamps look at that zone. So moments are counted in seconds, which fit a DOUBLE, and turned
into days; functions of days know no zone.
"""

from __future__ import annotations

from trendweave.events import Kind
from trendweave.expressions.spark_sql.values import Sql

#: Functions of a day, which Spark calls by the same names.
_OF_DAYS = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "DAYOFWEEK", "WEEKDAY", "DAYOFYEAR", "WEEKOFYEAR"})
#: Units of DATE_TRUNC that have the same length everywhere, in seconds.
_FIXED_UNITS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400}


def call_calendar(function: str, arguments: list[Sql], unit: str | None = None) -> Sql:
    """Call a function of moments.

    Args:
        function: Its name.
        arguments: Timestamps or dates.
        unit: Of DATE_TRUNC, the unit of time in upper case.

    Returns:
        The text.
    """
    first = arguments[0]
    if function in _OF_DAYS:
        return Sql(f"CAST({function}({_day(first)}) AS BIGINT)", Kind.INTEGER)
    match function:
        case "HOUR":
            return Sql(f"FLOOR(PMOD({_seconds(first)}, 86400L) / 3600D)", Kind.INTEGER)
        case "MINUTE":
            return Sql(f"FLOOR(PMOD({_seconds(first)}, 3600L) / 60D)", Kind.INTEGER)
        case "SECOND":
            return Sql(f"PMOD({_seconds(first)}, 60L)", Kind.INTEGER)
        case "DATE":
            return Sql(_day(first), Kind.DATE)
        case "DATEDIFF":
            return Sql(f"CAST(DATEDIFF({_day(first)}, {_day(arguments[1])}) AS BIGINT)", Kind.INTEGER)
        case "UNIX_TIMESTAMP":
            return Sql(_seconds(first), Kind.INTEGER)
    assert unit is not None, "DATE_TRUNC alone is left"
    return Sql(_truncated(unit, first), Kind.TIMESTAMP)


def _truncated(unit: str, moment: Sql) -> str:
    if unit == "MILLISECOND" and moment.kind is Kind.TIMESTAMP:
        return f"TIMESTAMP_MILLIS(UNIX_MILLIS({moment.text}))"
    size = _FIXED_UNITS.get(unit)
    if size == 1 or unit == "MILLISECOND":
        return f"TIMESTAMP_SECONDS({_seconds(moment)})"
    if size is not None:
        return f"TIMESTAMP_SECONDS(FLOOR({_seconds(moment)} / {size}D) * {size}L)"
    return f"TIMESTAMP_SECONDS({_midnight(f'''TRUNC({_day(moment)}, '{unit}')''')})"


def _day(moment: Sql) -> str:
    if moment.kind is Kind.DATE:
        return moment.text
    return f"DATE_FROM_UNIX_DATE(CAST(FLOOR({_seconds(moment)} / 86400D) AS INT))"


def _seconds(moment: Sql) -> str:
    """Whole seconds since the epoch."""
    return _midnight(moment.text) if moment.kind is Kind.DATE else f"UNIX_SECONDS({moment.text})"


def _midnight(day: str) -> str:
    return f"(CAST(UNIX_DATE({day}) AS BIGINT) * 86400L)"
