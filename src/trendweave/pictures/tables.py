"""The first rows of a table, as HTML and as text."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from trendweave.pictures.picture import FONT
from trendweave.pictures.shapes import describe_trend, quote
from trendweave.pictures.times import write_far_times

_CELL = "padding: 3px 12px; border: none; border-bottom: 1px solid rgba(128, 128, 128, .25)"
_MOST_LETTERS = 120
#: What is no longer than this stands in one line.
_SHORT, _NO_BREAK = 40, "; white-space: nowrap"


def write_rows(table: pa.Table, most: int) -> str:
    """Write the first rows as an HTML table; numbers stand to the right, and times are
    written without their zones, which `find_zones` tells.

    Args:
        table: The rows.
        most: How many are written.
    """
    first = write_far_times(table.slice(0, most))
    columns = [_write_column(column) for column in first.columns]
    sides = [_side(_stands_right(field.type)) for field in table.schema]
    head = "".join(
        f'<th style="{_CELL}; text-align: {side}">{quote(field.name)}</th>'
        for field, side in zip(table.schema, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL}; text-align: {side}{_NO_BREAK if len(cell) <= _SHORT else ""}">{quote(cell)}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in zip(*columns, strict=True)
    )
    return (
        f'<table style="border-collapse: collapse; font: 13px {FONT}; border: none"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _write_column(column: pa.ChunkedArray) -> list[str]:
    values = column.to_pylist()
    if not pa.types.is_timestamp(column.type):
        return [_shorten(_write_cell(value)) for value in values]
    moments = [value for value in values if value is not None]
    finest = "minutes" if all(one.second == one.microsecond == 0 for one in moments) else "auto"
    return ["-" if one is None else one.replace(tzinfo=None).isoformat(" ", finest) for one in values]


def find_zones(schema: pa.Schema) -> list[str]:
    """The zones of times."""
    zones = [field.type.tz for field in schema if pa.types.is_timestamp(field.type) and field.type.tz is not None]
    return list(dict.fromkeys(zones))


def write_lines(table: pa.Table, most: int) -> str:
    """Write the first rows as text in columns.

    Args:
        table: The rows.
        most: How many are written.
    """
    cells = [table.column_names, *([_shorten(cell) for cell in row] for row in _read_cells(table, most))]
    if not table.num_columns:
        return ""
    widths = [max(len(row[place]) for row in cells) for place in range(table.num_columns)]
    right = [_stands_right(field.type) for field in table.schema]
    lines = []
    for row in cells:
        padded = zip(row, widths, right, strict=True)
        lines.append("  ".join(cell.rjust(width) if one else cell.ljust(width) for cell, width, one in padded).rstrip())
    return "\n".join(lines)


def _read_cells(table: pa.Table, most: int) -> list[list[str]]:
    return [[_write_cell(value) for value in row.values()] for row in write_far_times(table.slice(0, most)).to_pylist()]


def _write_cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list) and value and isinstance(value[0], dict) and {"variable", "time"} <= value[0].keys():
        return describe_trend(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _shorten(cell: str) -> str:
    return cell if len(cell) <= _MOST_LETTERS else cell[: _MOST_LETTERS - 1] + "…"


def _stands_right(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _side(right: bool) -> str:
    return "right" if right else "left"
