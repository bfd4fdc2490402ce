"""Conditions on values of any kind."""

from __future__ import annotations

import re

from trendweave.events import Kind
from trendweave.expressions.spark_sql.common_kinds import convert_to_common_kind, find_common_kind
from trendweave.expressions.spark_sql.values import NO_ANSWER, NULL, Sql, write_text
from trendweave.language.regular_expressions import translate


def invert_if(negated: bool, condition: Sql) -> Sql:
    """Turn a condition round where the query says NOT.

    Args:
        negated: Does it?
        condition: The condition.

    Returns:
        The condition.
    """
    return Sql(f"(NOT {condition.text})", Kind.BOOLEAN) if negated else condition


def compare(operator: str, left: Sql, right: Sql) -> Sql:
    """Compare two values.

    Args:
        operator: <, <=, =, !=, >= or >.
        left: Text with its kind.
        right: Text with its kind.

    Returns:
        A condition.
    """
    if Kind.NULL in (left.kind, right.kind):
        return NO_ANSWER
    left, right = convert_to_common_kind([left, right])
    return Sql(f"({left.text} {operator} {right.text})", Kind.BOOLEAN)


def is_between(value: Sql, low: Sql, high: Sql) -> Sql:
    """Test whether a value lies between two others or equals one of them.

    Args:
        value: Text with its kind.
        low: The lower bound.
        high: The upper bound.

    Returns:
        A condition.
    """
    kinds = {value.kind, low.kind, high.kind}
    if len(kinds) == 1 and Kind.NULL not in kinds:
        return Sql(f"({value.text} BETWEEN {low.text} AND {high.text})", Kind.BOOLEAN)
    return Sql(f"({compare('>=', value, low).text} AND {compare('<=', value, high).text})", Kind.BOOLEAN)


def is_in_list(value: Sql, options: list[Sql]) -> Sql:
    """Test whether a value equals one of several.

    Args:
        value: Text with its kind.
        options: The others.

    Returns:
        A condition.
    """
    if value.kind is Kind.NULL:
        return NO_ANSWER
    first, *others = (item.text for item in convert_to_common_kind([value, *options]))
    return Sql(f"({first} IN ({', '.join(others)}))", Kind.BOOLEAN)


def take_first_true(conditions: list[Sql], values: list[Sql]) -> Sql:
    """CASE: take the value of the first condition that is true.

    Args:
        conditions: Text with its kind.
        values: One for each condition, and one where none is true.

    Returns:
        The value.
    """
    kind = find_common_kind(values)
    if kind is Kind.NULL:
        return NULL
    *values, otherwise = convert_to_common_kind(values)
    branches = [f"WHEN {one.text} THEN {value.text}" for one, value in zip(conditions, values, strict=True)]
    return Sql(f"(CASE {' '.join(branches)} ELSE {otherwise.text} END)", kind)


def match_like(value: Sql, pattern: str) -> Sql:
    """Test a text against a LIKE pattern. A backslash before anything but `%`, `_` and itself, where Spark would fail,
    stands for itself.

    Args:
        value: Text with its kind.
        pattern: The pattern.

    Returns:
        A condition.
    """
    if value.kind is Kind.NULL:
        return NO_ANSWER
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    accepted = "".join("\\\\" if part == "\\" else part for part in parts)
    return Sql(f"({value.text} LIKE {write_text(accepted)})", Kind.BOOLEAN)


def match_regex(value: Sql, pattern: str) -> Sql:
    """Test whether a text contains a match of a regular expression.

    Args:
        value: Text with its kind.
        pattern: The expression.

    Returns:
        A condition.
    """
    if value.kind is Kind.NULL:
        return NO_ANSWER
    return Sql(f"({value.text} RLIKE {write_text(translate(pattern, 'java'))})", Kind.BOOLEAN)
