"""Arithmetic and rounding of integers, floats and decimals; NULL where a result does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow.values import (
    FLOAT,
    INTEGER,
    LARGEST,
    SMALLEST,
    Value,
    drop_wrapped,
    fill_nulls,
    keep_where,
    to_float,
)

#: 2 ** 63 as a float: the first number above all 64-bit integers.
_TOO_LARGE = 2.0**63


def calculate(operator: str, left: Value, right: Value) -> Value:
    """Add, subtract or multiply two integers or two floats.

    Args:
        operator: +, - or *.
        left: A column, or a scalar where all rows have the same value.
        right: A column, or a scalar where all rows have the same value.

    Returns:
        The result; NULL where it does not fit 64 bits.
    """
    wrapping, checked = {
        "+": (pc.add, pc.add_checked),
        "-": (pc.subtract, pc.subtract_checked),
        "*": (pc.multiply, pc.multiply_checked),
    }[operator]
    if left.type == FLOAT:
        return wrapping(left, right)
    try:
        return checked(left, right)
    except pa.ArrowInvalid:  # some row overflows
        return drop_wrapped(wrapping(left, right), wrapping(to_float(left), to_float(right)))


def multiply_by(value: Value, factor: int) -> Value:
    """Multiply integers by one number.

    Args:
        value: A column, or a scalar where all rows have the same value.
        factor: The number.

    Returns:
        The result; NULL where it does not fit 64 bits.
    """
    return value if factor == 1 else calculate("*", value, pa.scalar(factor, INTEGER))


def divide(left: Value, right: Value) -> Value:
    """Divide floats; NULL where the divisor is 0.

    Args:
        left: A column, or a scalar where all rows have the same value.
        right: A column, or a scalar where all rows have the same value.

    Returns:
        The quotient.
    """
    return pc.divide(left, keep_where(pc.not_equal(right, 0.0), right))


def find_remainder(left: pa.Array, right: pa.Array) -> pa.Array:
    """Find what a division leaves, with the sign of the dividend. Arrow has no such operation.

    Args:
        left: The dividends.
        right: The divisors.

    Returns:
        The remainders; NULL where the divisor is 0.
    """
    right = keep_where(pc.not_equal(right, 0), right)
    missing = pc.is_null(right).to_numpy(zero_copy_only=False) | pc.is_null(left).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):  # infinity % x is NaN
        result = np.fmod(fill_nulls(left), fill_nulls(right))
    return pa.array(result, left.type, mask=missing)


def negate(value: Value) -> Value:
    """Turn the sign of a number or a duration.

    Args:
        value: A column, or a scalar where all rows have the same value.

    Returns:
        The result; NULL where it does not fit 64 bits.
    """
    if types.is_null(value.type):
        return value
    if types.is_duration(value.type):
        return pc.cast(negate(pc.cast(value, INTEGER)), value.type)
    if value.type == INTEGER:
        value = keep_where(pc.not_equal(value, SMALLEST), value)
    return pc.negate(value)


def take_absolute(value: Value) -> Value:
    """ABS of a number.

    Args:
        value: A column, or a scalar where all rows have the same value.

    Returns:
        The result; NULL where it does not fit 64 bits.
    """
    if value.type == INTEGER:
        value = keep_where(pc.not_equal(value, SMALLEST), value)
    return pc.abs(value)


def find_sign(value: Value) -> Value:
    """SIGN: -1, 0 or 1.

    Args:
        value: A column, or a scalar where all rows have the same value.

    Returns:
        The sign. A float keeps its -0.0 and NaN, and a decimal's sign is a float.
    """
    if types.is_decimal(value.type):
        value = to_float(value)
    return pc.if_else(pc.equal(value, pa.scalar(0, value.type)), value, pc.cast(pc.sign(value), value.type))


def truncate(value: Value) -> Value:
    """Convert a number to BIGINT, towards zero.

    2 ** 63 as a float becomes the largest integer, as in Spark, whose test for numbers that are too large is made in
    floats.

    Args:
        value: A column, or a scalar where all rows have the same value.

    Returns:
        Integers; NULL where they do not fit.
    """
    if types.is_decimal(value.type):
        return _whole_decimal(pc.trunc(value))
    if value.type != FLOAT:
        return pc.cast(value, INTEGER)
    whole = pc.trunc(value)
    fits = pc.and_(pc.less_equal(whole, _TOO_LARGE), pc.greater_equal(whole, -_TOO_LARGE))
    return pc.if_else(pc.equal(whole, _TOO_LARGE), LARGEST, _integral(keep_where(fits, whole)))


def _rounded(rounding: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """CEIL or FLOOR, to BIGINT; NULL where that does not fit, NaN included."""

    def rounded(value: Value) -> Value:
        if types.is_decimal(value.type):
            digits, scale = digits_of(value.type)
            return _whole_decimal(rounding(to_decimal(value, digits + 1, scale)))
        if value.type == INTEGER:
            return value
        whole = rounding(value)
        fits = pc.and_(pc.less(whole, _TOO_LARGE), pc.greater_equal(whole, -_TOO_LARGE))
        return _integral(keep_where(fits, whole))

    return rounded


def _integral(value: Value) -> Value:
    return pc.cast(value, INTEGER, safe=False)


def _whole_decimal(value: Value) -> Value:
    return drop_wrapped(_integral(value), to_float(value))


ceiling = _rounded(pc.ceil)
floor = _rounded(pc.floor)


def round_half_up(value: pa.Array, digits: int) -> pa.Array:
    """ROUND: keep some digits after the point; a half goes away from zero.

    Args:
        value: Numbers.
        digits: How many digits.

    Returns:
        Numbers of the same kind.
    """
    if value.type == INTEGER:
        return value
    if types.is_decimal(value.type):
        before, scale = digits_of(value.type)
        return value if digits >= scale else to_decimal(value, before + 1, digits)
    numbers = pc.fill_null(value, 0.0).to_numpy(zero_copy_only=False)
    return pa.array(_round_floats(numbers, digits), FLOAT, mask=pc.is_null(value).to_numpy(zero_copy_only=False))


#: Below this a number of that many digits, and the middle between it and the next, are their own shortest text.
_SHORT = 1e14


def _round_floats(numbers: np.ndarray, digits: int) -> np.ndarray:
    """As if the shortest text of a float were rounded: 2.675 to 2.68, though the float is a little less.

    That text lies above the middle between two results exactly where the float is not below the float of the middle.
    """
    scale = 10.0**digits
    size = np.abs(numbers)
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = size * scale
        # The product is rounded: the result below may be one too high or too low.
        below = np.floor(np.where(scaled < _SHORT, scaled, 0.0))
        below -= below / scale > size
        below += (below + 1) / scale <= size
        rounded = (below + (size >= (2 * below + 1) / (2 * scale))) / scale
    result = np.where(scaled < _SHORT, rounded, size)
    for row in np.flatnonzero(np.isfinite(size) & (scaled >= _SHORT) & (size < 2.0**53)):
        result[row] = float(Decimal(repr(float(size[row]))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _WIDE))
    # Decimals have no zero below zero.
    return np.where(result == 0, 0.0, np.copysign(result, numbers))


_WIDE = Context(prec=60)


# Decimals, as digits before and after the point


def digits_of(kind: pa.DataType) -> tuple[int, int]:
    """Count the digits of a decimal type before and after the point.

    Args:
        kind: A decimal type, or that of whole numbers.

    Returns:
        Both numbers of digits.
    """
    if not types.is_decimal(kind):
        return 20, 0  # a BIGINT next to a decimal is a DECIMAL(20, 0) in Spark
    return max(kind.precision - kind.scale, 0), max(kind.scale, 0)


def common_decimal(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Find a decimal type that is wide enough for all.

    Spark gives up digits after the point where more than 38 are needed, and so does this.

    Args:
        kinds: Types of decimals and whole numbers.

    Returns:
        The type.
    """
    digits = max(digits_of(kind)[0] for kind in kinds)
    scale = max(digits_of(kind)[1] for kind in kinds)
    widest = 76 if any(types.is_decimal256(kind) for kind in kinds) else 38
    return _decimal(digits, min(scale, max(widest - digits, 0)))


def _decimal(digits: int, scale: int) -> pa.DataType:
    precision = max(digits + scale, 1)
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(min(precision, 76), scale)


def to_decimal(value: Value, digits: int, scale: int) -> Value:
    """Convert a number to a decimal, rounded half away from zero.

    Args:
        value: A column, or a scalar where all rows have the same value.
        digits: Digits before the point.
        scale: Digits after it.

    Returns:
        The decimals.
    """
    target = _decimal(digits, scale)
    if types.is_decimal(value.type) and value.type.scale > scale:
        rounded = pc.round(pc.cast(value, pa.decimal256(76, value.type.scale)), scale, "half_towards_infinity")
        return pc.cast(rounded, target)
    return pc.cast(value, target)
