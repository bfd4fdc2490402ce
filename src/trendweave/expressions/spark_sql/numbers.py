"""Arithmetic of numbers and times; NULL where a result does not fit."""

from __future__ import annotations

from trendweave.events import Kind
from trendweave.expressions.spark_sql.common_kinds import count_microseconds, to_float
from trendweave.expressions.spark_sql.values import MOMENTS, NULL, NUMBERS, Sql, refuse_finer_than_microseconds
from trendweave.language import syntax_tree as st

_TRY = {"+": "TRY_ADD", "-": "TRY_SUBTRACT", "*": "TRY_MULTIPLY", "/": "TRY_DIVIDE"}


def negate(value: Sql) -> Sql:
    """Turn the sign of a number or a duration.

    Args:
        value: Text with its kind.

    Returns:
        The text.
    """
    match value.kind:
        case Kind.NULL:
            return value
        case Kind.INTEGER | Kind.DURATION:
            return Sql(f"TRY_SUBTRACT(0L, {value.text})", value.kind)
    return Sql(f"(-({value.text}))", value.kind)


def calculate(place: st.Expression, operator: str, left: Sql, right: Sql) -> Sql:
    """Calculate with numbers and times.

    Args:
        place: The expression, for errors.
        operator: +, -, *, / or %.
        left: Text with its kind.
        right: Text with its kind.

    Returns:
        The text.

    Raises:
        LanguageError: A length of time is finer than Spark's times.
    """
    kinds = {left.kind, right.kind}
    if Kind.NULL in kinds:
        return NULL
    if not kinds & NUMBERS:
        return _calculate_times(place, operator, left, right)
    if operator == "/" or kinds != {Kind.INTEGER}:
        left, right = to_float(left), to_float(right)
        if operator == "%":
            return Sql(_remainder(left.text, right.text, "0D"), left.kind)
        return Sql(f"{_TRY[operator]}({left.text}, {right.text})", left.kind)
    return Sql(_calculate_whole(operator, left.text, right.text), left.kind)


def _calculate_whole(operator: str, left: str, right: str) -> str:
    """Write a step on whole numbers that Spark takes exactly where it stands.

    Spark's optimiser puts chains of + and of * in another order, and then other steps leave 64 bits, or none does. It
    does not look for them behind another operator, so steps inside get one that changes nothing.
    """
    if operator == "%":
        return _remainder(left, right, "0L")
    name = _TRY[operator]
    left, right = (f"({text} | 0L)" if f"{name}(" in text else text for text in (left, right))
    return f"{name}({left}, {right})"


def _remainder(left: str, right: str, zero: str) -> str:
    """NULL where the divisor is zero: Spark 3.5 has no function for it."""
    return f"({left} % NULLIF({right}, {zero}))"


def _calculate_times(place: st.Expression, operator: str, left: Sql, right: Sql) -> Sql:
    text = _calculate_whole(operator, count_microseconds(left), count_microseconds(right))
    # The difference of two moments is a duration; a moment and a duration make a moment.
    if (left.kind in MOMENTS) == (right.kind in MOMENTS):
        return Sql(text, Kind.DURATION)
    refuse_finer_than_microseconds(place)
    return Sql(f"TIMESTAMP_MICROS({text})", Kind.TIMESTAMP)
