"""Arithmetic and rounding as steps: `arrow.numbers` and `arrow.times` for scalars."""

from __future__ import annotations

from trendweave.expressions.compiled.steps import Constant, Reference, Steps
from trendweave.expressions.compiled.values import (
    LARGEST,
    MOMENTS,
    NULL,
    NUMBERS,
    OF_TIME,
    SMALLEST,
    CannotCompile,
    Kind,
    Typed,
    choose,
    count_ticks,
    keep_where,
    time_unit,
    to_float,
)

_ZERO, _TOO_LARGE, _LEAST = Constant(0.0), Constant(2.0**63), Constant(-(2.0**63))
_OVERFLOWS = {
    "+": ("add_integers", "sum_overflows"),
    "-": ("subtract_integers", "difference_overflows"),
    "*": ("multiply_integers", "product_overflows"),
}
_OF_FLOATS = {"+": "add", "-": "subtract", "*": "multiply"}


def calculate(steps: Steps, operator: str, left: Typed, right: Typed) -> Typed:
    """+, -, *, / or % of two values."""
    kinds = (left.kind, right.kind)
    if Kind.NULL in kinds:
        return NULL
    if Kind.BOOLEAN in kinds:
        raise CannotCompile("arithmetic of booleans")
    if left.kind in OF_TIME and right.kind in OF_TIME:
        return _calculate_times(steps, operator, left, right)
    if operator == "/":
        return _divide(steps, to_float(steps, left), to_float(steps, right))
    if kinds == (Kind.INTEGER, Kind.INTEGER):
        return _remainder(steps, left, right) if operator == "%" else _of_integers(steps, operator, left, right)
    left, right = to_float(steps, left), to_float(steps, right)
    valid = steps.both(left.valid, right.valid)
    if operator == "%":
        value = steps.make("remainder", left.value, right.value)
        return Typed(Kind.FLOAT, value, steps.both(valid, _is_not_zero(steps, right.value)))
    return Typed(Kind.FLOAT, steps.make(_OF_FLOATS[operator], left.value, right.value), valid)


def _of_integers(steps: Steps, operator: str, left: Typed, right: Typed) -> Typed:
    """NULL where the result does not fit 64 bits."""
    operation, overflows = _OVERFLOWS[operator]
    value = steps.make(operation, left.value, right.value)
    fits = steps.inverse(steps.make(overflows, left.value, right.value, value))
    return Typed(Kind.INTEGER, value, steps.both(steps.both(left.valid, right.valid), fits))


def _calculate_times(steps: Steps, operator: str, left: Typed, right: Typed) -> Typed:
    moments = (left.kind in MOMENTS, right.kind in MOMENTS)
    allowed = {(True, True): "-", (True, False): "+-", (False, True): "+", (False, False): "+-"}[moments]
    if operator not in allowed:
        raise CannotCompile(f"{left.kind.value} {operator} {right.kind.value}")
    unit = time_unit([left, right])
    ticks = _of_integers(steps, operator, count_ticks(steps, left, unit), count_ticks(steps, right, unit))
    kind = Kind.DURATION if moments[0] == moments[1] else Kind.TIMESTAMP
    return Typed(kind, ticks.value, ticks.valid, unit)


def _is_not_zero(steps: Steps, value: Reference) -> Reference:
    return steps.inverse(steps.make("equal", value, _ZERO))


def _divide(steps: Steps, left: Typed, right: Typed) -> Typed:
    is_zero = steps.make("equal", right.value, _ZERO)
    divisor = steps.make("choose", is_zero, Constant(1.0), right.value)
    valid = steps.both(steps.both(left.valid, right.valid), steps.inverse(is_zero))
    return Typed(Kind.FLOAT, steps.make("divide", left.value, divisor), valid)


def _remainder(steps: Steps, left: Typed, right: Typed) -> Typed:
    """Nothing is left of a division by -1 or by 1; the smallest integer by -1 stops a processor, 0 too."""
    is_zero = steps.make("equal_integer", right.value, Constant(0))
    is_risky = steps.either(is_zero, steps.make("equal_integer", right.value, Constant(-1)))
    divisor = steps.make("choose_integer", is_risky, Constant(1), right.value)
    valid = steps.both(steps.both(left.valid, right.valid), steps.inverse(is_zero))
    return Typed(Kind.INTEGER, steps.make("remainder_of_integers", left.value, divisor), valid)


