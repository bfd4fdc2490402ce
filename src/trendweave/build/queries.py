"""Trend queries from Python, without text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from trendweave.errors import LanguageError, Problem, raise_problems
from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration
from trendweave.language.functions import (
    AGGREGATES,
    CAST_TYPES,
    EACH_AGGREGATES,
    SCALAR_FUNCTIONS,
    STRATEGIES,
    argument_count,
)
from trendweave.language.printer import print_query
from trendweave.queries import Query, make_query

__all__ = [
    "Scalar",
    "all_of",
    "any_of",
    "attr",
    "avg",
    "both",
    "call",
    "cast",
    "complete_trends",
    "count",
    "each",
    "either",
    "event",
    "first",
    "last",
    "limit",
    "lit",
    "longest",
    "maximum",
    "minimum",
    "negate",
    "next_of",
    "optional",
    "plus",
    "query",
    "same",
    "sample",
    "seq",
    "star",
    "times",
    "total",
    "trends",
]

Value: TypeAlias = "Scalar | bool | int | float | str | datetime | date | timedelta | None"


# Patterns


def event(type: str, variable: str | None = None) -> st.EventPattern:
    return st.EventPattern(type, variable)


def seq(*parts: st.Pattern) -> st.Sequence:
    return st.Sequence(parts)


def either(*options: st.Pattern) -> st.Alternatives:
    return st.Alternatives(options)


def both(*parts: st.Pattern) -> st.Conjunction:
    return st.Conjunction(parts)


def negate(pattern: st.Pattern) -> st.Negation:
    return st.Negation(pattern)


def plus(pattern: st.Pattern) -> st.Repeat:
    return st.Repeat(pattern, 1, None)


def star(pattern: st.Pattern) -> st.Repeat:
    return st.Repeat(pattern, 0, None)


def optional(pattern: st.Pattern) -> st.Repeat:
    return st.Repeat(pattern, 0, 1)


def times(pattern: st.Pattern, low: int, high: int | None = None) -> st.Repeat:
    """`times(p, 2, 5)` is p{2,5}, `times(p, 2)` is p{2,}."""
    if low < 0 or (high is not None and high < low):
        raise LanguageError(
            [Problem("TW112", f"{{{low},{high}}} begins above its end or below zero", "swap the bounds")]
        )
    return st.Repeat(pattern, low, high)


# Expressions


class Scalar:
    """A scalar expression; comparisons and arithmetic give further ones. `&`, `|` and `~` are AND, OR and NOT."""

    __slots__ = ("tree",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tree: st.Expression) -> None:
        self.tree = tree

    def __bool__(self) -> bool:
        raise TypeError("a condition of a query has no truth value in Python; join conditions with & and |, not and/or")

    def __lt__(self, other: Value) -> Scalar:
        return self._compare("<", other)

    def __le__(self, other: Value) -> Scalar:
        return self._compare("<=", other)

    def __gt__(self, other: Value) -> Scalar:
        return self._compare(">", other)

    def __ge__(self, other: Value) -> Scalar:
        return self._compare(">=", other)

    def __eq__(self, other: Value) -> Scalar:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: Value) -> Scalar:  # type: ignore[override]
        return self._compare("!=", other)

    def __add__(self, other: Value) -> Scalar:
        return self._arithmetic("+", other)

    def __sub__(self, other: Value) -> Scalar:
        return self._arithmetic("-", other)

    def __mul__(self, other: Value) -> Scalar:
        return self._arithmetic("*", other)

    def __truediv__(self, other: Value) -> Scalar:
        return self._arithmetic("/", other)

    def __mod__(self, other: Value) -> Scalar:
        return self._arithmetic("%", other)

    def __radd__(self, other: Value) -> Scalar:
        return lit(other)._arithmetic("+", self)

    def __rsub__(self, other: Value) -> Scalar:
        return lit(other)._arithmetic("-", self)

    def __rmul__(self, other: Value) -> Scalar:
        return lit(other)._arithmetic("*", self)

    def __rtruediv__(self, other: Value) -> Scalar:
        return lit(other)._arithmetic("/", self)

    def __rmod__(self, other: Value) -> Scalar:
        return lit(other)._arithmetic("%", self)

    def __neg__(self) -> Scalar:
        return Scalar(st.negative(self.tree))

    def __and__(self, other: Scalar) -> Scalar:
        return all_of(self, other)

    def __or__(self, other: Scalar) -> Scalar:
        return any_of(self, other)

    def __invert__(self) -> Scalar:
        return Scalar(st.Inverse(self.tree))

    def is_in(self, *options: Value) -> Scalar:
        return Scalar(st.InList(self.tree, tuple(lit(option).tree for option in options)))

    def between(self, low: Value, high: Value) -> Scalar:
        return Scalar(st.Between(self.tree, lit(low).tree, lit(high).tree))

    def is_null(self) -> Scalar:
        return Scalar(st.IsNull(self.tree))

    def is_not_null(self) -> Scalar:
        return Scalar(st.IsNull(self.tree, negated=True))

    def like(self, pattern: str) -> Scalar:
        return Scalar(st.Like(self.tree, pattern))

    def _compare(self, operator: st.ComparisonOperator, other: Value) -> Scalar:
        return Scalar(st.Comparison(operator, self.tree, lit(other).tree))

    def _arithmetic(self, operator: st.ArithmeticOperator, other: Value) -> Scalar:
        return Scalar(st.Arithmetic(operator, self.tree, lit(other).tree))


def attr(name: str, *more: str) -> Scalar:
    """`attr("S.price")`; a name that has a dot of its own is given in parts: `attr("S", "a.b")`."""
    return Scalar(_attribute((name, *more)))


def next_of(name: str, *more: str) -> Scalar:
    """`next_of("S.price")` is NEXT(S).price."""
    variable, *names = _attribute((name, *more)).names
    return Scalar(st.NextAttribute(variable, tuple(names)))


def lit(value: Value) -> Scalar:
    """A Python value as a literal."""
    match value:
        case Scalar():
            return value
        case datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            return Scalar(st.TimestampLiteral((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)))
        case date():
            return Scalar(st.DateLiteral((value - date(1970, 1, 1)).days))
        case timedelta():
            return Scalar(st.Duration(value // timedelta(microseconds=1) * 1000))
    item = getattr(value, "item", None)
    if item is not None:
        value = item()  # a numpy scalar
    if not isinstance(value, bool | int | float | str | None):
        raise TypeError(f"a query has no literal for {type(value).__name__}")
    return Scalar(st.Literal(value))


def call(function: str, *arguments: Value) -> Scalar:
    """A scalar function such as ABS or COALESCE."""
    low, high = SCALAR_FUNCTIONS.get(function.upper(), (0, -1))
    if high == -1:
        known = ", ".join(SCALAR_FUNCTIONS)
        raise LanguageError([Problem("TW108", f"unknown function {function}", f"the functions are {known}")])
    if not low <= len(arguments) <= (high or len(arguments)):
        raise LanguageError(
            [
                Problem(
                    "TW109", f"{function} does not take {len(arguments)}", f"give it {argument_count(function.upper())}"
                )
            ]
        )
    return Scalar(st.Call(function.upper(), tuple(lit(argument).tree for argument in arguments)))


def cast(value: Value, type: str) -> Scalar:
    if type.upper() not in CAST_TYPES:
        known = ", ".join(sorted(set(CAST_TYPES.values())))
        raise LanguageError([Problem("TW114", f"CAST does not know the type {type}", f"the types are {known}")])
    return Scalar(st.Cast(lit(value).tree, CAST_TYPES[type.upper()]))


def all_of(*parts: Scalar) -> Scalar:
    return Scalar(st.all_of(tuple(part.tree for part in parts)))


def any_of(*parts: Scalar) -> Scalar:
    return Scalar(st.any_of(tuple(part.tree for part in parts)))


def same(*names: str) -> Scalar:
    """`same("company", "P.vehicle")` is the equivalence [company, P.vehicle]."""
    return Scalar(st.Equivalence(tuple(_attribute((name,)) for name in names)))


def _attribute(parts: tuple[str, ...]) -> st.Attribute:
    names = parts if len(parts) > 1 else tuple(parts[0].split("."))
    return st.Attribute(names)


# Results


def count(variable: str | None = None, alias: str | None = None) -> st.Output:
    return _output("COUNT", variable, alias)


def total(name: str, alias: str | None = None) -> st.Output:
    """SUM."""
    return _output("SUM", name, alias)


def minimum(name: str, alias: str | None = None) -> st.Output:
    return _output("MIN", name, alias)


def maximum(name: str, alias: str | None = None) -> st.Output:
    return _output("MAX", name, alias)


def avg(name: str, alias: str | None = None) -> st.Output:
    return _output("AVG", name, alias)


def first(name: str, alias: str | None = None) -> st.Output:
    return _output("FIRST", name, alias)


def last(name: str, alias: str | None = None) -> st.Output:
    return _output("LAST", name, alias)


def _output(function: str, name: str | None, alias: str | None) -> st.Output:
    return st.Output(st.Aggregate(function, None if name is None else _attribute((name,))), alias)


def trends(*shown: str) -> st.Return:
    """RETURN TRENDS; `trends("S.price")` shows only that attribute of events."""
    return st.Return("trends", attributes=tuple(_attribute((name,)) for name in shown))


def complete_trends(*shown: str) -> st.Return:
    return st.Return("complete trends", attributes=tuple(_attribute((name,)) for name in shown))


def limit(count: int) -> st.Choice:
    return _choice("limit", count)


def longest(count: int) -> st.Choice:
    return _choice("longest", count)


def sample(count: int, seed: int | None = None) -> st.Choice:
    return _choice("sample", count, seed)


def _choice(kind: st.ChoiceKind, count: int, seed: int | None = None) -> st.Choice:
    if not 1 <= count < 10**18 or not 0 <= (seed or 0) < 10**18:
        message = f"{kind.upper()} takes a whole number of 1 or more, and a seed of 0 or more"
        raise LanguageError([Problem("TW113", message, "of 18 digits at most")])
    return st.Choice(kind, count, seed)


def each(*outputs: st.Output | str) -> st.Return:
    """RETURN EACH: one row per trend."""
    return st.Return("each", _outputs(outputs))


def _outputs(outputs: Iterable[st.Output | str]) -> tuple[st.Output, ...]:
    return tuple(map(output_of, outputs))


def output_of(output: st.Output | str) -> st.Output:
    """A plain name is an attribute."""
    return st.Output(_attribute((output,))) if isinstance(output, str) else output


# The query


def query(
    pattern: st.Pattern,
    *,
    returns: st.Return | Iterable[st.Output | str] | None = None,
    where: Iterable[Scalar] = (),
    group_by: Iterable[str] = (),
    semantics: str | None = None,
    within: str | timedelta | None = None,
    slide: str | timedelta | None = None,
    choice: st.Choice | None = None,
) -> Query:
    """Check and plan a query. `returns` is a list of outputs, or what `trends`, `complete_trends` and `each` give;
    `choice` is what `limit`, `longest` and `sample` give."""
    problems: list[Problem] = []
    if returns is not None and not isinstance(returns, st.Return):
        returns = st.Return("aggregates", _outputs(returns))
    for output in returns.outputs if returns is not None else ():
        known = EACH_AGGREGATES if returns is not None and returns.kind == "each" else AGGREGATES
        if isinstance(output.value, st.Aggregate) and output.value.function not in known:
            message = f"{output.value.function} speaks of one trend"
            problems.append(Problem("TW110", message, "use it with each()"))
    if semantics is not None and semantics not in STRATEGIES:
        problems.append(
            Problem("TW111", f"unknown event selection strategy {semantics}", f"one of {', '.join(STRATEGIES)}")
        )
    conjuncts = [
        inner
        for condition in where
        for inner in (condition.tree.parts if isinstance(condition.tree, st.AllOf) else (condition.tree,))
    ]
    tree = st.QueryTree(
        pattern=pattern,
        returns=returns,
        where=tuple(conjuncts),
        group_by=tuple(_attribute((name,)) for name in group_by),
        strategy=semantics,
        within=length_of(within, problems),
        slide=length_of(slide, problems),
        choice=choice,
    )
    raise_problems(problems)
    return make_query(tree, problems, print_query(tree))


def length_of(length: str | timedelta | None, problems: list[Problem]) -> st.Duration | None:
    if length is None:
        return None
    if isinstance(length, timedelta):
        return duration(str(length // timedelta(microseconds=1)), "microsecond", None, problems)
    amount, unit = re.fullmatch(r"\s*(-?[\d.]*)\s*(.*?)\s*", length, re.DOTALL).groups()  # type: ignore[union-attr]
    if not re.fullmatch(r"-?\d+(\.\d+)?", amount):
        problems.append(Problem("TW107", f"{length!r} is not a length of time", "write for example '10 minutes'"))
        return None
    return duration(amount, unit or None, None, problems)
