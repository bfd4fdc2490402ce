"""Comparisons, logic of three values and functions that choose a value, as steps: `arrow.conditions` for scalars."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.expressions.compiled.steps import FALSE, TRUE, Constant, Reference, Steps
from trendweave.expressions.compiled.values import (
    NULL,
    CannotCompile,
    Kind,
    Typed,
    choose,
    keep_where,
    make_comparable,
    to_common_kind,
)

_NO_ANSWER = Typed(Kind.BOOLEAN, FALSE, FALSE)


def compare(steps: Steps, operator: str, left: Typed, right: Typed) -> Typed:
    """Compare two values. NaN equals itself and is larger than every other number."""
    left, right = make_comparable(steps, [left, right])
    if left.kind is Kind.NULL:
        return _NO_ANSWER
    match operator:
        case "<":
            holds = _less(steps, left, right)
        case ">":
            holds = _less(steps, right, left)
        case ">=":
            holds = steps.inverse(_less(steps, left, right))
        case "<=":
            holds = steps.inverse(_less(steps, right, left))
        case "=":
            holds = _equal(steps, left, right)
        case _:
            holds = steps.inverse(_equal(steps, left, right))
    return Typed(Kind.BOOLEAN, holds, steps.both(left.valid, right.valid))


def _less(steps: Steps, left: Typed, right: Typed) -> Reference:
    if left.kind is Kind.BOOLEAN:
        return steps.both(steps.inverse(left.value), right.value)
    if left.kind is not Kind.FLOAT:
        return steps.make("less_integer", left.value, right.value)
    is_largest = steps.both(_is_nan(steps, right.value), steps.inverse(_is_nan(steps, left.value)))
    return steps.either(steps.make("less", left.value, right.value), is_largest)


def _equal(steps: Steps, left: Typed, right: Typed) -> Reference:
    if left.kind is Kind.BOOLEAN:
        return steps.make("equal_boolean", left.value, right.value)
    if left.kind is not Kind.FLOAT:
        return steps.make("equal_integer", left.value, right.value)
    both_nan = steps.both(_is_nan(steps, left.value), _is_nan(steps, right.value))
    return steps.either(steps.make("equal", left.value, right.value), both_nan)


def _is_nan(steps: Steps, value: Reference) -> Reference:
    return Constant(value.value != value.value) if isinstance(value, Constant) else steps.make("is_nan", value)


def is_between(steps: Steps, value: Typed, low: Typed, high: Typed) -> Typed:
    """BETWEEN, both ends included."""
    return all_of(steps, [compare(steps, ">=", value, low), compare(steps, "<=", value, high)])


def is_in_list(steps: Steps, value: Typed, options: Sequence[Typed]) -> Typed:
    """IN: equals one of several; all are compared in one kind."""
    value, *options = make_comparable(steps, [value, *options])
    if value.kind is Kind.NULL:
        return _NO_ANSWER
    equal = [
        Typed(Kind.BOOLEAN, _equal(steps, value, option), steps.both(value.valid, option.valid)) for option in options
    ]
    return any_of(steps, equal)


def all_of(steps: Steps, parts: Sequence[Typed]) -> Typed:
    """AND of three values: false where one is, else NULL where one is."""
    true: Reference = TRUE
    false: Reference = FALSE
    for part in parts:
        true = steps.both(true, is_true(steps, part))
        false = steps.either(false, _is_false(steps, part))
    return Typed(Kind.BOOLEAN, true, steps.either(true, false) if _have_nulls(parts) else TRUE)


def any_of(steps: Steps, parts: Sequence[Typed]) -> Typed:
    """OR of three values: true where one is, else NULL where one is."""
    true: Reference = FALSE
    false: Reference = TRUE
    for part in parts:
        true = steps.either(true, is_true(steps, part))
        false = steps.both(false, _is_false(steps, part))
    return Typed(Kind.BOOLEAN, true, steps.either(true, false) if _have_nulls(parts) else TRUE)


def invert(steps: Steps, condition: Typed) -> Typed:
    """NOT: NULL stays NULL."""
    condition = as_condition(condition)
    return Typed(Kind.BOOLEAN, steps.inverse(condition.value), condition.valid)


def as_condition(value: Typed) -> Typed:
    """A truth value; NULL has none."""
    if value.kind is Kind.NULL:
        return _NO_ANSWER
    if value.kind is not Kind.BOOLEAN:
        raise CannotCompile(f"{value.kind.value} as conditions")
    return value


def is_true(steps: Steps, condition: Typed) -> Reference:
    """Is it true, and not NULL?"""
    condition = as_condition(condition)
    return steps.both(condition.value, condition.valid)


def _is_false(steps: Steps, condition: Typed) -> Reference:
    condition = as_condition(condition)
    return steps.both(steps.inverse(condition.value), condition.valid)


def _have_nulls(parts: Sequence[Typed]) -> bool:
    return any(part.valid != TRUE for part in parts)


def take_first_valid(steps: Steps, values: Sequence[Typed]) -> Typed:
    """COALESCE."""
    first, *others = to_common_kind(steps, values)
    for value in others:
        first = choose(steps, first.valid, first, value)
    return first


def take_first_true(steps: Steps, conditions: Sequence[Typed], values: Sequence[Typed]) -> Typed:
    """CASE: the value of the first condition that is true; the last value where none is."""
    *values, taken = to_common_kind(steps, values)
    if taken.kind is Kind.NULL:
        return NULL
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        taken = choose(steps, is_true(steps, condition), value, taken)
    return taken


def take_unless_equal(steps: Steps, values: Sequence[Typed]) -> Typed:
    """NULLIF: the first of two, in its own kind."""
    first, second = values
    if first.kind is Kind.NULL:
        return NULL
    return keep_where(steps, steps.inverse(is_true(steps, compare(steps, "=", first, second))), first)


def take_extreme(steps: Steps, function: str, values: Sequence[Typed]) -> Typed:
    """GREATEST or LEAST: NULLs are passed over; of equal values (0.0 and -0.0) the first is taken."""
    best, *others = to_common_kind(steps, values)
    if best.kind is Kind.NULL:
        return NULL
    for value in others:
        beats = _less(steps, best, value) if function == "GREATEST" else _less(steps, value, best)
        takes_over = steps.both(value.valid, steps.either(beats, steps.inverse(best.valid)))
        best = choose(steps, takes_over, value, best)
    return best
