"""Random conditions on one event and on a pair of events: a text, and a callable that says True, False or None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.reference.operators.events import Event
from tests.reference.scalars import COMPARISONS, LARGEST_INTEGER, SMALLEST_INTEGER, calculate, holds

#: The events that a condition speaks of, by the word before the dot; of one event, by "".
Sides = dict[str, Event]


@dataclass(frozen=True)
class Condition:
    """A condition.

    Attributes:
        text: As it is written.
        test: What it says: True, False, or None for NULL.
    """

    text: str
    test: Callable[[Sides], Any]

    def of_event(self, event: Event) -> Any:
        """What it says about one event."""
        return self.test({"": event})

    def of_pair(self, left: Event, right: Event) -> Any:
        """What it says about a pair."""
        return self.test({"left": left, "right": right})


@dataclass(frozen=True)
class Value:
    """A scalar expression: its text, and its value."""

    text: str
    value: Callable[[Sides], Any]


def column(side: str, name: str) -> Value:
    """A column of a side."""
    return Value(f"{side}.{name}" if side else name, lambda sides: sides[side][name])


def constant(value: Any) -> Value:
    """A number or a string."""
    text = f"'{value}'" if isinstance(value, str) else repr(value)
    return Value(text, lambda sides: value)


def compare(one: Value, comparison: str, two: Value) -> Condition:
    """NULL where either is."""

    def test(sides: Sides) -> bool | None:
        left, right = one.value(sides), two.value(sides)
        return None if left is None or right is None else holds(left, comparison, right)

    return Condition(f"{one.text} {comparison} {two.text}", test)


def arithmetic(one: Value, operator: str, two: Value) -> Value:
    """NULL where either is, where whole numbers overflow, and for a division by zero."""
    return Value(
        f"({one.text} {operator} {two.text})", lambda sides: calculate(one.value(sides), operator, two.value(sides))
    )


def absolute(one: Value) -> Value:
    """The smallest whole number has none."""

    def value(sides: Sides) -> Any:
        found = one.value(sides)
        return None if found is None or (isinstance(found, int) and found == SMALLEST_INTEGER) else abs(found)

    return Value(f"abs({one.text})", value)


def is_null(one: Value) -> Condition:
    """Never NULL itself."""
    return Condition(f"{one.text} IS NULL", lambda sides: one.value(sides) is None)


def negate(one: Condition) -> Condition:
    """NULL stays NULL."""

    def test(sides: Sides) -> bool | None:
        found = one.test(sides)
        return None if found is None else not found

    return Condition(f"NOT ({one.text})", test)


def both(one: Condition, two: Condition) -> Condition:
    """False where one is, else NULL where one is."""

    def test(sides: Sides) -> bool | None:
        found = one.test(sides), two.test(sides)
        return False if False in found else None if None in found else True

    return Condition(f"({one.text}) AND ({two.text})", test)


def either(one: Condition, two: Condition) -> Condition:
    """True where one is, else NULL where one is."""

    def test(sides: Sides) -> bool | None:
        found = one.test(sides), two.test(sides)
        return True if True in found else None if None in found else False

    return Condition(f"({one.text}) OR ({two.text})", test)


_FLOATS, _INTEGERS, _WORDS = ("x", "f"), ("n", "small"), ("word",)
_CONSTANTS = {
    _FLOATS: st.sampled_from([0.0, 1.0, -2.5, 1e16]),
    _INTEGERS: st.sampled_from([0, 1, -3, LARGEST_INTEGER]),
    _WORDS: st.sampled_from(["", "a", "B"]),
}


@st.composite
def values(draw: st.DrawFn, side: str, names: tuple[str, ...], depth: int = 1) -> Value:
    """A column, or arithmetic on one."""
    one = column(side, draw(st.sampled_from(names)))
    if not depth or names is _WORDS or draw(st.integers(0, 2)):
        return one
    if draw(st.booleans()):
        return absolute(one)
    other = draw(values(side, names, 0) | _CONSTANTS[names].map(constant))
    return arithmetic(one, draw(st.sampled_from(["+", "-", "*", "/"])), other)


@st.composite
def _comparisons(draw: st.DrawFn, one: str, two: str) -> Condition:
    """Of two columns of two sides, or of one with a constant."""
    names = draw(st.sampled_from([_FLOATS, _FLOATS, _INTEGERS, _INTEGERS, _WORDS]))
    left = draw(values(one, names))
    right = draw(values(two, names)) if draw(st.booleans()) else draw(_CONSTANTS[names].map(constant))
    return compare(left, draw(st.sampled_from(COMPARISONS)), right)


def _combined(atoms: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            inner.map(negate),
            st.builds(both, inner, inner),
            st.builds(both, inner, inner),
            st.builds(either, inner, inner),
        ),
        max_leaves=3,
    )


#: Conditions on one event; they read columns x, f, n, small, word.
conditions = _combined(
    _comparisons("", "") | st.sampled_from(("x", "n", "word")).map(lambda name: is_null(column("", name)))
)


@st.composite
def _bands(draw: st.DrawFn) -> Condition:
    """`abs(left.x - right.x) <= 2`, and the same as two comparisons."""
    names = draw(st.sampled_from([_FLOATS, _INTEGERS]))
    left, right = column("left", draw(st.sampled_from(names))), column("right", draw(st.sampled_from(names)))
    width = constant(draw(st.sampled_from([0, 1, 2])))
    if draw(st.booleans()):
        return compare(absolute(arithmetic(left, "-", right)), draw(st.sampled_from(["<", "<="])), width)
    low = compare(left, draw(st.sampled_from([">", ">="])), arithmetic(right, "-", width))
    return both(low, compare(left, "<=", arithmetic(right, "+", width)))


@st.composite
def _equalities(draw: st.DrawFn) -> Condition:
    names = draw(st.sampled_from([_FLOATS, _INTEGERS, _WORDS]))
    left, right = column("left", draw(st.sampled_from(names))), column("right", draw(st.sampled_from(names)))
    return compare(left, "=", right) if draw(st.booleans()) else compare(right, "=", left)


#: Conditions on a pair: equalities, bands, orders, and anything; they read columns x, f, n, small, word.
pair_conditions = _combined(
    st.one_of(_equalities(), _bands(), _comparisons("left", "right"), _comparisons("right", "left"))
)
