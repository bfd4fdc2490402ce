"""Whether counts of a result are logarithms, which nobody can see on them: a float may be either."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

#: Where the metadata of a result's schema tells how its counts are written.
NUMBERS = "trendweave.numbers"
_LOG2 = "log2"


def mark_logarithms(rows: pa.Table) -> pa.Table:
    """Say in the metadata of a result's schema that its counts are logarithms."""
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), NUMBERS: _LOG2})


def are_logarithms(table: Any) -> bool:
    """Whether a result in this process says that its counts are logarithms.

    Args:
        table: A table of any kind; Arrow's has metadata, that of pandas attributes, and others say nothing.
    """
    if isinstance(table, pa.Table | pa.RecordBatch):
        return (table.schema.metadata or {}).get(NUMBERS.encode()) == _LOG2.encode()
    told = getattr(table, "attrs", None)
    return isinstance(told, dict) and told.get(NUMBERS) == _LOG2
