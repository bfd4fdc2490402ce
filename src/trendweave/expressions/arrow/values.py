"""Values of row expressions: their types, literals, and what holds for columns and scalars of every kind."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

#: A column, or a scalar where all rows have the same value.
Value: TypeAlias = pa.Array | pa.Scalar
INTEGER, FLOAT, STRING = pa.int64(), pa.float64(), pa.large_string()
SMALLEST, LARGEST = -(2**63), 2**63 - 1
TICKS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
NULL = pa.scalar(None, pa.null())
#: The answer to a question about NULL.
NO_ANSWER = pa.scalar(None, pa.bool_())


def write_literal(value: bool | int | float | str | None) -> pa.Scalar:
    """Write a Python value as a scalar of the one type of its kind.

    Args:
        value: What stands in the query.

    Returns:
        The scalar.
    """
    if value is None:
        return NULL
    return pa.scalar(value, {bool: pa.bool_(), int: INTEGER, float: FLOAT, str: STRING}[type(value)])


def join_chunks(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Make one array of a column.

    Args:
        column: An array, or chunks of one.

    Returns:
        The array; without a copy where there is one chunk.
    """
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def spread(value: Value, rows: int) -> pa.Array:
    """Repeat a scalar in every row.

    Args:
        value: A column, or a scalar where all rows have the same value.
        rows: How many rows there are.

    Returns:
        A column.
    """
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def fill_nulls(column: pa.Array) -> np.ndarray:
    """Read numbers, NULLs as 1: a divisor that harms nothing.

    Args:
        column: A column of numbers.

    Returns:
        The numbers.
    """
    return pc.fill_null(column, 1).to_numpy(zero_copy_only=False)


def keep_where(condition: Value, value: Value) -> Value:
    """Keep a value where a condition is true; elsewhere it is NULL.

    Args:
        condition: True, False or NULL.
        value: A column, or a scalar where all rows have the same value.

    Returns:
        The value.
    """
    return pc.if_else(condition, value, pa.scalar(None, value.type))


def drop_wrapped(wrapped: Value, approximate: Value) -> Value:
    """Make integers NULL that were computed modulo 2 ** 64 and went over.

    There they are at least 2 ** 64 off, while a float's rounding error is far smaller.

    Args:
        wrapped: The integers.
        approximate: The same, computed in floats.

    Returns:
        The integers that are right.
    """
    distance = pc.abs(pc.subtract(approximate, pc.cast(wrapped, FLOAT, safe=False)))
    return keep_where(pc.less(distance, 2.0**62), wrapped)


def to_float(value: Value) -> Value:
    """Convert a number, or a length of time in seconds, to float64.

    Args:
        value: A column, or a scalar where all rows have the same value.

    Returns:
        The floats.
    """
    if types.is_decimal(value.type):
        # Through text, because Arrow's own conversion does not round correctly.
        return pc.cast(pc.cast(value, STRING), FLOAT)
    if types.is_duration(value.type):
        ticks = pc.cast(pc.cast(value, INTEGER), FLOAT, safe=False)
        return pc.divide(ticks, float(TICKS_PER_SECOND[value.type.unit]))
    if types.is_boolean(value.type):
        value = pc.cast(value, INTEGER)
    return pc.cast(value, FLOAT, safe=False)
