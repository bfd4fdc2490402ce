"""Scalar values: comparison, arithmetic, sameness (semantics, "Predicates": what Spark SQL's `try_` functions mean).

NULL is None. Integers are of 64 bits, all other numbers are doubles. Strings can only be compared with strings.
"""

from __future__ import annotations

import math

Scalar = int | float | str | None

COMPARISONS = ("<", "<=", ">", ">=", "=", "!=")
ARITHMETIC = ("+", "-", "*", "/")

SMALLEST_INTEGER = -(2**63)
LARGEST_INTEGER = 2**63 - 1


def is_nan(value: Scalar) -> bool:
    return isinstance(value, float) and math.isnan(value)


def same(left: Scalar, right: Scalar) -> bool:
    """Are they one value, as for grouping? NULL is the same as NULL, NaN the same as NaN."""
    return identity(left) == identity(right)


def identity(value: Scalar) -> tuple[str, Scalar]:
    """A hashable stand-in: two values have equal ones iff they are the same value."""
    if value is None:
        return ("null", None)
    if is_nan(value):
        return ("nan", None)
    return ("text" if isinstance(value, str) else "number", value)


def in_order(value: Scalar) -> tuple:
    """NULL is smaller than every value, NaN is larger than every other number."""
    if value is None:
        return (0, 0)
    return (2, 0) if is_nan(value) else (1, value)


def holds(left: Scalar, comparison: str, right: Scalar) -> bool:
    """Is the comparison true? With NULL on either side it is not, whatever the comparison."""
    if left is None or right is None:
        return False
    if isinstance(left, str) != isinstance(right, str):
        raise TypeError(f"cannot compare {left!r} with {right!r}")
    less, equal = _less(left, right), _equal(left, right)
    return {
        "<": less,
        "<=": less or equal,
        ">": not less and not equal,
        ">=": not less,
        "=": equal,
        "!=": not equal,
    }[comparison]


def _equal(left: Scalar, right: Scalar) -> bool:
    if is_nan(left) or is_nan(right):
        return is_nan(left) and is_nan(right)
    left, right = _common_type(left, right)
    return left == right


def _less(left: Scalar, right: Scalar) -> bool:
    """NaN is larger than every other number, infinity included."""
    if is_nan(left):
        return False
    if is_nan(right):
        return True
    left, right = _common_type(left, right)
    return left < right


def _common_type(left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """An integer next to a double is taken as a double, as Spark SQL does."""
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    return left, right


def smallest(values: list[Scalar]) -> Scalar:
    """MIN of non-NULL values; NULL when there is none."""
    best = None
    for value in values:
        if best is None or holds(value, "<", best):
            best = value
    return best


def largest(values: list[Scalar]) -> Scalar:
    """MAX of non-NULL values; NULL when there is none."""
    best = None
    for value in values:
        if best is None or holds(value, ">", best):
            best = value
    return best


def first_true(branches: list[tuple[bool | None, Scalar]], otherwise: Scalar = None) -> Scalar:
    """CASE: the value of the first branch whose condition is true. Next to a double, all values are doubles."""
    taken = next((value for condition, value in branches if condition), otherwise)
    doubles = any(isinstance(value, float) for value in (otherwise, *(value for _, value in branches)))
    return float(taken) if doubles and isinstance(taken, int) else taken


def calculate(left: Scalar, operator: str, right: Scalar) -> Scalar:
    """Arithmetic. With NULL on either side, on integer overflow and on division by zero the result is NULL."""
    if left is None or right is None:
        return None
    if isinstance(left, str) or isinstance(right, str):
        raise TypeError(f"cannot calculate {left!r} {operator} {right!r}")
    if operator == "/":
        # A quotient is a double, also of two integers.
        return None if right == 0 else _double(float(left), "/", float(right))
    if isinstance(left, float) or isinstance(right, float):
        return _double(float(left), operator, float(right))
    exact = {"+": left + right, "-": left - right, "*": left * right}[operator]
    return exact if SMALLEST_INTEGER <= exact <= LARGEST_INTEGER else None


def _double(left: float, operator: str, right: float) -> float:
    """Python's + - * on floats are those of IEEE 754; its / too, zero having been seen to. Too large is infinity."""
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    return left / right
