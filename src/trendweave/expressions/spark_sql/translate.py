"""Every node of a row expression as Spark SQL."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.errors import Problem, raise_problems
from trendweave.events import Kind, Schema, find_column
from trendweave.expressions.spark_sql.conditions import (
    compare,
    invert_if,
    is_between,
    is_in_list,
    match_like,
    match_regex,
    take_first_true,
)
from trendweave.expressions.spark_sql.functions import call, cast
from trendweave.expressions.spark_sql.numbers import calculate, negate
from trendweave.expressions.spark_sql.values import (
    NO_ANSWER,
    Sql,
    refuse_finer_than_microseconds,
    spark_column,
    write_column,
    write_duration,
    write_literal,
)
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path


def spark_sql(expression: st.Expression, schema: Schema) -> str:
    """Write a row expression as Spark SQL.

    Args:
        expression: An expression on one row.
        schema: The kinds of the columns that it reads.

    Returns:
        The text.

    Raises:
        LanguageError: The expression has something that Spark lacks.
    """
    result = _Translation(schema).sql(expression)
    if result.kind is not Kind.DURATION:
        return result.text
    refuse_finer_than_microseconds(expression)
    return f"(INTERVAL '0.000001' SECOND * {result.text})"


class _Translation:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def sql(self, expression: st.Expression) -> Sql:
        match expression:
            case st.Literal(value=value):
                return write_literal(value)
            case st.TimestampLiteral(microseconds=microseconds):
                return Sql(f"TIMESTAMP_MICROS({microseconds}L)", Kind.TIMESTAMP)
            case st.DateLiteral(days=days):
                return Sql(f"DATE_FROM_UNIX_DATE({days})", Kind.DATE)
            case st.Duration(nanoseconds=nanoseconds):
                return write_duration(nanoseconds)
            case st.Attribute(names=path):
                return self._column(path)
            case st.Negative(operand=operand):
                return negate(self.sql(operand))
            case st.Arithmetic(operator=operator, left=left, right=right):
                return calculate(expression, operator, self.sql(left), self.sql(right))
            case st.Comparison(operator=operator, left=left, right=right):
                return compare(operator, self.sql(left), self.sql(right))
            case st.AllOf(parts=parts):
                return self._join("AND", parts)
            case st.AnyOf(parts=parts):
                return self._join("OR", parts)
            case st.Inverse(operand=operand):
                return invert_if(True, self._condition(operand))
            case st.InList(operand=operand, options=options, negated=negated):
                return invert_if(negated, is_in_list(self.sql(operand), [self.sql(option) for option in options]))
            case st.Between(operand=operand, low=low, high=high, negated=negated):
                return invert_if(negated, is_between(self.sql(operand), self.sql(low), self.sql(high)))
            case st.IsNull(operand=operand, negated=negated):
                return Sql(f"({self.sql(operand).text} IS {'NOT ' if negated else ''}NULL)", Kind.BOOLEAN)
            case st.Like(operand=operand, pattern=pattern, negated=negated):
                return invert_if(negated, match_like(self.sql(operand), pattern))
            case st.RLike(operand=operand, pattern=pattern, negated=negated):
                return invert_if(negated, match_regex(self.sql(operand), pattern))
            case st.Cast(operand=operand, type=target):
                return cast(self.sql(operand), target)
            case st.Case(whens=whens, values=values):
                conditions = [self._condition(when.condition) for when in whens]
                return take_first_true(conditions, [self.sql(value) for value in values])
            case st.Call(function=function, arguments=arguments):
                return call(function, [self.sql(argument) for argument in arguments])
        raise AssertionError(f"{type(expression).__name__} is not an expression on one row")

    def _column(self, path: Path) -> Sql:
        found = find_column(self._schema, path)
        if isinstance(found, Problem):
            raise_problems([found])
        assert not isinstance(found, Problem), "it was raised"
        return Sql(write_column(spark_column(path), found.kind), found.kind)

    def _condition(self, expression: st.Expression) -> Sql:
        condition = self.sql(expression)
        return NO_ANSWER if condition.kind is Kind.NULL else condition

    def _join(self, word: str, parts: Sequence[st.Expression]) -> Sql:
        return Sql("(" + f" {word} ".join(self._condition(part).text for part in parts) + ")", Kind.BOOLEAN)
