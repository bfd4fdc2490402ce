"""CAST and the functions of the language."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.events import Kind
from trendweave.expressions.spark_sql.calendar import call_calendar
from trendweave.expressions.spark_sql.common_kinds import convert_to_common_kind, find_common_kind, to_float
from trendweave.expressions.spark_sql.conditions import compare
from trendweave.expressions.spark_sql.values import NULL, Sql
from trendweave.language.functions import PARTS_OF_TIME

#: Floats between these round to 64-bit integers: -2 ** 63 and the last float before 2 ** 63.
_SMALLEST_WHOLE, _LARGEST_WHOLE = "-9223372036854775808D", "9223372036854774784D"


def cast(value: Sql, target: str) -> Sql:
    """CAST to BIGINT or DOUBLE; NULL where that fails.

    Args:
        value: Text with its kind.
        target: The name of the type.

    Returns:
        The text.
    """
    kind = Kind.INTEGER if target == "BIGINT" else Kind.FLOAT
    return value if value.kind is kind else Sql(f"TRY_CAST({value.text} AS {target})", kind)


def call(function: str, arguments: list[Sql]) -> Sql:
    """Call a function of the language.

    Args:
        function: Its name.
        arguments: Text with kinds.

    Returns:
        The text.
    """
    if function == "NULLIF":
        return _take_unless_equal(*arguments)
    if function in ("COALESCE", "GREATEST", "LEAST"):
        return Sql(_write_call(function, convert_to_common_kind(arguments)), find_common_kind(arguments))
    if any(argument.kind is Kind.NULL for argument in arguments):
        return NULL
    first, *others = arguments
    match function:
        case "ABS":
            return _take_absolute(first)
        case "SIGN":
            sign = f"SIGN({to_float(first).text})"
            return cast(Sql(sign, Kind.FLOAT), "BIGINT") if first.kind is Kind.INTEGER else Sql(sign, Kind.FLOAT)
        case "CEIL" | "FLOOR":
            return _round(function, first)
        case "ROUND":
            # What is rounded to a whole number of digits is the shortest text of a float: Spark's way, and ours.
            digits = int(others[0].text.removesuffix("L")) if others else 0
            return first if first.kind is Kind.INTEGER else Sql(f"ROUND({first.text}, {digits})", first.kind)
        case "DATE_TRUNC":
            return call_calendar(function, others, unit=first.text.strip("'"))
        case function if function in PARTS_OF_TIME or function in ("DATE", "DATEDIFF"):
            return call_calendar(function, arguments)
        case "SQRT":
            return Sql(f"SQRT({to_float(first).text})", Kind.FLOAT)
        case "LENGTH":
            return Sql(f"CAST(LENGTH({first.text}) AS BIGINT)", Kind.INTEGER)
        case "SUBSTRING":
            places = [Sql(f"TRY_CAST({other.text} AS INT)", Kind.INTEGER) for other in others]
            return Sql(_write_call(function, [first, *places]), Kind.STRING)
        case "UPPER" | "LOWER" if first.text.startswith(("UPPER(", "LOWER(")):
            # Of two of these Spark's optimiser keeps the outer one alone, which for letters that become several (the
            # ligature fi) is not the same.
            return Sql(f"{function}(SUBSTRING({first.text}, 1))", Kind.STRING)
    return Sql(_write_call(function, arguments), Kind.STRING)


def _write_call(name: str, arguments: Sequence[Sql]) -> str:
    return f"{name}({', '.join(argument.text for argument in arguments)})"


def _take_unless_equal(first: Sql, second: Sql) -> Sql:
    """NULLIF; the result has the type of the first value."""
    if Kind.NULL in (first.kind, second.kind):
        return first
    if first.kind is second.kind:
        return Sql(_write_call("NULLIF", [first, second]), first.kind)
    return Sql(f"IF({compare('=', first, second).text}, NULL, {first.text})", first.kind)


def _take_absolute(value: Sql) -> Sql:
    if value.kind is Kind.INTEGER:
        return Sql(f"ABS(NULLIF({value.text}, {-(2**63)}L))", Kind.INTEGER)
    return Sql(f"ABS({value.text})", value.kind)


def _round(function: str, value: Sql) -> Sql:
    """To BIGINT; NULL where that does not fit, NaN included."""
    match value.kind:
        case Kind.INTEGER:
            return value
        case Kind.DECIMAL:
            return cast(Sql(f"{function}({value.text})", Kind.DECIMAL), "BIGINT")
    # The value is named by a lambda, so that nested calls do not repeat their arguments again and again.
    fits = f"x BETWEEN {_SMALLEST_WHOLE} AND {_LARGEST_WHOLE}"
    return Sql(f"TRANSFORM(ARRAY({value.text}), x -> IF({fits}, {function}(x), NULL))[0]", Kind.INTEGER)
