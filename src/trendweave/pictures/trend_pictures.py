"""Trends on a time line: one picture per group, one line per trend, events coloured by variable."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from trendweave.cli.trend_text import trend_text
from trendweave.pictures.axes import Axis, number_axis, time_axis

MOST_GROUPS, MOST_TRENDS = 12, 30
_WIDTH, _LEFT, _RIGHT, _TOP, _LINE, _BOTTOM = 920, 24, 24, 58, 22, 40
_COLOURS = ("#0f7fc4", "#d95f02", "#2a9d6b", "#b8549c", "#a8870a", "#6a6fd0", "#c4433f", "#6b7785")
_STYLE = """
body { font: 14px system-ui, sans-serif; max-width: 960px; margin: 2em auto; color: #24292f; background: #ffffff; }
svg { font: 13px system-ui, sans-serif; width: 100%; height: auto; color: inherit; display: block; margin: 1em 0; }
svg text { fill: currentColor; }
.title { font-size: 16px; font-weight: 600; }
.grid { stroke: currentColor; stroke-opacity: .14; }
.trend { stroke: currentColor; stroke-opacity: .45; }
pre { overflow-x: auto; }
@media (prefers-color-scheme: dark) { body { color: #e6e8eb; background: #16191d; } }
"""


def trends_page(result: pa.Table, query: str) -> str:
    """An HTML page that needs nothing else: some trends of each group, spread over all that the result has."""
    groups = _groups(result)
    variables = list(dict.fromkeys(event["variable"] for _, rows in groups for row in rows for event in row["events"]))
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(variables)}
    pictures = [_picture(title, rows, colours, result.schema) for title, rows in groups[:MOST_GROUPS]]
    shown = sum(min(len(rows), MOST_TRENDS) for _, rows in groups[:MOST_GROUPS])
    note = f"{shown:,} of {result.num_rows:,} trends"
    if len(groups) > MOST_GROUPS:
        note += f", {MOST_GROUPS} of {len(groups):,} groups"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Trends</title><style>{_STYLE}</style>'
        f"</head><body>\n<h1>Trends</h1>\n<pre>{escape(query)}</pre>\n<p>{note}. "
        "Hold the pointer over an event to read its trend.</p>\n" + "\n".join(pictures) + "\n</body></html>\n"
    )


def write_trends_page(path: Path, result: pa.Table, query: str) -> None:
    path.write_text(trends_page(result, query), encoding="utf-8")


def _groups(result: pa.Table) -> list[tuple[str, list[dict[str, Any]]]]:
    """Rows by group; of a result without grouping attributes, all of them."""
    names = [name for name in result.column_names if name not in _NO_GROUP]
    found: dict[str, list[dict[str, Any]]] = {}
    for row in result.to_pylist():
        title = ", ".join(f"{name} {row[name]}" for name in names)
        found.setdefault(title, []).append(row)
    return list(found.items())


_NO_GROUP = ("window_start", "window_end", "time", "length", "events")


def _picture(title: str, rows: list[dict[str, Any]], colours: dict[str, str], schema: pa.Schema) -> str:
    step = max(1, len(rows) // MOST_TRENDS)
    chosen = rows[::step][:MOST_TRENDS]
    moments = [_seconds(event["time"]) for row in chosen for event in row["events"]]
    low, high = min(moments), max(moments)
    in_time = pa.types.is_timestamp(schema.field("events").type.value_type.field("time").type)
    axis = (time_axis if in_time else number_axis)(low, max(high, low + 1), _LEFT + 12, _WIDTH - _RIGHT - 12)
    bottom = _TOP + _LINE * len(chosen)
    used = [name for name in colours if any(event["variable"] == name for row in chosen for event in row["events"])]
    parts = [f'<svg viewBox="0 0 {_WIDTH} {bottom + _BOTTOM}" role="img">']
    parts.append(f'<text class="title" x="{_LEFT}" y="20">{escape(title or "all trends")}</text>')
    parts += _legend(used, colours)
    parts += _grid(axis, bottom)
    for place, row in enumerate(chosen):
        parts += _trend(row, _TOP + _LINE * place + _LINE / 2, axis, colours)
    return "\n".join([*parts, "</svg>"])


def _legend(names: list[str], colours: dict[str, str]) -> list[str]:
    parts, x = [], float(_LEFT)
    for name in names:
        parts.append(f'<circle cx="{x + 5:.1f}" cy="39" r="5" fill="{colours[name]}"/>')
        parts.append(f'<text x="{x + 14:.1f}" y="43">{escape(name)}</text>')
        x += 28 + 7.4 * len(name)
    return parts


def _grid(axis: Axis, bottom: float) -> list[str]:
    parts = []
    for tick in axis.ticks:
        x = axis.place(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{escape(axis.label(tick))}</text>')
    return parts


def _trend(row: dict[str, Any], y: float, axis: Axis, colours: dict[str, str]) -> list[str]:
    places = [(axis.place(_seconds(event["time"])), event) for event in row["events"]]
    told = escape(trend_text(row["events"]))
    parts = [f'<line class="trend" x1="{places[0][0]:.1f}" x2="{places[-1][0]:.1f}" y1="{y}" y2="{y}"/>']
    for x, event in places:
        circle = f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{colours[event["variable"]]}">'
        parts.append(f"{circle}<title>{told}</title></circle>")
    return parts


def _seconds(moment: Any) -> float:
    return float(moment.timestamp()) if hasattr(moment, "timestamp") else float(moment)
