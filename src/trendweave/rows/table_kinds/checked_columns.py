"""The columns of whatever a query can run on, as checks see them: without its rows, where they can be told so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from trendweave.events import ColumnType, Kind, Schema, schema_of
from trendweave.rows.given_times.kinds import read_kinds
from trendweave.rows.given_times.reading import TimeReading
from trendweave.rows.table_kinds.unknown_types import TypedQuery, find_numbers, settle_types
from trendweave.rows.tables import as_arrow
from trendweave.table_files import read_columns_of_file


def find_columns(source: Any, queries: Collection[TypedQuery], times: tuple[str, ...], reading: TimeReading) -> Schema:
    """The columns of events once their times are read.

    Args:
        source: A table of any kind, a schema of Arrow or Spark, or a mapping from names of columns to types.
        queries: What is checked.
        times: The columns that hold times.
        reading: How these are read.

    Raises:
        DataError: There are no columns in it, or times are not read so.
    """
    table = None if isinstance(source, Mapping) else _read_few_rows(source)
    if table is not None:
        source = settle_types(table, queries, times, reading)
    columns = schema_of(source)
    unknown = {name for name, found in columns.items() if found.kind is Kind.NULL}
    if unknown:
        columns |= dict.fromkeys(unknown & find_numbers(queries), ColumnType(Kind.FLOAT))
    return read_kinds(columns, times, reading)


def _read_few_rows(events: Any) -> pa.Table | None:
    """A table with the columns of events that have no schema of their own; None of those that have one."""
    package = type(events).__module__.split(".")[0]
    if package == "polars" and hasattr(events, "collect"):
        return as_arrow(events.head(0))[0]
    if isinstance(events, str | Path):
        return read_columns_of_file(events)
    without_rows = package == "pandas" and hasattr(events, "columns") and not len(events)
    return as_arrow(events)[0] if without_rows or isinstance(events, list | tuple) else None
