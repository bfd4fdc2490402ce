"""The kinds in which values of several kinds meet."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.events import Kind
from trendweave.expressions.spark_sql.values import MOMENTS, Sql, write_literal

_MICROSECONDS_PER_DAY = 86_400_000_000


def find_common_kind(values: Sequence[Sql]) -> Kind:
    """Find the kind in which values meet.

    Args:
        values: Text with kinds.

    Returns:
        The kind.
    """
    kinds = {value.kind for value in values} - {Kind.NULL}
    if len(kinds) <= 1:
        return next(iter(kinds), Kind.NULL)
    if kinds <= MOMENTS:
        return Kind.TIMESTAMP
    return Kind.FLOAT if kinds & {Kind.FLOAT, Kind.DURATION} else Kind.DECIMAL


def convert_to_common_kind(values: Sequence[Sql]) -> list[Sql]:
    """Convert values to the kind in which they meet.

    Args:
        values: Text with kinds.

    Returns:
        The same values in one kind.
    """
    target = find_common_kind(values)
    return [_convert(value, target) for value in values]


def _convert(value: Sql, target: Kind) -> Sql:
    if value.kind in (target, Kind.NULL):
        return value
    match target:
        case Kind.FLOAT:
            return to_float(value)
        case Kind.TIMESTAMP:
            return Sql(f"TIMESTAMP_MICROS({count_microseconds(value)})", Kind.TIMESTAMP)
    return Sql(f"CAST({value.text} AS DECIMAL(20, 0))", Kind.DECIMAL)


def to_float(value: Sql) -> Sql:
    """Convert a number, or a length of time in seconds, to DOUBLE.

    Args:
        value: Text with its kind.

    Returns:
        The text.
    """
    if value.kind is Kind.FLOAT:
        return value
    if value.nanoseconds is not None:
        return write_literal(_seconds(value.nanoseconds))
    number = f"CAST({value.text} AS DOUBLE)"
    return Sql(f"({number} / 1000000D)" if value.kind is Kind.DURATION else number, Kind.FLOAT)


def _seconds(nanoseconds: int) -> float:
    """By one division of a number of the unit that Arrow columns would have, so that the last bit is the same."""
    return nanoseconds / 1e9 if nanoseconds % 1_000 else nanoseconds // 1_000 / 1e6


def count_microseconds(value: Sql) -> str:
    """Count microseconds since the epoch, or in a duration.

    Args:
        value: Text with its kind.

    Returns:
        The text of a BIGINT.
    """
    match value.kind:
        case Kind.TIMESTAMP:
            return f"UNIX_MICROS({value.text})"
        case Kind.DATE:
            return f"TRY_MULTIPLY(CAST(UNIX_DATE({value.text}) AS BIGINT), {_MICROSECONDS_PER_DAY}L)"
    return value.text
