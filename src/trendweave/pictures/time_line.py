"""Matches (or situations) as bars on a time line: one HTML page with an SVG drawing and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from trendweave.pictures.colours import assign_colours
from trendweave.pictures.texts import quote
from trendweave.pictures.times import seconds_of

_MOST = 200
_LEFT, _WIDTH, _ROW = 230, 900, 16
_STYLE = """
body { font: 14px/1.4 sans-serif; margin: 2em; color: #222; background: #fff; }
pre { background: #f5f5f2; padding: 1em; overflow-x: auto; }
svg text { font: 11px sans-serif; fill: #333; }
.running { stroke-dasharray: 3 2; fill-opacity: 0.45; }
"""
_NOTHING = "<p>There is nothing to draw.</p>"


@dataclass(frozen=True, slots=True)
class TimeLine:
    """What a picture has to know about an interval query.

    Attributes:
        text: The query, which stands above the drawing.
        returns: What a row is: a match, a situation, or counted matches of a window.
        situations: Names of situations, in the order of the query.
        keys: Columns that tell rows apart beside their times.
    """

    text: str
    returns: Literal["matches", "situations", "counts"]
    situations: tuple[str, ...]
    keys: tuple[str, ...]


class _Bar(NamedTuple):
    """A situation from its start to its end, which is None while it runs."""

    situation: str
    start: Any
    end: Any


class _Group(NamedTuple):
    """The bars of one row, and when it was detected, where that is known."""

    label: str
    bars: Sequence[_Bar]
    detected: Any


def draw_time_line(line: TimeLine, result: pa.Table) -> str:
    """Draw the first rows of an interval query; counted matches stand in a plain table.

    Args:
        line: What the query asks for.
        result: Its rows.

    Returns:
        An HTML page that needs nothing from elsewhere.
    """
    rows = result.slice(0, _MOST).to_pylist()
    drawing = _write_counts(rows) if line.returns == "counts" else _draw_rows(line, rows)
    note = f"<p>The first {_MOST:,} of {result.num_rows:,} rows.</p>" if result.num_rows > _MOST else ""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Matches on a time line</title>"
        f"<style>{_STYLE}</style></head><body>\n<pre>{quote(line.text)}</pre>\n"
        f"<p>{result.num_rows:,} rows</p>{note}\n{drawing}\n</body></html>\n"
    )


def _draw_rows(line: TimeLine, rows: list[dict[str, Any]]) -> str:
    """Draw one group of bars per row."""
    groups = [_read_situation(line, row) if line.returns == "situations" else _read_match(line, row) for row in rows]
    moments = [moment for group in groups for bar in group.bars for moment in (bar.start, bar.end)]
    moments += [group.detected for group in groups]
    seconds = [seconds_of(moment) for moment in moments if moment is not None]
    if not seconds:
        return _NOTHING
    low, high = min(seconds), max(seconds)
    scale = _WIDTH / ((high - low) or 1.0)
    colours = assign_colours(line.situations)
    parts: list[str] = []
    y = 24
    for group in groups:
        parts += _draw_group(group, y, low, high, scale, colours)
        y += _ROW * len(group.bars) + 8
    first, last = _write_moment(low, rows), _write_moment(high, rows)
    axis = (
        f"<line x1='{_LEFT}' x2='{_LEFT + _WIDTH}' y1='20' y2='20' stroke='#999'/>"
        f"<text x='{_LEFT}' y='14'>{quote(first)}</text>"
        f"<text x='{_LEFT + _WIDTH}' y='14' text-anchor='end'>{quote(last)}</text>"
    )
    width = _LEFT + _WIDTH + 20
    return f"<svg width='{width}' height='{y + 10}' viewBox='0 0 {width} {y + 10}'>{axis}{''.join(parts)}</svg>"


def _draw_group(group: _Group, top: int, low: float, high: float, scale: float, colours: dict[str, str]) -> list[str]:
    """Draw the bars of one row below each other; one that runs reaches to the detection."""
    parts = [f"<text x='4' y='{top + 12}'>{quote(group.label[:36])}</text>"]
    for place, (name, start, end) in enumerate(group.bars):
        y = top + _ROW * place
        left = _LEFT + (seconds_of(start) - low) * scale
        until = end if end is not None else group.detected
        right = _LEFT + ((seconds_of(until) if until is not None else high) - low) * scale
        shown = f"{name}: {start} to {'still running' if end is None else end}"
        parts.append(
            f"<rect x='{left:.1f}' y='{y + 2}' width='{max(right - left, 2):.1f}' height='{_ROW - 4}' rx='2' "
            f"fill='{colours[name]}' class='{'running' if end is None else ''}'>"
            f"<title>{quote(shown)}</title></rect>"
            f"<text x='{_LEFT - 6}' y='{y + 12}' text-anchor='end'>{quote(name)}</text>"
        )
    if group.detected is not None:
        x = _LEFT + (seconds_of(group.detected) - low) * scale
        parts.append(
            f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{top}' y2='{top + _ROW * len(group.bars)}' stroke='#222' "
            f"stroke-width='1.5'><title>{quote(f'certain at {group.detected}')}</title></line>"
        )
    return parts


def _read_match(line: TimeLine, row: dict[str, Any]) -> _Group:
    bars = [_Bar(name, row[f"{name}_start"], row[f"{name}_end"]) for name in line.situations]
    return _Group(_describe_keys(line, row), bars, row["time"])


def _read_situation(line: TimeLine, row: dict[str, Any]) -> _Group:
    return _Group(_describe_keys(line, row), [_Bar(row["name"], row["start"], row["end"])], None)


def _describe_keys(line: TimeLine, row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {row[name]}" for name in line.keys)


def _write_counts(rows: list[dict[str, Any]]) -> str:
    """Write windows of counted matches as a plain table."""
    if not rows:
        return _NOTHING
    head = "".join(f"<th>{quote(name)}</th>" for name in rows[0])
    cells = ["".join(f"<td>{quote(str(cell))}</td>" for cell in row.values()) for row in rows]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"


def _write_moment(seconds: float, rows: list[dict[str, Any]]) -> str:
    """Write the end of the axis as the rows write times."""
    for row in rows:
        for value in row.values():
            if isinstance(value, datetime) and abs(seconds_of(value) - seconds) < 1e-6:
                return value.replace(tzinfo=None).isoformat(sep=" ")
    return f"{seconds:,.6g}"
