"""Ranges of values of a column, and the ones that a condition leaves: what an index can be asked for.

Only comparisons of a column with a constant of its own kind are understood; whatever else stands in a condition counts
as true, so that a range may be too wide, never too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pyarrow as pa
import pyarrow.types as types

from trendweave.expressions.arrow.evaluate import evaluate
from trendweave.language import syntax_tree as st

Constant: TypeAlias = int | float | str | datetime
Ask: TypeAlias = tuple[st.ComparisonOperator, Constant]

#: Beyond this, whole numbers and floats are no longer the same numbers.
_EXACT = 2**53
_ONE_ROW = pa.table({"": pa.array([0])})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Range:
    """Values between two bounds; None: no bound. An open bound is left out itself."""

    low: Constant | None = None
    high: Constant | None = None
    low_open: bool = False
    high_open: bool = False

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The comparisons that all of its values meet, and no others."""
        if self.low is not None and self.low == self.high:
            return (("=", self.low),)
        found: list[Ask] = []
        if self.low is not None:
            found.append((">" if self.low_open else ">=", self.low))
        if self.high is not None:
            found.append(("<" if self.high_open else "<=", self.high))
        return tuple(found)

    @property
    def is_empty(self) -> bool:
        """Whether it has no value."""
        if self.low is None or self.high is None:
            return False
        beyond: bool = self.low > self.high  # type: ignore[operator]
        return beyond or (self.low == self.high and (self.low_open or self.high_open))

    def and_(self, other: Range) -> Range:
        """The values that both have, which are of one kind."""
        low, low_open = self.low, self.low_open
        if low is None or (other.low is not None and other.low > low):  # type: ignore[operator]
            low, low_open = other.low, other.low_open
        elif other.low == low:
            low_open |= other.low_open
        high, high_open = self.high, self.high_open
        if high is None or (other.high is not None and other.high < high):  # type: ignore[operator]
            high, high_open = other.high, other.high_open
        elif other.high == high:
            high_open |= other.high_open
        return Range(low, high, low_open, high_open)

    def __str__(self) -> str:
        return " and ".join(f"{operator} {value!r}" for operator, value in self.asks) or "any value"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column is compared with a constant of its kind."""

    column: str
    operator: st.ComparisonOperator
    constant: Constant

    @property
    def range(self) -> Range | None:
        """The values that it leaves; None where they are two ranges."""
        match self.operator:
            case "=":
                return Range(self.constant, self.constant)
            case "<" | "<=":
                return Range(high=self.constant, high_open=self.operator == "<")
            case ">" | ">=":
                return Range(low=self.constant, low_open=self.operator == ">")
        return None


def read_comparison(condition: st.Expression, schema: pa.Schema) -> Comparison | None:
    """A comparison of a column with a constant of its kind; None where it is none."""
    if not isinstance(condition, st.Comparison):
        return None
    left, right, operator = condition.left, condition.right, condition.operator
    if not isinstance(left, st.Attribute):
        left, right, operator = right, left, st.MIRRORED[operator]
    if not isinstance(left, st.Attribute) or len(left.names) != 1 or left.names[0] not in schema.names:
        return None
    constant = read_constant(right, schema.field(left.names[0]).type)
    return None if constant is None else Comparison(left.names[0], operator, constant)


def read_constant(expression: st.Expression, kind: pa.DataType) -> Constant | None:
    """The value of an expression without columns, if values of a column of this type are compared with it as they
    are."""
    if any(isinstance(node, st.Attribute | st.NextAttribute | st.PreviousAttribute) for node in expression.walk()):
        return None
    if isinstance(expression, st.TimestampLiteral | st.DateLiteral):
        return _read_time(expression) if types.is_timestamp(kind) else None
    value = evaluate(expression, _ONE_ROW)[0].as_py()
    if isinstance(value, str):
        return value if types.is_string(kind) or types.is_large_string(kind) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if types.is_floating(kind) or (types.is_integer(kind) and not types.is_uint64(kind)):
        mixed = isinstance(value, float) or types.is_floating(kind)
        return None if math.isnan(value) or (mixed and math.isfinite(value) and abs(value) > _EXACT) else value
    return None


def _read_time(expression: st.TimestampLiteral | st.DateLiteral) -> datetime | None:
    try:
        return _EPOCH + (
            timedelta(days=expression.days)
            if isinstance(expression, st.DateLiteral)
            else timedelta(microseconds=expression.microseconds)
        )
    except OverflowError:
        return None
