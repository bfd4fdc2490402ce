"""Expressions -> steps. What stands here for one pair of rows stands in `arrow.evaluate` for columns."""

from __future__ import annotations

from collections.abc import Callable

from trendweave.expressions.compiled import conditions as of_conditions
from trendweave.expressions.compiled import numbers as of_numbers
from trendweave.expressions.compiled.steps import Constant, Reference, Steps
from trendweave.expressions.compiled.values import LARGEST, NULL, SMALLEST, CannotCompile, Kind, Typed
from trendweave.language import syntax_tree as st


class Meaning:
    """Makes the steps of one expression.

    Args:
        steps: Where they go.
        column: A column by its name, as a value; raises `CannotCompile` for one without compiled form.
        presence: Whether a column's own value is not NULL.
    """

    def __init__(
        self, steps: Steps, column: Callable[[st.Attribute], Typed], presence: Callable[[st.Attribute], Reference]
    ) -> None:
        self._steps = steps
        self._column = column
        self._presence = presence

    def value(self, expression: st.Expression) -> Typed:
        """The value of an expression.

        Raises:
            CannotCompile: A part of it has no compiled form.
        """
        steps = self._steps
        match expression:
            case st.Literal(value=value):
                return _write_literal(value)
            case st.TimestampLiteral(microseconds=microseconds):
                return _counted(Kind.TIMESTAMP, microseconds, "us")
            case st.DateLiteral(days=days):
                return Typed(Kind.DATE, Constant(days))
            case st.Duration(nanoseconds=int() as nanoseconds):
                if nanoseconds % 1_000:
                    return _counted(Kind.DURATION, nanoseconds, "ns")
                return _counted(Kind.DURATION, nanoseconds // 1_000, "us")
            case st.Attribute():
                return self._column(expression)
            case st.Negative(operand=operand):
                return of_numbers.negate(steps, self.value(operand))
            case st.Arithmetic(operator=operator, left=left, right=right):
                return of_numbers.calculate(steps, operator, self.value(left), self.value(right))
            case st.Comparison(operator=operator, left=left, right=right):
                return of_conditions.compare(steps, operator, self.value(left), self.value(right))
            case st.AllOf(parts=parts):
                return of_conditions.all_of(steps, self._conditions(parts))
            case st.AnyOf(parts=parts):
                return of_conditions.any_of(steps, self._conditions(parts))
            case st.Inverse(operand=operand):
                return of_conditions.invert(steps, self.value(operand))
            case st.InList(operand=operand, options=options, negated=negated):
                found = of_conditions.is_in_list(steps, self.value(operand), [self.value(each) for each in options])
                return self._unless(negated, found)
            case st.Between(operand=operand, low=low, high=high, negated=negated):
                found = of_conditions.is_between(steps, self.value(operand), self.value(low), self.value(high))
                return self._unless(negated, found)
            case st.IsNull(operand=st.Attribute() as attribute, negated=negated):
                # Of the column itself: a value that no other expression can hold is not NULL for that.
                valid = self._presence(attribute)
                return Typed(Kind.BOOLEAN, valid if negated else steps.inverse(valid))
            case st.IsNull(operand=operand, negated=negated):
                valid = self.value(operand).valid
                return Typed(Kind.BOOLEAN, valid if negated else steps.inverse(valid))
            case st.Cast(operand=operand, type=target):
                cast = of_numbers.cast_to_integer if target == "BIGINT" else of_numbers.cast_to_float
                return cast(steps, self.value(operand))
            case st.Case(whens=whens, values=values):
                conditions = self._conditions(tuple(when.condition for when in whens))
                return of_conditions.take_first_true(steps, conditions, [self.value(value) for value in values])
            case st.Call(function=function, arguments=arguments):
                return self._call(function, [self.value(argument) for argument in arguments])
        raise CannotCompile(_NAMES.get(type(expression).__name__, type(expression).__name__))

    def _conditions(self, parts: tuple[st.Expression, ...]) -> list[Typed]:
        return [of_conditions.as_condition(self.value(part)) for part in parts]

    def _unless(self, negated: bool, condition: Typed) -> Typed:
        return of_conditions.invert(self._steps, condition) if negated else condition

    def _call(self, function: str, values: list[Typed]) -> Typed:
        steps = self._steps
        match function:
            case "COALESCE":
                return of_conditions.take_first_valid(steps, values)
            case "NULLIF":
                return of_conditions.take_unless_equal(steps, values)
            case "GREATEST" | "LEAST":
                return of_conditions.take_extreme(steps, function, values)
        if any(value.kind is Kind.NULL for value in values):
            return NULL
        match function:
            case "ABS":
                return of_numbers.take_absolute(steps, values[0])
            case "SIGN":
                return of_numbers.find_sign(steps, values[0])
            case "SQRT":
                return of_numbers.take_root(steps, values[0])
            case "FLOOR":
                return of_numbers.round_to(steps, "floor", values[0])
            case "CEIL":
                return of_numbers.round_to(steps, "ceiling", values[0])
            case "ROUND" if values[0].kind is Kind.INTEGER:
                return values[0]
        raise CannotCompile(f"the function {function}")


_NAMES = {"Like": "LIKE", "RLike": "RLIKE"}


def _write_literal(value: bool | int | float | str | None) -> Typed:
    match value:
        case None:
            return NULL
        case bool():
            return Typed(Kind.BOOLEAN, Constant(value))
        case int():
            return _counted(Kind.INTEGER, value, "")
        case float():
            return Typed(Kind.FLOAT, Constant(value))
    raise CannotCompile("texts")


def _counted(kind: Kind, number: int, unit: str) -> Typed:
    if not SMALLEST <= number <= LARGEST:
        raise CannotCompile("numbers of more than 64 bits")
    return Typed(kind, Constant(number), unit=unit)
