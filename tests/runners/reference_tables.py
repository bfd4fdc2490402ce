"""Streams of the reference twin as tables, and result tables as rows that its comparer reads."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    {
        "time": pa.int64(),
        "type": pa.string(),
        "x": pa.int64(),
        "y": pa.float64(),
        "s": pa.string(),
        "k": pa.int64(),
        "g": pa.string(),
    }
)


def table_of(events: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(events, schema=SCHEMA)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Whole numbers of any type as Python integers."""
    return [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value == int(value) else value
