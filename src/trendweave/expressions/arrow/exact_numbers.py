"""Exact arithmetic of decimals, for numbers of results; NULL where a result has more than 38 digits.

Whole numbers are added, subtracted, multiplied and divided with remainder; decimals with digits after the point are
added and subtracted. Other arithmetic of decimals is that of floats.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow.numbers import digits_of
from trendweave.expressions.arrow.values import INTEGER, keep_where

_DIGITS = 38


def can_be_exact(operator: str, left: pa.DataType, right: pa.DataType) -> bool:
    """Tell whether decimals take part that can be calculated with exactly.

    Args:
        operator: +, -, * or %.
        left: The type of a value.
        right: That of the other.

    Returns:
        Can they?
    """
    kinds = (left, right)
    if not all(kind == INTEGER or types.is_decimal128(kind) for kind in kinds) or left == right == INTEGER:
        return False
    return operator in "+-" or all(digits_of(kind)[1] == 0 for kind in kinds)


def calculate_exactly(operator: str, left: pa.Array, right: pa.Array) -> pa.Array:
    """Calculate with decimals and whole numbers.

    Args:
        operator: As `can_be_exact` allows.
        left: Numbers.
        right: Numbers.

    Returns:
        Decimals of 38 digits.
    """
    if operator in "+-":
        return _add(operator, left, right)
    if operator == "*":
        product = _multiply_small(left, right)
        if product is not None:
            return product
    # More than 64 bits, or a remainder, which Arrow does not know: rare, and of results only.
    pairs = zip(_whole_numbers(left), _whole_numbers(right), strict=True)
    found = [None if one is None or other is None else _WHOLE[operator](one, other) for one, other in pairs]
    small = [number if number is not None and abs(number) < 10**_DIGITS else None for number in found]
    return pa.array(small, pa.decimal128(_DIGITS, 0))


def _whole_numbers(column: pa.Array) -> list[int | None]:
    return [None if number is None else int(number) for number in column.to_pylist()]


def _remainder(one: int, other: int) -> int | None:
    """With the sign of the dividend."""
    if other == 0:
        return None
    size = abs(one) % abs(other)
    return -size if one < 0 else size


_WHOLE = {"*": lambda one, other: one * other, "%": _remainder}


def _add(operator: str, left: pa.Array, right: pa.Array) -> pa.Array:
    scale = max(digits_of(left.type)[1], digits_of(right.type)[1])
    wide = pa.decimal256(75, scale)
    one, other = pc.cast(left, wide), pc.cast(right, wide)
    total = pc.add(one, other) if operator == "+" else pc.subtract(one, other)
    most = pa.scalar(10 ** (_DIGITS - scale), total.type)
    return pc.cast(keep_where(pc.less(pc.abs(total), most), total), pa.decimal128(_DIGITS, scale))


def _multiply_small(left: pa.Array, right: pa.Array) -> pa.Array | None:
    """Where all numbers fit 64 bits."""
    try:
        one, other = pc.cast(left, INTEGER), pc.cast(right, INTEGER)
        product = pc.multiply_checked(one, other)
    except pa.ArrowInvalid:
        return None
    return pc.cast(product, pa.decimal128(_DIGITS, 0))
