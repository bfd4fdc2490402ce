"""Patterns of trend queries from Python."""

from __future__ import annotations

from typing import Any

from trendweave.build.arguments import check_number, check_optional_text, check_text, refuse
from trendweave.errors import ArgumentError, LanguageError, Problem
from trendweave.language import syntax_tree as st


def check_pattern(value: Any, what: str) -> st.Pattern:
    """The value, where it is a pattern."""
    if not isinstance(value, st.Pattern):
        raise refuse(what, value, "a pattern", 'write event("Stock", "S") for events of a type')
    return value


def _check_several(values: tuple[Any, ...], what: str) -> tuple[st.Pattern, ...]:
    if not values:
        raise ArgumentError([Problem("TW116", f"{what} has no patterns", f"give at least one: {what}(event('A'))")])
    return tuple(check_pattern(value, f"an argument of {what}") for value in values)


def event(type: str, variable: str | None = None) -> st.EventPattern:
    """One event: `event("Stock", "S")` is `Stock S`.

    Args:
        type: The type of the event.
        variable: The variable that the event is bound to; by default the type.

    Raises:
        ArgumentError: An argument is not a string.
    """
    return st.EventPattern(check_text(type, "event: type"), check_optional_text(variable, "event: variable"))


def any_event(variable: str | None = None) -> st.EventPattern:
    """One event of any type: `any_event("X")` is `ANY X`; `event("ANY")` is one of the type of that name.

    Args:
        variable: The name by which conditions speak of it; `ANY` unless given.

    Raises:
        ArgumentError: The variable is no string.
    """
    return st.EventPattern(None, check_optional_text(variable, "any_event: variable"))


def seq(*parts: st.Pattern) -> st.Sequence:
    """A sequence of patterns: `seq(event("A"), event("B"))` is `SEQ(A, B)`.

    Args:
        *parts: The patterns, in order of time.

    Raises:
        ArgumentError: A part is not a pattern.
    """
    return st.Sequence(_check_several(parts, "seq"))


def either(*options: st.Pattern) -> st.Alternatives:
    """One of the patterns: `A OR B`.

    Args:
        *options: The patterns, one of which matches.

    Raises:
        ArgumentError: An option is not a pattern.
    """
    return st.Alternatives(_check_several(options, "either"))


def both(*parts: st.Pattern) -> st.Conjunction:
    """Pairs of trends, one of each pattern: `A AND B`.

    Args:
        *parts: The two patterns.

    Raises:
        ArgumentError: A part is not a pattern.
    """
    return st.Conjunction(_check_several(parts, "both"))


def negate(pattern: st.Pattern) -> st.Negation:
    """No match of the pattern in this gap: `NOT A`.

    Args:
        pattern: The pattern that must not match.

    Raises:
        ArgumentError: It is not a pattern.
    """
    return st.Negation(check_pattern(pattern, "negate: pattern"))


def plus(pattern: st.Pattern) -> st.Repeat:
    """The pattern once or more: `A+`.

    Args:
        pattern: The repeated pattern.

    Raises:
        ArgumentError: It is not a pattern.
    """
    return st.Repeat(check_pattern(pattern, "plus: pattern"), 1, None)


def star(pattern: st.Pattern) -> st.Repeat:
    """The pattern any number of times, including zero: `A*`.

    Args:
        pattern: The repeated pattern.

    Raises:
        ArgumentError: It is not a pattern.
    """
    return st.Repeat(check_pattern(pattern, "star: pattern"), 0, None)


def optional(pattern: st.Pattern) -> st.Repeat:
    """The pattern once or not at all: `A?`.

    Args:
        pattern: The optional pattern.

    Raises:
        ArgumentError: It is not a pattern.
    """
    return st.Repeat(check_pattern(pattern, "optional: pattern"), 0, 1)


def times(pattern: st.Pattern, low: int, high: int | None = None) -> st.Repeat:
    """The pattern a number of times: `times(p, 2, 5)` is `p{2,5}`, `times(p, 2)` is `p{2,}`.

    Args:
        pattern: The repeated pattern.
        low: The minimum.
        high: The maximum; unbounded by default.

    Raises:
        ArgumentError: An argument has a wrong type.
        LanguageError: The bounds are below zero, or in the wrong order.
    """
    check_pattern(pattern, "times: pattern")
    low = check_number(low, "times: low")
    high = None if high is None else check_number(high, "times: high")
    if low < 0 or (high is not None and high < low):
        message = f"{{{low},{high}}}: the minimum is negative, or larger than the maximum"
        raise LanguageError([Problem("TW112", message, "swap the bounds")])
    return st.Repeat(pattern, low, high)
