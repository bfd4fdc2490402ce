"""Scalar expressions and conditions from Python."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

from trendweave.build.arguments import check_all, check_text, read_attribute, read_attributes, refuse
from trendweave.errors import ArgumentError, LanguageError, Problem, near_names
from trendweave.language import syntax_tree as st
from trendweave.language.functions import (
    CAST_TYPES,
    MAX_ROUNDED_DIGITS,
    OTHER_NAMES,
    SCALAR_FUNCTIONS,
    TRUNCATION_UNITS,
    argument_count,
)
from trendweave.language.parameters import write_value
from trendweave.language.regular_expressions import find_problem

Value: TypeAlias = "Scalar | bool | int | float | str | datetime | date | timedelta | None"


class Scalar:
    """A scalar expression, with comparisons and arithmetic. `&`, `|` and `~` are AND, OR and NOT."""

    __slots__ = ("tree",)
    __hash__ = None  # type: ignore[assignment]  # == makes a condition, so that no Scalar equals another

    def __init__(self, tree: st.Expression) -> None:
        self.tree = tree

    def __bool__(self) -> bool:
        message = "a condition of a query has no truth value in Python; join conditions with & and |, not and/or"
        raise ArgumentError([Problem("TW116", message, "write (a > 1) & (b > 2), with parentheses")])

    def __lt__(self, other: Value) -> Scalar:
        return self._compare("<", other)

    def __le__(self, other: Value) -> Scalar:
        return self._compare("<=", other)

    def __gt__(self, other: Value) -> Scalar:
        return self._compare(">", other)

    def __ge__(self, other: Value) -> Scalar:
        return self._compare(">=", other)

    # Conditions of a query, where `object` promises a bool.

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
        """Equal to one of the values: `x IN (1, 2)`.

        Args:
            *options: The values, at least one.

        Raises:
            ArgumentError: There are none, or one has no literal in a query.
        """
        if not options:
            raise ArgumentError([Problem("TW116", "is_in has no values", "give at least one: is_in(1, 2)")])
        return Scalar(st.InList(self.tree, tuple(lit(option).tree for option in options)))

    def between(self, low: Value, high: Value) -> Scalar:
        """Between two values, both included: `x BETWEEN 1 AND 9`.

        Args:
            low: The smaller value.
            high: The larger value.

        Raises:
            ArgumentError: A value has no literal in a query.
        """
        return Scalar(st.Between(self.tree, lit(low).tree, lit(high).tree))

    def is_null(self) -> Scalar:
        """Is NULL: `x IS NULL`."""
        return Scalar(st.IsNull(self.tree))

    def is_not_null(self) -> Scalar:
        """Is not NULL: `x IS NOT NULL`."""
        return Scalar(st.IsNull(self.tree, negated=True))

    def like(self, pattern: str) -> Scalar:
        """A string of this form: `s LIKE 'a%'`.

        Args:
            pattern: The form; `%` is any text, `_` any character.

        Raises:
            ArgumentError: The form is not a string.
        """
        if not isinstance(pattern, str):
            raise refuse("like: pattern", pattern, "a string", "write for example like('a%')")
        return Scalar(st.Like(self.tree, pattern))

    def rlike(self, pattern: str) -> Scalar:
        """A string that contains a match of a regular expression: `s RLIKE 'a+'`.

        Args:
            pattern: The expression, in the syntax that Java and RE2 share.

        Raises:
            ArgumentError: The expression is not a string.
            LanguageError: Engines interpret it differently.
        """
        if not isinstance(pattern, str):
            raise refuse("rlike: pattern", pattern, "a string", "write for example rlike('^a+')")
        problem = find_problem(pattern)
        if problem is not None:
            raise LanguageError([Problem("TW261", f"rlike: {problem}", "use the syntax that Java and RE2 share")])
        return Scalar(st.RLike(self.tree, pattern))

    def _compare(self, operator: st.ComparisonOperator, other: Value) -> Scalar:
        return Scalar(st.Comparison(operator, self.tree, lit(other).tree))

    def _arithmetic(self, operator: st.ArithmeticOperator, other: Value) -> Scalar:
        return Scalar(st.Arithmetic(operator, self.tree, lit(other).tree))


def attr(name: str, *more: str) -> Scalar:
    """An attribute of an event: `attr("S.price")`.

    Args:
        name: The variable and the column, separated by a dot; for situations only the column.
        *more: Pass a name that contains a dot in parts: `attr("S", "a.b")`.

    Raises:
        ArgumentError: A name is not a string.
    """
    return Scalar(read_attribute((name, *more), "attr: name"))


def next_of(name: str, *more: str) -> Scalar:
    """An attribute of the next event: `next_of("S.price")` is `NEXT(S).price`.

    Args:
        name: The variable and the column, separated by a dot.
        *more: As in `attr`.

    Raises:
        ArgumentError: A name is not a string, or there is no column.
    """
    variable, names = _split(name, more, "next_of")
    return Scalar(st.NextAttribute(variable, names))


def prev_of(name: str, *more: str) -> Scalar:
    """An attribute of the event directly before: `prev_of("S.price")` is `PREV(S).price`.

    Args:
        name: The variable and the column, separated by a dot.
        *more: As in `attr`.

    Raises:
        ArgumentError: A name is not a string, or there is no column.
    """
    variable, names = _split(name, more, "prev_of")
    return Scalar(st.PreviousAttribute(variable, names))


def first_of(name: str, *more: str) -> Scalar:
    """An attribute of a variable's first event of the trend: `first_of("S.price")` is `FIRST(S).price`.

    Args:
        name: The variable and the column, separated by a dot.
        *more: As in `attr`.

    Raises:
        ArgumentError: A name is not a string, or there is no column.
    """
    variable, names = _split(name, more, "first_of")
    return Scalar(st.Aggregate("FIRST", st.Attribute((variable, *names))))


def last_of(name: str, *more: str) -> Scalar:
    """An attribute of a variable's latest event: `last_of("A.price")` is `LAST(A).price`.

    Args:
        name: The variable and the column, separated by a dot.
        *more: As in `attr`.

    Raises:
        ArgumentError: A name is not a string, or there is no column.
    """
    variable, names = _split(name, more, "last_of")
    return Scalar(st.Aggregate("LAST", st.Attribute((variable, *names))))


def _split(name: str, more: tuple[str, ...], what: str) -> tuple[str, tuple[str, ...]]:
    variable, *names = read_attribute((name, *more), f"{what}: name").names
    if not names:
        raise ArgumentError([Problem("TW116", f"{what}: {variable} has no column", f'write {what}("S.price")')])
    return variable, tuple(names)


def value_of(output: st.Output) -> Scalar:
    """The value of an output, for arithmetic and comparisons: `value_of(total("P.amount")) / value_of(count())`.

    Args:
        output: The result of `count`, `total`, ...; its alias does not matter here.

    Raises:
        ArgumentError: It is not an output.
    """
    if not isinstance(output, st.Output):
        raise refuse("value_of: output", output, "an output", 'write value_of(total("P.amount"))')
    return Scalar(output.value)


def named(value: Scalar, alias: str | None = None) -> st.Output:
    """An expression over aggregates and grouping attributes as an output: `named(value_of(count()) + 1, "more")`.

    Args:
        value: The expression.
        alias: The name of the column; by default the text of the expression.

    Raises:
        ArgumentError: An argument has a wrong type.
    """
    if not isinstance(value, Scalar):
        raise refuse("named: value", value, "an expression", "write for example named(value_of(count()) + 1, 'more')")
    return st.Output(value.tree, None if alias is None else check_text(alias, "named: alias"))


def descending(value: Scalar | str) -> st.OrderItem:
    """Descending order: `descending("mean")`.

    Args:
        value: An expression, or the name of an output.

    Raises:
        ArgumentError: It is neither.
    """
    return st.OrderItem(_ordered(value), descending=True)


def read_order(items: Any) -> tuple[st.OrderItem, ...]:
    """What rows are ordered by: expressions and names, from small to large unless `descending` says otherwise."""
    hint = 'give a list, as in order_by=[descending("mean"), "company"]'
    given: tuple[Scalar | str | st.OrderItem, ...] = check_all(items, (Scalar, str, st.OrderItem), "order_by", hint)
    return tuple(item if isinstance(item, st.OrderItem) else st.OrderItem(_ordered(item)) for item in given)


def _ordered(value: Scalar | str) -> st.Expression:
    return value.tree if isinstance(value, Scalar) else read_attribute((value,), "order_by")


def lit(value: Value) -> Scalar:
    """A Python value as a literal.

    Args:
        value: None, a bool, int, float, str, datetime, date or timedelta, a numpy scalar, or an expression, which stays
            as it is.

    Raises:
        ArgumentError: A query has no literal for such a value.
    """
    if isinstance(value, Scalar):
        return value
    try:
        return Scalar(write_value(value))
    except LanguageError as error:
        told = [replace(problem, hint="give a number, a string, a time, or attr(...)") for problem in error.problems]
        raise ArgumentError(told) from None


def param(name: str) -> Scalar:
    """A parameter: `attr("S.price") > param("limit")` is `S.price > $limit`; `Query.bind` gives it a value.

    Args:
        name: Its name.

    Raises:
        ArgumentError: The name is no name.
    """
    if not re.fullmatch(r"[^\W\d]\w*", check_text(name, "param: name")):
        message = f"param: {name!r} is not a name"
        raise ArgumentError([Problem("TW116", message, "letters, digits and _, and no digit first")])
    return Scalar(st.Parameter(name))


def call(function: str, *arguments: Value) -> Scalar:
    """A scalar function such as ABS or COALESCE.

    Args:
        function: Its name, in any case.
        *arguments: Expressions or values.

    Raises:
        ArgumentError: An argument has a wrong type.
        LanguageError: There is no such function, or it takes another number of arguments.
    """
    name = check_text(function, "call: function").upper()
    name = OTHER_NAMES.get(name, name)
    if name not in SCALAR_FUNCTIONS:
        hint = near_names(name, SCALAR_FUNCTIONS) or f"the functions are {', '.join(SCALAR_FUNCTIONS)}"
        raise LanguageError([Problem("TW108", f"unknown function {function}", hint)])
    low, high = SCALAR_FUNCTIONS[name]
    if not low <= len(arguments) <= (high or len(arguments)):
        message = f"{function} does not take {len(arguments)}"
        raise LanguageError([Problem("TW109", message, f"give it {argument_count(name)}")])
    if name == "DATE_TRUNC":
        if str(arguments[0]).upper() not in TRUNCATION_UNITS:
            hint = f"give one of {', '.join(unit.lower() for unit in TRUNCATION_UNITS)}"
            raise LanguageError([Problem("TW260", f"DATE_TRUNC does not know the unit {arguments[0]}", hint)])
        arguments = (str(arguments[0]).upper(), *arguments[1:])
    if name == "ROUND" and len(arguments) == 2:
        digits = arguments[1]
        if type(digits) is not int or not 0 <= digits <= MAX_ROUNDED_DIGITS:
            hint = f"give a whole number from 0 to {MAX_ROUNDED_DIGITS}"
            raise LanguageError([Problem("TW260", "ROUND does not support that many digits", hint)])
    return Scalar(st.Call(name, tuple(lit(argument).tree for argument in arguments)))


def cast(value: Value, type: str) -> Scalar:
    """A value as another type: `CAST(S.text AS DOUBLE)`.

    Args:
        value: An expression or a value.
        type: The name of the type, in any case.

    Raises:
        ArgumentError: An argument has a wrong type.
        LanguageError: There is no such type.
    """
    name = check_text(type, "cast: type").upper()
    if name not in CAST_TYPES:
        hint = near_names(name, CAST_TYPES) or f"the types are {', '.join(sorted(set(CAST_TYPES.values())))}"
        raise LanguageError([Problem("TW114", f"CAST does not know the type {type}", hint)])
    return Scalar(st.Cast(lit(value).tree, CAST_TYPES[name]))


def case(*branches: tuple[Scalar, Value], otherwise: Value = None) -> Scalar:
    """The value of the first branch whose condition is true: `case((attr("S.ok"), 1), otherwise=0)`.

    Args:
        *branches: Conditions with their values, at least one.
        otherwise: The value if no condition is true; NULL by default.

    Raises:
        ArgumentError: There are no branches, or one is not a condition with a value.
    """
    hint = 'write case((attr("S.x") > 3, 1), otherwise=0)'
    if not branches:
        raise ArgumentError([Problem("TW116", "case has no branches", hint)])
    whens = []
    for branch in branches:
        if not isinstance(branch, tuple) or len(branch) != 2 or not isinstance(branch[0], Scalar):
            raise refuse("case: branch", branch, "a condition and a value", hint)
        whens.append(st.When(branch[0].tree, lit(branch[1]).tree))
    return Scalar(st.Case(tuple(whens), None if otherwise is None else lit(otherwise).tree))


def all_of(*parts: Scalar) -> Scalar:
    """All conditions hold: AND.

    Args:
        *parts: The conditions, at least one.

    Raises:
        ArgumentError: There are none, or one is not a condition.
    """
    return Scalar(st.all_of(read_conditions(parts, "all_of")))


def any_of(*parts: Scalar) -> Scalar:
    """At least one condition holds: OR.

    Args:
        *parts: The conditions, at least one.

    Raises:
        ArgumentError: There are none, or one is not a condition.
    """
    return Scalar(st.any_of(read_conditions(parts, "any_of")))


def read_conditions(values: Any, what: str) -> tuple[st.Expression, ...]:
    """A list of conditions, at least one, as trees."""
    conditions = check_all(values, Scalar, what, "give conditions, as in attr('S.price') > 10")
    if not conditions:
        raise ArgumentError([Problem("TW116", f"{what} has no conditions", "give at least one")])
    return tuple(condition.tree for condition in conditions)


def same(*names: str) -> Scalar:
    """All events of a trend have equal values: `same("company", "P.vehicle")` is `[company, P.vehicle]`.

    Args:
        *names: Attributes; with a variable before the dot, only its events are bound.

    Raises:
        ArgumentError: There are none, or one is not a string.
    """
    if not names:
        raise ArgumentError([Problem("TW116", "same has no attributes", 'give at least one: same("company")')])
    return Scalar(st.Equivalence(read_attributes(names, "same")))
