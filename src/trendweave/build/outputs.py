"""What queries return, from Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trendweave.build.arguments import (
    check_all,
    check_number,
    check_optional_text,
    read_attribute,
    read_attributes,
    refuse,
)
from trendweave.build.scalars import Scalar
from trendweave.errors import LanguageError, Problem
from trendweave.language import syntax_tree as st
from trendweave.language.arguments import make_argument
from trendweave.language.functions import NTH


def count(variable: str | None = None, alias: str | None = None) -> st.Output:
    """COUNT(*), or COUNT of the events of a variable.

    Args:
        variable: The variable; by default all trends are counted. In an interval query, a situation.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is not a string.
    """
    return _output("COUNT", variable, alias)


def total(name: str | Scalar, alias: str | None = None) -> st.Output:
    """SUM of an attribute.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("SUM", name, alias, named=True)


def minimum(name: str | Scalar, alias: str | None = None) -> st.Output:
    """MIN of an attribute.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("MIN", name, alias, named=True)


def maximum(name: str | Scalar, alias: str | None = None) -> st.Output:
    """MAX of an attribute.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("MAX", name, alias, named=True)


def avg(name: str | Scalar, alias: str | None = None) -> st.Output:
    """AVG of an attribute.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("AVG", name, alias, named=True)


def stddev(name: str | Scalar, alias: str | None = None) -> st.Output:
    """STDDEV of an attribute, of a sample.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("STDDEV", name, alias, named=True)


def variance(name: str | Scalar, alias: str | None = None) -> st.Output:
    """VARIANCE of an attribute, of a sample.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("VARIANCE", name, alias, named=True)


def count_distinct(name: str | Scalar, alias: str | None = None) -> st.Output:
    """COUNT(DISTINCT ...): the number of distinct values of an attribute.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    argument = _read_argument(name, "COUNT: name")
    return st.Output(st.Aggregate("COUNT", argument, distinct=True), check_optional_text(alias, "COUNT: alias"))


def first(name: str | Scalar, alias: str | None = None) -> st.Output:
    """FIRST value of an attribute, in one trend (`each`) or one situation.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("FIRST", name, alias, named=True)


def last(name: str | Scalar, alias: str | None = None) -> st.Output:
    """LAST value of an attribute, in one trend (`each`) or one situation.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("LAST", name, alias, named=True)


def nth(name: str, number: int, alias: str | None = None) -> st.Output:
    """An attribute of one event of a variable, in one trend (`each`): `nth("F.ip", 2)` is `F[2].ip`.

    Args:
        name: The attribute, as in "F.ip".
        number: Which event of the variable: 1 is the first, -1 the last.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument has a wrong type.
        LanguageError: The number is 0, or the attribute has no variable.
    """
    argument, number = read_attribute((name,), "nth: name"), check_number(number, "nth: number")
    if number == 0 or abs(number) >= 10**18 or len(argument.names) < 2:
        hint = 'write nth("F.ip", 1) for the first, nth("F.ip", -1) for the last'
        raise LanguageError([Problem("TW113", "events of a variable are numbered from 1", hint)])
    return st.Output(st.Aggregate(NTH, argument, parameter=number), check_optional_text(alias, "nth: alias"))


def median(name: str | Scalar, alias: str | None = None) -> st.Output:
    """MEDIAN of an attribute, in one trend (`each`).

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("MEDIAN", name, alias, named=True)


def percentile(name: str | Scalar, share: float, alias: str | None = None) -> st.Output:
    """PERCENTILE of an attribute, in one trend (`each`): `percentile("S.price", 0.95)`.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        share: The share of values below it, from 0 to 1.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument has a wrong type.
        LanguageError: The share is not from 0 to 1, or the expression is not of one event.
    """
    if isinstance(share, bool) or not isinstance(share, int | float):
        raise refuse("percentile: share", share, "a number", "give a number from 0 to 1")
    if not 0 <= share <= 1:
        message = f"{share} is not a share of values"
        raise LanguageError([Problem("TW260", message, "give a number from 0 to 1")])
    argument = _read_argument(name, "percentile: name")
    value = st.Aggregate("PERCENTILE", argument, parameter=float(share))
    return st.Output(value, check_optional_text(alias, "percentile: alias"))


def collect_list(name: str | Scalar, alias: str | None = None) -> st.Output:
    """COLLECT_LIST: the values of an attribute in one trend (`each`), in order and without NULLs.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("COLLECT_LIST", name, alias, named=True)


def collect_set(name: str | Scalar, alias: str | None = None) -> st.Output:
    """COLLECT_SET: the distinct values of an attribute in one trend (`each`), in order of their first occurrence.

    Args:
        name: The attribute, as in "S.price", or an expression of attributes of one variable.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is neither a string nor an expression.
        LanguageError: The expression is not of one event.
    """
    return _output("COLLECT_SET", name, alias, named=True)


