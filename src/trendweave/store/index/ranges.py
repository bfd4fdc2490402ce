"""Comparisons with a constant as ranges of codes: 64-bit whole numbers that are in the order of a column's values.

A range may be a little too wide where engines compare numbers as floats, and is never too narrow.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import OptionError, Problem
from trendweave.programs.operators.measured import LEAST, MOST, codes_of, is_float

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
#: Beyond this, whole numbers that differ may be one float.
_EXACT = 2**53
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9

Ranges = list[tuple[int, int]]


def code_ranges(kind: pa.DataType, operator: str, value: Any) -> Ranges:
    """Ranges of codes, both ends included, in which all values lie that compare so with a constant.

    Args:
        kind: The type of the column, one that is measured.
        operator: One of `OPERATORS`.
        value: A number, or a date or time for columns of such.

    Raises:
        OptionError: The operator or the value is none of these.
    """
    if operator not in OPERATORS:
        raise _not_understood(f"{operator} is no comparison", f"write one of {' '.join(OPERATORS)}")
    low, high = _float_codes(value) if is_float(kind) else _whole_codes(kind, value)
    # What certainly equals the value lies in [low, high]; where both are one code, the comparison is exact.
    exact = low == high
    if operator == "=":
        return _clipped([(low, high)])
    if operator == "<>":
        return _clipped([(LEAST, low - 1), (high + 1, MOST)] if exact else [(LEAST, MOST)])
    if operator in ("<", "<="):
        return _clipped([(LEAST, low - 1 if operator == "<" and exact else high)])
    return _clipped([(high + 1 if operator == ">" and exact else low, MOST)])


def _clipped(ranges: Ranges) -> Ranges:
    return [(max(LEAST, low), min(MOST, high)) for low, high in ranges if low <= high and low <= MOST and high >= LEAST]


def _float_codes(value: Any) -> tuple[int, int]:
    number = _number(value)
    if isinstance(number, float):
        code = int(codes_of(np.array([number]))[0])
        return code, code
    try:
        near = float(number)
    except OverflowError:
        near = math.inf if number > 0 else -math.inf
    code = int(codes_of(np.array([near]))[0])
    exact = math.isfinite(near) and Fraction(near) == number
    return (code, code) if exact else (code - 1, code + 1)


def _whole_codes(kind: pa.DataType, value: Any) -> tuple[int, int]:
    if pa.types.is_temporal(kind):
        number: Fraction | float = _in_unit(kind, value)
    elif pa.types.is_decimal(kind):
        found = _number(value)
        number = found if isinstance(found, float) and not math.isfinite(found) else Fraction(found) * 10**kind.scale
    else:
        number = _number(value)
    if isinstance(number, float):
        if math.isnan(number) or number == math.inf:
            return MOST + 1, MOST + 1
        if number == -math.inf:
            return LEAST - 1, LEAST - 1
        number = Fraction(number)
    # Whole numbers beyond 53 bits may be compared as floats; decimals, too.
    slack = 0 if abs(number) < _EXACT and not pa.types.is_decimal(kind) else int(abs(number)) // 2**50 + 1
    low, high = math.floor(number), math.ceil(number)
    return (low, high) if not slack else (low - slack, high + slack)


def _number(value: Any) -> Fraction | float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, Decimal, Fraction, np.number)):
        raise _not_understood(f"{value!r} is no number", "compare a column of numbers with a number")
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, Decimal) and not value.is_finite():
        return float(value)
    return Fraction(value) if isinstance(value, (Decimal, Fraction)) else Fraction(int(value))


def _in_unit(kind: pa.DataType, value: Any) -> Fraction:
    """A date or time in the unit of a column; a number is in that unit already."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return Fraction(int(value))
    unit = _DAY if pa.types.is_date32(kind) else _NANOSECONDS["ms" if pa.types.is_date64(kind) else kind.unit]
    try:
        scalar = pa.scalar(value)
    except pa.ArrowException as error:
        raise _not_understood(f"{value!r} is no date or time", "write a datetime or a date") from error
    if pa.types.is_date32(scalar.type):
        return Fraction(scalar.value * _DAY, unit)
    if pa.types.is_timestamp(scalar.type) or pa.types.is_duration(scalar.type):
        return Fraction(scalar.value * _NANOSECONDS[scalar.type.unit], unit)
    raise _not_understood(f"{value!r} is no date or time", "write a datetime or a date")


def _not_understood(message: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", message, hint)])
