"""Conditions on values of any type, and the functions that choose one of several values."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow.common_types import convert_to_common_type, make_comparable
from trendweave.expressions.arrow.values import FLOAT, INTEGER, NO_ANSWER, NULL, STRING, Value, keep_where


def invert_if(negated: bool, condition: Value) -> Value:
    """Turn a condition round where the query says NOT.

    Args:
        negated: Does it?
        condition: True, False or NULL.

    Returns:
        The condition.
    """
    return pc.invert(condition) if negated else condition


def compare(operator: str, left: Value, right: Value) -> Value:
    """Compare two values. NaN equals itself and is larger than every other number.

    Args:
        operator: <, <=, =, !=, >= or >.
        left: A column, or a scalar where all rows have the same value.
        right: A column, or a scalar where all rows have the same value.

    Returns:
        True, False or NULL.
    """
    left, right = make_comparable([left, right])
    match operator:
        case "<":
            return _less(left, right)
        case ">":
            return _less(right, left)
        case ">=":
            return pc.invert(_less(left, right))
        case "<=":
            return pc.invert(_less(right, left))
        case "=":
            return _equal(left, right)
    return pc.invert(_equal(left, right))


def _less(left: Value, right: Value) -> Value:
    if types.is_null(left.type):
        return NO_ANSWER
    less = pc.less(left, right)
    if left.type == FLOAT:
        return pc.or_(less, pc.and_not(pc.is_nan(right), pc.is_nan(left)))
    return less


def _equal(left: Value, right: Value) -> Value:
    if types.is_null(left.type):
        return NO_ANSWER
    equal = pc.equal(left, right)
    if left.type == FLOAT:
        return pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return equal


def is_between(value: Value, low: Value, high: Value) -> Value:
    """Test whether a value lies between two others or equals one of them.

    Args:
        value: A column, or a scalar where all rows have the same value.
        low: The lower bound.
        high: The upper bound.

    Returns:
        True, False or NULL.
    """
    return pc.and_kleene(compare(">=", value, low), compare("<=", value, high))


def is_in_list(value: Value, options: list[Value]) -> Value:
    """Test whether a value equals one of several.

    Args:
        value: A column, or a scalar where all rows have the same value.
        options: The others.

    Returns:
        True, False or NULL.
    """
    value, *options = make_comparable([value, *options])
    if value.type in (INTEGER, STRING) and all(isinstance(option, pa.Scalar) and option.is_valid for option in options):
        found = pc.is_in(value, value_set=pa.array([option.as_py() for option in options], value.type))
        return keep_where(pc.is_valid(value), found)
    return reduce(pc.or_kleene, (_equal(value, option) for option in options))


# Functions of several values, NULL literals among them


def take_first_valid(values: list[Value]) -> Value:
    """COALESCE: take the first value that is not NULL.

    Args:
        values: Columns or scalars.

    Returns:
        The value.
    """
    return pc.coalesce(*convert_to_common_type(values))


def take_first_true(conditions: list[Value], values: list[Value]) -> Value:
    """CASE: take the value of the first condition that is true.

    Args:
        conditions: True, False or NULL.
        values: One for each condition, and one where none is true.

    Returns:
        The value.
    """
    *values, taken = convert_to_common_type(values)
    if types.is_null(taken.type):
        return NULL
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        taken = pc.if_else(pc.coalesce(condition, pa.scalar(False)), value, taken)
    return taken


def take_unless_equal(values: list[Value]) -> Value:
    """NULLIF: take the first value unless it equals the second.

    Args:
        values: The two.

    Returns:
        The value, in the type of the first, as in Spark.
    """
    first, second = values
    if types.is_null(first.type):
        return first
    same = pc.coalesce(compare("=", first, second), pa.scalar(False))
    return keep_where(pc.invert(same), first)


def _extreme(beats: Callable[[Value, Value], Value]) -> Callable[[list[Value]], Value]:
    """GREATEST or LEAST: NULLs are passed over; of equal values (0.0 and -0.0) the first is taken."""

    def better(best: Value, value: Value) -> Value:
        takes_over = pc.coalesce(beats(value, best), pc.and_(pc.is_null(best), pc.is_valid(value)))
        return pc.if_else(takes_over, value, best)

    def extreme(values: list[Value]) -> Value:
        return reduce(better, convert_to_common_type(values))

    return extreme


greatest = _extreme(lambda value, best: _less(best, value))
least = _extreme(lambda value, best: _less(value, best))
