"""Values with their kind and their validity, and the kinds in which values meet: `arrow.common_types` for scalars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from trendweave.expressions.compiled.steps import FALSE, TRUE, Constant, Reference, Steps

TICKS_PER_SECOND = {"us": 1_000_000, "ns": 1_000_000_000}
SMALLEST, LARGEST = -(2**63), 2**63 - 1
_SECONDS_PER_DAY = 86_400


class CannotCompile(Exception):
    """A part of an expression has no compiled form; the text says which."""


class Kind(Enum):
    """Kinds of values. Times count days, or ticks of a unit."""

    INTEGER = "whole numbers"
    FLOAT = "floats"
    BOOLEAN = "booleans"
    TIMESTAMP = "timestamps"
    DATE = "dates"
    DURATION = "durations"
    NULL = "NULL"


MOMENTS = (Kind.TIMESTAMP, Kind.DATE)
OF_TIME = (*MOMENTS, Kind.DURATION)
NUMBERS = (Kind.INTEGER, Kind.FLOAT)


@dataclass(frozen=True, slots=True)
class Typed:
    """A value.

    Attributes:
        kind: What it is.
        value: It itself; means nothing where it is not valid.
        valid: Is it there, and not NULL?
        unit: Of a timestamp or duration: us or ns.
    """

    kind: Kind
    value: Reference
    valid: Reference = TRUE
    unit: str = ""


NULL = Typed(Kind.NULL, Constant(0), FALSE)


def choose(steps: Steps, condition: Reference, one: Typed, other: Typed) -> Typed:
    """One of two values of one kind."""
    if isinstance(condition, Constant):
        return one if condition.value else other
    operation = {Kind.FLOAT: "choose", Kind.BOOLEAN: "choose_boolean"}.get(one.kind, "choose_integer")
    value = one.value if one.value == other.value else steps.make(operation, condition, one.value, other.value)
    valid = one.valid
    if one.valid != other.valid:
        kept = steps.both(condition, one.valid)
        valid = steps.either(kept, steps.both(steps.inverse(condition), other.valid))
    return Typed(one.kind, value, valid, one.unit)


def keep_where(steps: Steps, condition: Reference, value: Typed) -> Typed:
    """NULL where the condition does not hold."""
    return Typed(value.kind, value.value, steps.both(value.valid, condition), value.unit)


def multiply_by(steps: Steps, value: Typed, factor: int) -> Typed:
    """Ticks times a number; NULL where 64 bits are not enough."""
    if factor == 1:
        return value
    by = Constant(factor)
    product = steps.make("multiply_integers", value.value, by)
    fits = steps.inverse(steps.make("product_overflows", value.value, by, product))
    return Typed(value.kind, product, steps.both(value.valid, fits), value.unit)


def count_ticks(steps: Steps, value: Typed, unit: str) -> Typed:
    """Units since the epoch or in a duration, as whole numbers."""
    if value.kind is Kind.DATE:
        factor = _SECONDS_PER_DAY * TICKS_PER_SECOND[unit]
    else:
        factor = TICKS_PER_SECOND[unit] // TICKS_PER_SECOND[value.unit]
    return multiply_by(steps, Typed(Kind.INTEGER, value.value, value.valid), factor)


def time_unit(values: Sequence[Typed]) -> str:
    """The unit in which values meet."""
    return "ns" if any(value.unit == "ns" for value in values) else "us"


def to_float(steps: Steps, value: Typed) -> Typed:
    """A number, or a length of time in seconds, as a float."""
    if value.kind is Kind.FLOAT:
        return value
    if value.kind is Kind.NULL:
        return Typed(Kind.FLOAT, Constant(0.0), FALSE)
    if value.kind in MOMENTS:
        raise CannotCompile(f"{value.kind.value} as numbers")
    number = steps.make("to_float", value.value)
    if value.kind is Kind.DURATION:
        number = steps.make("divide", number, Constant(float(TICKS_PER_SECOND[value.unit])))
    return Typed(Kind.FLOAT, number, value.valid)


def to_common_kind(steps: Steps, values: Sequence[Typed]) -> list[Typed]:
    """Values in the kind in which one of them is picked."""
    kind, unit = _common_kind(values)
    return [_convert(steps, value, kind, unit) for value in values]


def make_comparable(steps: Steps, values: Sequence[Typed]) -> list[Typed]:
    """Values in the kind in which they are compared. A time too far for nanoseconds is at the end of theirs."""
    kind, unit = _common_kind(values)
    return [
        _clamp(steps, value, kind) if unit == "ns" and value.kind in OF_TIME else _convert(steps, value, kind, unit)
        for value in values
    ]


def _common_kind(values: Sequence[Typed]) -> tuple[Kind, str]:
    there = [value for value in values if value.kind is not Kind.NULL]
    kinds = {value.kind for value in there}
    if not kinds:
        return Kind.NULL, ""
    if len(kinds) == 1:
        kind = there[0].kind
        return kind, time_unit(there) if there[0].unit else ""
    if kinds <= {Kind.INTEGER, Kind.FLOAT, Kind.DURATION}:
        return Kind.FLOAT, ""
    if kinds <= set(MOMENTS):
        return Kind.TIMESTAMP, time_unit(there)
    raise CannotCompile(" next to ".join(sorted(kind.value for kind in kinds)))


def _convert(steps: Steps, value: Typed, kind: Kind, unit: str) -> Typed:
    if value.kind is Kind.NULL:
        nothing: bool | int | float = {Kind.FLOAT: 0.0, Kind.BOOLEAN: False}.get(kind, 0)
        return Typed(kind, Constant(nothing), FALSE, unit)
    if (value.kind, value.unit) == (kind, unit):
        return value
    if kind is Kind.FLOAT:
        return to_float(steps, value)
    ticks = count_ticks(steps, value, unit)
    return Typed(kind, ticks.value, ticks.valid, unit)


def _clamp(steps: Steps, value: Typed, kind: Kind) -> Typed:
    if value.unit == "ns":
        return value
    ticks = count_ticks(steps, value, "us")
    fine = multiply_by(steps, ticks, 1_000)
    is_early = steps.make("less_integer", ticks.value, Constant(0))
    end_of_range = steps.make("choose_integer", is_early, Constant(SMALLEST), Constant(LARGEST))
    fits = steps.inverse(steps.make("product_overflows", ticks.value, Constant(1_000), fine.value))
    return Typed(kind, steps.make("choose_integer", fits, fine.value, end_of_range), ticks.valid, "ns")