def negate(steps: Steps, value: Typed) -> Typed:
    """Minus: NULL where the result does not fit 64 bits."""
    if value.kind is Kind.FLOAT:
        return Typed(Kind.FLOAT, steps.make("negate", value.value), value.valid)
    if value.kind is Kind.NULL:
        return value
    if value.kind not in (Kind.INTEGER, Kind.DURATION):
        raise CannotCompile(f"minus {value.kind.value}")
    fits = steps.inverse(steps.make("equal_integer", value.value, Constant(SMALLEST)))
    negative = Typed(value.kind, steps.make("negate_integer", value.value), value.valid, value.unit)
    return keep_where(steps, fits, negative)


def take_absolute(steps: Steps, value: Typed) -> Typed:
    """ABS."""
    _expect_number(value, "ABS")
    if value.kind is Kind.FLOAT:
        return Typed(Kind.FLOAT, steps.make("absolute", value.value), value.valid)
    fits = steps.inverse(steps.make("equal_integer", value.value, Constant(SMALLEST)))
    is_negative = steps.make("less_integer", value.value, Constant(0))
    negative = Typed(Kind.INTEGER, steps.make("negate_integer", value.value), value.valid)
    return keep_where(steps, fits, choose(steps, is_negative, negative, value))


def find_sign(steps: Steps, value: Typed) -> Typed:
    """SIGN: a float keeps its -0.0 and NaN."""
    _expect_number(value, "SIGN")
    less = "less" if value.kind is Kind.FLOAT else "less_integer"
    number = float if value.kind is Kind.FLOAT else int
    zero, one, minus = (Typed(value.kind, Constant(number(each)), value.valid) for each in (0, 1, -1))
    above = choose(steps, steps.make(less, zero.value, value.value), one, value)
    return choose(steps, steps.make(less, value.value, zero.value), minus, above)


def take_root(steps: Steps, value: Typed) -> Typed:
    """SQRT: NaN below zero."""
    _expect_number(value, "SQRT")
    number = to_float(steps, value)
    return Typed(Kind.FLOAT, steps.make("square_root", number.value), number.valid)


def round_to(steps: Steps, operation: str, value: Typed) -> Typed:
    """CEIL or FLOOR; NULL where that does not fit 64 bits, NaN included."""
    _expect_number(value, operation.upper())
    if value.kind is Kind.INTEGER:
        return value
    whole = steps.make(operation, value.value)
    fits = steps.both(
        steps.make("less", whole, _TOO_LARGE), steps.inverse(steps.make("less", whole, _LEAST))
    )  # NaN fails the first
    return _integral(steps, whole, fits, value.valid)


def cast_to_integer(steps: Steps, value: Typed) -> Typed:
    """CAST AS BIGINT, towards zero; 2 ** 63 as a float becomes the largest integer."""
    if value.kind is Kind.NULL:
        return Typed(Kind.INTEGER, value.value, value.valid)
    if value.kind is Kind.INTEGER:
        return value
    if value.kind is Kind.BOOLEAN:
        return Typed(Kind.INTEGER, steps.make("to_integer", value.value), value.valid)
    if value.kind is not Kind.FLOAT:
        raise CannotCompile(f"CAST of {value.kind.value}")
    whole = steps.make("truncate", value.value)
    is_end = steps.make("equal", whole, _TOO_LARGE)
    below = steps.make("less", whole, _TOO_LARGE)
    fits = steps.both(below, steps.inverse(steps.make("less", whole, _LEAST)))
    largest = Typed(Kind.INTEGER, Constant(LARGEST), value.valid)
    return choose(steps, is_end, largest, _integral(steps, whole, fits, value.valid))


def cast_to_float(steps: Steps, value: Typed) -> Typed:
    """CAST AS DOUBLE."""
    if value.kind not in (*NUMBERS, Kind.BOOLEAN, Kind.NULL):
        raise CannotCompile(f"CAST of {value.kind.value}")
    return to_float(steps, value)


def _integral(steps: Steps, whole: Reference, fits: Reference, valid: Reference) -> Typed:
    """A float without fraction as an integer; what does not fit is put aside first, as C leaves it undefined."""
    small = steps.make("choose", fits, whole, _ZERO)
    return Typed(Kind.INTEGER, steps.make("to_integer", small), steps.both(valid, fits))


def _expect_number(value: Typed, what: str) -> None:
    if value.kind not in NUMBERS:
        raise CannotCompile(f"{what} of {value.kind.value}")