def _read_argument(name: Any, what: str) -> st.Attribute | st.Calculated:
    if not isinstance(name, Scalar):
        return read_attribute((name,), what)
    argument = make_argument(name.tree)
    if isinstance(argument, Problem):
        raise LanguageError([argument])
    return argument


def _output(function: str, name: str | Scalar | None, alias: str | None, named: bool = False) -> st.Output:
    argument = _read_argument(name, f"{function}: name") if named or name is not None else None
    return st.Output(st.Aggregate(function, argument), check_optional_text(alias, f"{function}: alias"))


def trends(*shown: str) -> st.Return:
    """RETURN TRENDS: every trend, with its events in order.

    Args:
        *shown: Attributes of events to return, as in "S.price"; by default all that the query names.

    Raises:
        ArgumentError: An attribute is not a string.
    """
    return st.Return("trends", attributes=read_attributes(shown, "trends"))


def complete_trends(*shown: str) -> st.Return:
    """RETURN COMPLETE TRENDS: trends that are not part of a longer one.

    Args:
        *shown: Attributes of events to return, as in "S.price"; by default all that the query names.

    Raises:
        ArgumentError: An attribute is not a string.
    """
    return st.Return("trends", attributes=read_attributes(shown, "complete_trends"), complete=True)


def each(*outputs: st.Output | str) -> st.Return:
    """RETURN EACH: one row per trend.

    Args:
        *outputs: Outputs of a row: `count()`, `first("S.price")`, ..., or names of grouping attributes.

    Raises:
        ArgumentError: An output is neither an output nor a string.
    """
    return st.Return("each", read_outputs(outputs, "each"))


def rows(*shown: str) -> st.Return:
    """RETURN ROWS: one row per event of each trend.

    Args:
        *shown: Attributes of events to return, as in "S.price"; by default all that the query names.

    Raises:
        ArgumentError: An attribute is not a string.
    """
    return st.Return("rows", attributes=read_attributes(shown, "rows"))


def complete(returns: st.Return | Any) -> st.Return:
    """RETURN COMPLETE ...: only trends that are not part of a longer one.

    Args:
        returns: The result of `trends`, `rows` or `each`, or a list of outputs.

    Raises:
        ArgumentError: It is neither.
    """
    if not isinstance(returns, st.Return):
        returns = st.Return("aggregates", read_outputs(returns, "complete"))
    return replace(returns, complete=True)


def after_match(skip: st.AfterMatchKind, variable: str | None = None) -> st.AfterMatch:
    """AFTER MATCH SKIP: where the next match may begin.

    Args:
        skip: "past last", "next", or with a variable "first" or "last".
        variable: The variable whose first or last event is meant.

    Raises:
        ArgumentError: There is no such place, or the variable is missing or too much.
    """
    if skip not in ("past last", "next", "first", "last") or (skip in ("first", "last")) != (variable is not None):
        hint = 'write after_match("past last"), after_match("next") or after_match("first", "S")'
        raise refuse("after_match: skip", skip, "such a place", hint)
    return st.AfterMatch(skip, check_optional_text(variable, "after_match: variable"))


def limit(count: int) -> st.Choice:
    """LIMIT: at most this many trends per window and group, the first ones found.

    Args:
        count: The number of trends, 1 or more.

    Raises:
        ArgumentError: It is not an integer.
        LanguageError: It is below 1, or has more than 18 digits.
    """
    return _choice("limit", count)


def longest(count: int) -> st.Choice:
    """LONGEST: the longest trends of each window and group.

    Args:
        count: The number of trends, 1 or more.

    Raises:
        ArgumentError: It is not an integer.
        LanguageError: It is below 1, or has more than 18 digits.
    """
    return _choice("longest", count)


def sample(count: int, seed: int | None = None) -> st.Choice:
    """SAMPLE: a random sample of the trends of each window and group.

    Args:
        count: The number of trends, 1 or more.
        seed: Equal seeds draw equal trends; 0 by default.

    Raises:
        ArgumentError: An argument is not an integer.
        LanguageError: A number is too small, or has more than 18 digits.
    """
    return _choice("sample", count, seed)


def _choice(kind: st.ChoiceKind, count: int, seed: int | None = None) -> st.Choice:
    count = check_number(count, f"{kind}: count")
    seed = None if seed is None else check_number(seed, f"{kind}: seed")
    if not 1 <= count < 10**18 or not 0 <= (seed or 0) < 10**18:
        message = f"{kind.upper()} takes a whole number of 1 or more, and a seed of 0 or more"
        raise LanguageError([Problem("TW113", message, "of 18 digits at most")])
    return st.Choice(kind, count, seed)


def read_outputs(outputs: Any, what: str) -> tuple[st.Output, ...]:
    """A list of outputs; a plain name is an attribute."""
    hint = 'give a list of outputs and names, as in returns=["company", count()]'
    items: tuple[st.Output | str, ...] = check_all(outputs, (st.Output, str), what, hint)
    return tuple(st.Output(read_attribute((item,), what)) if isinstance(item, str) else item for item in items)
