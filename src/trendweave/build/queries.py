"""Trend queries and their patterns from Python, without text: the same syntax tree that the parser makes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from trendweave.build.arguments import (
    check_all,
    check_number,
    check_optional_text,
    check_text,
    read_attributes,
    read_length,
    refuse,
)
from trendweave.build.outputs import read_outputs
from trendweave.build.scalars import Scalar, read_order
from trendweave.errors import ArgumentError, LanguageError, Problem, near_names, raise_problems
from trendweave.language import syntax_tree as st
from trendweave.language.functions import STRATEGIES
from trendweave.language.printer import print_query
from trendweave.queries import Query, make_query


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


def query(
    pattern: st.Pattern,
    *,
    returns: st.Return | Iterable[st.Output | str] | None = None,
    where: Iterable[Scalar] = (),
    group_by: Iterable[str] = (),
    semantics: str | None = None,
    within: str | timedelta | None = None,
    slide: str | timedelta | None = None,
    session: str | timedelta | None = None,
    after_match: st.AfterMatch | None = None,
    per_start: st.PerStart | None = None,
    having: Iterable[Scalar] = (),
    order_by: Iterable[Scalar | st.OrderItem | str] = (),
    choice: st.Choice | None = None,
) -> Query:
    """Check and plan a trend query.

    Args:
        pattern: The pattern, made by `event`, `seq`, `plus`, ...
        returns: A list of outputs and names of grouping attributes, or the result of `trends`, `rows`, `each` or
            `complete`; by default complete trends.
        where: Conditions, combined by AND.
        group_by: Grouping attributes.
        semantics: The event selection strategy, such as "skip-till-next-match".
        within: The length of windows, as a string such as "10 minutes" or a timedelta.
        slide: The slide of the windows.
        session: The pause that ends a session window, instead of `within` and `slide`.
        after_match: The result of `after_match`.
        per_start: "longest" or "shortest": one of the trends that begin with the same event.
        having: Conditions on rows, combined by AND; `value_of(count()) > 1`, `attr("mean") > 2`.
        order_by: Expressions and names of outputs to order the rows of a window by; `descending("mean")`.
        choice: The result of `limit`, `longest` or `sample`.

    Returns:
        The same query as from its text.

    Raises:
        ArgumentError: An argument has a wrong type.
        TrendweaveError: The query has no meaning, or cannot be planned; all problems together.
    """
    problems: list[Problem] = []
    check_pattern(pattern, "query: pattern")
    if returns is not None and not isinstance(returns, st.Return):
        returns = st.Return("aggregates", read_outputs(returns, "returns"))
    if semantics is not None and semantics not in STRATEGIES:
        hint = near_names(str(semantics), STRATEGIES) or f"one of {', '.join(STRATEGIES)}"
        problems.append(Problem("TW111", f"unknown event selection strategy {semantics}", hint))
    if choice is not None and not isinstance(choice, st.Choice):
        raise refuse("query: choice", choice, "a choice", "give limit(10), longest(10) or sample(10)")
    if after_match is not None and not isinstance(after_match, st.AfterMatch):
        raise refuse("query: after_match", after_match, "a place", 'give after_match("past last")')
    if per_start not in (None, "longest", "shortest"):
        raise refuse("query: per_start", per_start, "one of both", 'give "longest" or "shortest"')
    if session is not None and within is not None:
        message = "a window ends after a pause, or has a length"
        problems.append(Problem("TW115", message, "give session or within, not both"))
    kept = check_all(having, Scalar, "having", "give a list: having=[value_of(count()) > 10]")
    conditions = check_all(where, Scalar, "where", "give a list: where=[attr('S.price') > 10]")
    tree = st.QueryTree(
        pattern=pattern,
        returns=returns,
        where=_split_conditions(conditions),
        group_by=read_attributes(group_by, "group_by"),
        strategy=semantics,
        within=read_length(within if session is None else session, "query: within", problems),
        session=session is not None,
        after_match=after_match,
        per_start=per_start,
        having=_split_conditions(kept),
        order_by=read_order(order_by),
        slide=read_length(slide, "query: slide", problems),
        choice=choice,
    )
    raise_problems(problems)
    return make_query(tree, problems, print_query(tree))


def _split_conditions(conditions: tuple[Scalar, ...]) -> tuple[st.Expression, ...]:
    """The parts of conditions that are joined by AND."""
    return tuple(
        inner
        for part in (condition.tree for condition in conditions)
        for inner in (part.parts if isinstance(part, st.AllOf) else (part,))
    )
