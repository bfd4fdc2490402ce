"""The operations that steps consist of, each with its result and how Python and CUDA C write it.

All are defined for all arguments, so that steps need no branches: what a NULL, an overflow or a division by zero gives
is computed like everything else, and the validity beside it says that it does not count. `meaning` keeps away what C
leaves undefined.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Scalar(Enum):
    """What a step gives."""

    INTEGER = "long long"
    FLOAT = "double"
    BOOLEAN = "bool"


class Operation(NamedTuple):
    """One operation.

    Attributes:
        result: What it gives.
        python: How Python writes it; {0} is the first argument.
        cuda: How CUDA C writes it.
    """

    result: Scalar
    python: str
    cuda: str


_INTEGER, _FLOAT, _BOOLEAN = Scalar


def _wrapping(sign: str) -> Operation:
    """Of integers, modulo 2 ** 64: in C that is said of unsigned numbers alone."""
    unsigned = f"(long long)((unsigned long long){{0}} {sign} (unsigned long long){{1}})"
    return Operation(_INTEGER, f"{{0}} {sign} {{1}}", unsigned)


OPERATIONS: dict[str, Operation] = {
    # floats
    "add": Operation(_FLOAT, "{0} + {1}", "{0} + {1}"),
    "subtract": Operation(_FLOAT, "{0} - {1}", "{0} - {1}"),
    "multiply": Operation(_FLOAT, "{0} * {1}", "{0} * {1}"),
    "divide": Operation(_FLOAT, "{0} / {1}", "{0} / {1}"),
    "remainder": Operation(_FLOAT, "fmod({0}, {1})", "fmod({0}, {1})"),
    "negate": Operation(_FLOAT, "-{0}", "-{0}"),
    "absolute": Operation(_FLOAT, "abs({0})", "fabs({0})"),
    "square_root": Operation(_FLOAT, "sqrt({0})", "sqrt({0})"),
    "floor": Operation(_FLOAT, "floor({0})", "floor({0})"),
    "ceiling": Operation(_FLOAT, "ceil({0})", "ceil({0})"),
    "truncate": Operation(_FLOAT, "trunc({0})", "trunc({0})"),
    "less": Operation(_BOOLEAN, "{0} < {1}", "{0} < {1}"),
    "equal": Operation(_BOOLEAN, "{0} == {1}", "{0} == {1}"),
    "is_nan": Operation(_BOOLEAN, "{0} != {0}", "{0} != {0}"),
    "choose": Operation(_FLOAT, "{1} if {0} else {2}", "{0} ? {1} : {2}"),
    # integers
    "add_integers": _wrapping("+"),
    "subtract_integers": _wrapping("-"),
    "multiply_integers": _wrapping("*"),
    "sum_overflows": Operation(_BOOLEAN, "(({0} ^ {2}) & ({1} ^ {2})) < int64(0)", "(({0} ^ {2}) & ({1} ^ {2})) < 0LL"),
    "difference_overflows": Operation(
        _BOOLEAN, "(({0} ^ {1}) & ({0} ^ {2})) < int64(0)", "(({0} ^ {1}) & ({0} ^ {2})) < 0LL"
    ),
    # What wrapped is at least 2 ** 64 off, while the rounding of floats is far smaller.
    "product_overflows": Operation(
        _BOOLEAN,
        "not abs(float64({0}) * float64({1}) - float64({2})) < 4611686018427387904.0",
        "!(fabs((double){0} * (double){1} - (double){2}) < 4611686018427387904.0)",
    ),
    "remainder_of_integers": Operation(
        _INTEGER,
        "{0} % {1} - ({1} if ({0} % {1} != int64(0)) & (({0} % {1} < int64(0)) != ({0} < int64(0))) else int64(0))",
        "{0} % {1}",
    ),
    "negate_integer": Operation(_INTEGER, "-{0}", "(long long)(0ULL - (unsigned long long){0})"),
    "less_integer": Operation(_BOOLEAN, "{0} < {1}", "{0} < {1}"),
    "equal_integer": Operation(_BOOLEAN, "{0} == {1}", "{0} == {1}"),
    "choose_integer": Operation(_INTEGER, "{1} if {0} else {2}", "{0} ? {1} : {2}"),
    # booleans
    "and": Operation(_BOOLEAN, "{0} & {1}", "{0} & {1}"),
    "or": Operation(_BOOLEAN, "{0} | {1}", "{0} | {1}"),
    "not": Operation(_BOOLEAN, "not {0}", "!{0}"),
    "equal_boolean": Operation(_BOOLEAN, "{0} == {1}", "{0} == {1}"),
    "choose_boolean": Operation(_BOOLEAN, "{1} if {0} else {2}", "{0} ? {1} : {2}"),
    # from one to another
    "to_float": Operation(_FLOAT, "float64({0})", "(double){0}"),
    "to_integer": Operation(_INTEGER, "int64({0})", "(long long){0}"),
}
