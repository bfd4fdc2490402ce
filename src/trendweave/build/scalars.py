"""Scalar expressions and conditions from Python."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias

from trendweave.build.arguments import check_all, check_text, read_attribute, read_attributes, refuse
from trendweave.errors import ArgumentError, LanguageError, Problem, near_names
from trendweave.language import syntax_tree as st
from trendweave.language.functions import CAST_TYPES, SCALAR_FUNCTIONS, argument_count

Value: TypeAlias = "Scalar | bool | int | float | str | datetime | date | timedelta | None"


class Scalar:
    """A scalar expression; comparisons and arithmetic give further ones. `&`, `|` and `~` are AND, OR and NOT."""

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
        """Without a value: `x IS NULL`."""
        return Scalar(st.IsNull(self.tree))

    def is_not_null(self) -> Scalar:
        """With a value: `x IS NOT NULL`."""
        return Scalar(st.IsNull(self.tree, negated=True))

    def like(self, pattern: str) -> Scalar:
        """A string of this form: `s LIKE 'a%'`.

        Args:
            pattern: The form; `%` is any text, `_` any character.

        Raises:
            ArgumentError: The form is no string.
        """
        if not isinstance(pattern, str):
            raise refuse("like: pattern", pattern, "a string", "write for example like('a%')")
        return Scalar(st.Like(self.tree, pattern))

    def _compare(self, operator: st.ComparisonOperator, other: Value) -> Scalar:
        return Scalar(st.Comparison(operator, self.tree, lit(other).tree))

    def _arithmetic(self, operator: st.ArithmeticOperator, other: Value) -> Scalar:
        return Scalar(st.Arithmetic(operator, self.tree, lit(other).tree))


def attr(name: str, *more: str) -> Scalar:
    """An attribute of an event: `attr("S.price")`.

    Args:
        name: The variable and the column, with a dot between them; of situations, the column alone.
        *more: A name that has a dot of its own is given in parts: `attr("S", "a.b")`.

    Raises:
        ArgumentError: A name is no string.
    """
    return Scalar(read_attribute((name, *more), "attr: name"))


def next_of(name: str, *more: str) -> Scalar:
    """An attribute of the event that follows: `next_of("S.price")` is `NEXT(S).price`.

    Args:
        name: The variable and the column, with a dot between them.
        *more: As in `attr`.

    Raises:
        ArgumentError: A name is no string, or there is no column.
    """
    variable, *names = read_attribute((name, *more), "next_of: name").names
    if not names:
        raise ArgumentError([Problem("TW116", f"next_of: {variable} has no column", 'write next_of("S.price")')])
    return Scalar(st.NextAttribute(variable, tuple(names)))


def lit(value: Value) -> Scalar:
    """A Python value as a literal.

    Args:
        value: None, a bool, int, float, str, datetime, date or timedelta, a numpy scalar, or an expression, which stays
            as it is.

    Raises:
        ArgumentError: A query has no literal for such a value.
    """
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
    given: Any = value
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = given.item()
    if not isinstance(value, bool | int | float | str | None):
        message = f"a query has no literal for {type(value).__name__}"
        raise ArgumentError([Problem("TW116", message, "give a number, a string, a time, or attr(...)")])
    return Scalar(st.Literal(value))


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
    if name not in SCALAR_FUNCTIONS:
        hint = near_names(name, SCALAR_FUNCTIONS) or f"the functions are {', '.join(SCALAR_FUNCTIONS)}"
        raise LanguageError([Problem("TW108", f"unknown function {function}", hint)])
    low, high = SCALAR_FUNCTIONS[name]
    if not low <= len(arguments) <= (high or len(arguments)):
        message = f"{function} does not take {len(arguments)}"
        raise LanguageError([Problem("TW109", message, f"give it {argument_count(name)}")])
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


def all_of(*parts: Scalar) -> Scalar:
    """All conditions hold: AND.

    Args:
        *parts: The conditions, at least one.

    Raises:
        ArgumentError: There are none, or one is no condition.
    """
    return Scalar(st.all_of(read_conditions(parts, "all_of")))


def any_of(*parts: Scalar) -> Scalar:
    """At least one condition holds: OR.

    Args:
        *parts: The conditions, at least one.

    Raises:
        ArgumentError: There are none, or one is no condition.
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
        ArgumentError: There are none, or one is no string.
    """
    if not names:
        raise ArgumentError([Problem("TW116", "same has no attributes", 'give at least one: same("company")')])
    return Scalar(st.Equivalence(read_attributes(names, "same")))
