"""Rows as people read them at a terminal, and as text for files that know no lists."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trendweave.pictures import describe_trend
from trendweave.pictures.times import write_far_times

_MOST_ROWS = 40
_BARS = " ▁▂▃▄▅▆▇█"


def print_table(console: Console, table: pa.Table, most_rows: int = _MOST_ROWS) -> None:
    """Print the first rows of a table, and how many there are of more."""
    console.print(make_rich_table(table.slice(0, most_rows)))
    if table.num_rows > most_rows:
        console.print(f"... and {table.num_rows - most_rows:,} more of {table.num_rows:,} rows")


def make_rich_table(table: pa.Table) -> Table:
    """Make a table for a terminal; numbers stand to the right."""
    shown = Table(header_style="bold")
    for field in table.schema:
        numeric = not (pa.types.is_string(field.type) or pa.types.is_temporal(field.type))
        shown.add_column(Text(field.name), justify="right" if numeric else "left", overflow="fold")
    for row in write_far_times(table).to_pylist():
        shown.add_row(*(Text(write_cell(value)) for value in row.values()))
    return shown


def write_cell(value: Any) -> str:
    """Write a value for people."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        # Zones are those of the time column, the same in every row; a table has no room to repeat them.
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def draw_bars(values: Iterable[float]) -> str:
    """Draw one character per value, as high as the value is on a logarithmic scale; 0 is a blank."""
    heights = [math.log2(1 + value) for value in values]
    most = max(heights, default=0.0) or 1.0
    return "".join(_BARS[math.ceil(height / most * 8)] for height in heights)


def write_lists_as_text(table: pa.Table) -> pa.Table:
    """Replace the list of a trend's events by one text, `A 1 x=5 -> B 3 x=7`, other lists by JSON, `["u","v"]`, and
    times of far years by ISO 8601."""
    table = write_far_times(table)
    for place, field in enumerate(table.schema):
        if not pa.types.is_list(field.type):
            continue
        write = describe_trend if field.name == "events" and pa.types.is_struct(field.type.value_type) else _write_json
        texts = [None if values is None else write(values) for values in table.column(place).to_pylist()]
        table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def _write_json(values: list[object]) -> str:
    """As Spark writes it, which has no room between values."""
    return json.dumps(values, default=str, ensure_ascii=False, separators=(",", ":"))
