"""Row expressions over Arrow columns, a column at a time. `spark_sql` says the same in Spark SQL.

A value means what it means to Spark SQL's `try_` functions, whatever the session's settings: arithmetic that overflows,
division by zero and failed casts are NULL; NaN equals itself and is larger than every other number.

Columns are brought to one type per kind first, and results have these types too: see `common_types`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow import calendar
from trendweave.expressions.arrow.common_types import make_comparable, use_one_type
from trendweave.expressions.arrow.conditions import (
    compare,
    greatest,
    invert_if,
    is_between,
    is_in_list,
    least,
    take_first_true,
    take_first_valid,
    take_unless_equal,
)
from trendweave.expressions.arrow.exact_numbers import calculate_exactly, can_be_exact
from trendweave.expressions.arrow.numbers import (
    calculate,
    ceiling,
    divide,
    find_remainder,
    find_sign,
    floor,
    negate,
    round_half_up,
    take_absolute,
    truncate,
)
from trendweave.expressions.arrow.texts import (
    concatenate,
    count_characters,
    cut_substring,
    lower_case,
    match_like,
    match_regex,
    read_float,
    read_integer,
    trim,
    upper_case,
)
from trendweave.expressions.arrow.times import calculate_times, is_of_time, write_duration
from trendweave.expressions.arrow.values import (
    INTEGER,
    NULL,
    STRING,
    Value,
    join_chunks,
    spread,
    to_float,
    write_literal,
)
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path

__all__ = ["column_of", "evaluate", "evaluate_exactly", "is_true", "make_columns_comparable"]

Rows: TypeAlias = pa.Table | pa.RecordBatch


def evaluate(expression: st.Expression, table: Rows, later: Rows | None = None) -> pa.Array:
    """Evaluate a row expression in every row.

    Args:
        expression: An expression on one row, or with `NextAttribute` on two.
        table: The rows.
        later: The rows that `NextAttribute` reads: row i goes with row i of `table`.

    Returns:
        A column.
    """
    return spread(_Evaluation(table, later).value(expression), table.num_rows)


def evaluate_exactly(expression: st.Expression, table: Rows) -> pa.Array:
    """Evaluate an expression over results, whose whole numbers may have more than 64 bits and stay whole numbers.

    Args:
        expression: An expression on one row.
        table: The rows.

    Returns:
        A column.
    """
    return spread(_Evaluation(table, None, exact=True).value(expression), table.num_rows)


def column_of(table: Rows, path: Path) -> pa.Array:
    """Take a column as it is, in its own type, for keys and results. A field of a struct that is NULL is NULL.

    Args:
        table: The rows.
        path: The name of the column, behind those of the structs that it lies in; or what is calculated of columns.

    Returns:
        The column.
    """
    if isinstance(path[0], st.CalculatedName):
        return evaluate(path[0].expression, table)
    column = join_chunks(table.column(path[0]))
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


def make_columns_comparable(columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[pa.Array]:
    """Convert columns to the one type in which a condition would compare them.

    Args:
        columns: Columns that are to be compared with each other.

    Returns:
        The same columns in one type.
    """
    return make_comparable([use_one_type(join_chunks(column)) for column in columns])


def is_true(expression: st.Expression, table: Rows, later: Rows | None = None) -> np.ndarray:
    """Find the rows where a condition holds; NULL is not true.

    Args:
        expression: The condition.
        table: The rows.
        later: As for `evaluate`.

    Returns:
        True or False per row.
    """
    condition = pc.cast(evaluate(expression, table, later), pa.bool_())
    return pc.fill_null(condition, False).to_numpy(zero_copy_only=False)


class _Evaluation:
    """One expression over one table; a column that is used twice is prepared once."""

    def __init__(self, table: Rows, later: Rows | None, exact: bool = False) -> None:
        self._exact = exact
        self._table = table
        self._later = later
        self._columns: dict[tuple[bool, Path], pa.Array] = {}

    def value(self, expression: st.Expression) -> Value:
        match expression:
            case st.Literal(value=value):
                return write_literal(value)
            case st.TimestampLiteral(microseconds=microseconds):
                return pa.scalar(microseconds, pa.timestamp("us", "UTC"))
            case st.DateLiteral(days=days):
                return pa.scalar(days, pa.date32())
            case st.Duration(nanoseconds=nanoseconds):
                return write_duration(nanoseconds)
            case st.Attribute(names=path):
                return self._column(path, later=False)
            case st.NextAttribute(names=path):
                return self._column(path, later=True)
            case st.Negative(operand=operand):
                return negate(self.value(operand))
            case st.Arithmetic(operator=operator, left=left, right=right):
                return self._arithmetic(operator, self.value(left), self.value(right))
            case st.Comparison(operator=operator, left=left, right=right):
                return compare(operator, self.value(left), self.value(right))
            case st.AllOf(parts=parts):
                return reduce(pc.and_kleene, map(self._condition, parts))
            case st.AnyOf(parts=parts):
                return reduce(pc.or_kleene, map(self._condition, parts))
            case st.Inverse(operand=operand):
                return pc.invert(self._condition(operand))
            case st.InList(operand=operand, options=options, negated=negated):
                return invert_if(negated, is_in_list(self.value(operand), [self.value(option) for option in options]))
            case st.Between(operand=operand, low=low, high=high, negated=negated):
                return invert_if(negated, is_between(self.value(operand), self.value(low), self.value(high)))
            case st.IsNull(operand=st.Attribute(names=path), negated=negated):
                # Of the column itself: a value that no other expression can hold is not NULL for that.
                column = column_of(self._table, path)
                return pc.is_valid(column) if negated else pc.is_null(column)
            case st.IsNull(operand=operand, negated=negated):
                value = self.value(operand)
                return pc.is_valid(value) if negated else pc.is_null(value)
            case st.Like(operand=operand, pattern=pattern, negated=negated):
                return invert_if(negated, match_like(self.value(operand), pattern))
            case st.RLike(operand=operand, pattern=pattern, negated=negated):
                return invert_if(negated, match_regex(self.value(operand), pattern))
            case st.Cast(operand=operand, type=target):
                value = self.value(operand)
                return self._as_integer(value) if target == "BIGINT" else self._as_float(value)
            case st.Case(whens=whens, values=values):
                conditions = [self._condition(when.condition) for when in whens]
                return take_first_true(conditions, [self.value(value) for value in values])
            case st.Call(function="DATE_TRUNC", arguments=(st.Literal(value=unit), moment)):
                value = self.value(moment)
                if types.is_null(value.type):
                    return NULL
                return calendar.truncate_moment(str(unit), spread(value, self._rows))
            case st.Call(function="ROUND", arguments=(number, *digits)):
                value = self.value(number)
                kept = digits[0].value if digits and isinstance(digits[0], st.Literal) else 0
                return NULL if types.is_null(value.type) else round_half_up(spread(value, self._rows), int(kept or 0))
            case st.Call(function=function, arguments=arguments):
                return self._call(function, [self.value(argument) for argument in arguments])
        raise AssertionError(f"{type(expression).__name__} is not a row expression")

    def _condition(self, expression: st.Expression) -> Value:
        return pc.cast(self.value(expression), pa.bool_())

    def _column(self, path: Path, later: bool) -> pa.Array:
        if (later, path) not in self._columns:
            table = self._later if later else self._table
            assert table is not None, "an expression on two rows needs both"
            self._columns[later, path] = use_one_type(column_of(table, path))
        return self._columns[later, path]

    def _arithmetic(self, operator: st.ArithmeticOperator, left: Value, right: Value) -> Value:
        if types.is_null(left.type) or types.is_null(right.type):
            return NULL
        if is_of_time(left) and is_of_time(right):
            return calculate_times(operator, left, right)
        if operator == "/":
            return divide(to_float(left), to_float(right))
        if self._exact and can_be_exact(operator, left.type, right.type):
            return calculate_exactly(operator, spread(left, self._rows), spread(right, self._rows))
        if left.type != INTEGER or right.type != INTEGER:
            left, right = to_float(left), to_float(right)
        if operator == "%":
            return find_remainder(spread(left, self._rows), spread(right, self._rows))
        return calculate(operator, left, right)

    def _as_integer(self, value: Value) -> Value:
        if value.type == STRING:
            return read_integer(spread(value, self._rows))
        return truncate(value)

    def _as_float(self, value: Value) -> Value:
        if value.type == STRING:
            return read_float(spread(value, self._rows))
        return to_float(value)

    def _call(self, function: str, arguments: list[Value]) -> Value:
        if function in _OF_SEVERAL:
            return _OF_SEVERAL[function](arguments)
        if any(types.is_null(argument.type) for argument in arguments):
            return NULL
        if function in _OF_COLUMNS:
            return _OF_COLUMNS[function](*(spread(argument, self._rows) for argument in arguments))
        return _OF_ONE[function](*arguments)

    @property
    def _rows(self) -> int:
        return self._table.num_rows


#: Functions of any number of values, NULL literals among them.
_OF_SEVERAL: dict[str, Callable[[list[Value]], Value]] = {
    "COALESCE": take_first_valid,
    "NULLIF": take_unless_equal,
    "GREATEST": greatest,
    "LEAST": least,
}
#: Functions that are NULL where an argument is, of scalars as well as columns.
_OF_ONE: dict[str, Callable[..., Value]] = {
    "ABS": take_absolute,
    "CEIL": ceiling,
    "FLOOR": floor,
    "SIGN": find_sign,
    "SQRT": lambda value: pc.sqrt(to_float(value)),
    "LENGTH": count_characters,
    "TRIM": trim,
    "CONCAT": concatenate,
}
#: Functions that need whole columns.
_OF_COLUMNS: dict[str, Callable[..., pa.Array]] = {
    "LOWER": lower_case,
    "UPPER": upper_case,
    "SUBSTRING": cut_substring,
    "YEAR": calendar.find_year,
    "QUARTER": calendar.find_quarter,
    "MONTH": calendar.find_month,
    "DAY": calendar.find_day,
    "DAYOFWEEK": calendar.find_day_of_week,
    "WEEKDAY": calendar.find_weekday,
    "DAYOFYEAR": calendar.find_day_of_year,
    "WEEKOFYEAR": calendar.find_week,
    "HOUR": calendar.find_hour,
    "MINUTE": calendar.find_minute,
    "SECOND": calendar.find_second,
    "UNIX_TIMESTAMP": calendar.count_seconds,
    "DATE": calendar.to_date,
    "DATEDIFF": calendar.count_days,
}
