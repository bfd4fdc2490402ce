"""Streams with all kinds of numbers as tables, and result rows in which whole numbers and decimals are exact."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from tests.reference import comparer
from tests.reference.query import Query
from tests.runners.reference_tables import SCHEMA as FEWER

SCHEMA = pa.schema([*FEWER, pa.field("d", pa.decimal128(10, 2)), pa.field("e", pa.date32())])


def table_of(events: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(events, schema=SCHEMA)


def exact_rows(found: list[dict[str, Any]], query: Query) -> list[dict[str, Any]]:
    """Numbers as fractions, also those that came as text; doubles and everything else as they are."""
    numbers = {output.column for output in query.aggregates}
    return [{name: _exact(value, name in numbers) for name, value in row.items()} for row in found]


def _exact(value: Any, is_number: bool) -> Any:
    if isinstance(value, int | Decimal) or (is_number and isinstance(value, str)):
        return Fraction(value)
    return value


def assert_same_rows(
    expected: list[dict[str, Any]], found: pa.Table | list[dict[str, Any]], query: Query, context: str
) -> None:
    """Doubles must be the nearest ones, up to a few units of their last place."""
    plain = found.to_pylist() if isinstance(found, pa.Table) else found
    comparer.assert_same_rows(exact_rows(expected, query), exact_rows(plain, query), context, relative_tolerance=1e-15)
