"""Trends on a time line: one picture per group, one line per trend, events coloured by variable."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from trendweave.pictures.axes import Axis, make_number_axis, make_time_axis
from trendweave.pictures.colours import assign_colours
from trendweave.pictures.texts import describe_trend, quote
from trendweave.pictures.times import seconds_of

MOST_GROUPS, MOST_TRENDS = 12, 30
_WIDTH, _LEFT, _RIGHT, _TOP, _LINE, _BOTTOM = 920, 24, 24, 58, 22, 40
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


def draw_trends(result: pa.Table, query: str) -> str:
    """Draw some trends of each group, spread over all that a result has.

    Args:
        result: Rows of a query that returns trends.
        query: Its text, which stands above the pictures.

    Returns:
        An HTML page that needs nothing from elsewhere.
    """
    groups = _group_rows(result)
    colours = assign_colours(event["variable"] for _, rows in groups for row in rows for event in row["events"])
    pictures = [_draw_group(title, rows, colours, result.schema) for title, rows in groups[:MOST_GROUPS]]
    shown = sum(min(len(rows), MOST_TRENDS) for _, rows in groups[:MOST_GROUPS])
    note = f"{shown:,} of {result.num_rows:,} trends"
    if len(groups) > MOST_GROUPS:
        note += f", {MOST_GROUPS} of {len(groups):,} groups"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Trends</title><style>{_STYLE}</style>'
        f"</head><body>\n<h1>Trends</h1>\n<pre>{quote(query)}</pre>\n<p>{note}. "
        "Hold the pointer over an event to read its trend.</p>\n" + "\n".join(pictures) + "\n</body></html>\n"
    )


def _group_rows(result: pa.Table) -> list[tuple[str, list[dict[str, Any]]]]:
    """Sort rows by group; of a result without grouping attributes, all of them."""
    names = [name for name in result.column_names if name not in _NO_GROUP]
    found: dict[str, list[dict[str, Any]]] = {}
    for row in result.to_pylist():
        title = ", ".join(f"{name} {row[name]}" for name in names)
        found.setdefault(title, []).append(row)
    return list(found.items())


_NO_GROUP = ("window_start", "window_end", "time", "length", "events")


def _draw_group(title: str, rows: list[dict[str, Any]], colours: dict[str, str], schema: pa.Schema) -> str:
    step = max(1, len(rows) // MOST_TRENDS)
    chosen = rows[::step][:MOST_TRENDS]
    moments = [seconds_of(event["time"]) for row in chosen for event in row["events"]]
    low, high = min(moments), max(moments)
    in_time = pa.types.is_timestamp(schema.field("events").type.value_type.field("time").type)
    axis = (make_time_axis if in_time else make_number_axis)(low, max(high, low + 1), _LEFT + 12, _WIDTH - _RIGHT - 12)
    bottom = _TOP + _LINE * len(chosen)
    used = [name for name in colours if any(event["variable"] == name for row in chosen for event in row["events"])]
    parts = [f'<svg viewBox="0 0 {_WIDTH} {bottom + _BOTTOM}" role="img">']
    parts.append(f'<text class="title" x="{_LEFT}" y="20">{quote(title or "all trends")}</text>')
    parts += _draw_legend(used, colours)
    parts += _draw_grid(axis, bottom)
    for place, row in enumerate(chosen):
        parts += _draw_trend(row, _TOP + _LINE * place + _LINE / 2, axis, colours)
    return "\n".join([*parts, "</svg>"])


def _draw_legend(names: list[str], colours: dict[str, str]) -> list[str]:
    parts, x = [], float(_LEFT)
    for name in names:
        parts.append(f'<circle cx="{x + 5:.1f}" cy="39" r="5" fill="{colours[name]}"/>')
        parts.append(f'<text x="{x + 14:.1f}" y="43">{quote(name)}</text>')
        x += 28 + 7.4 * len(name)
    return parts


def _draw_grid(axis: Axis, bottom: float) -> list[str]:
    parts = []
    for tick in axis.ticks:
        x = axis.place(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{quote(axis.label(tick))}</text>')
    return parts


def _draw_trend(row: dict[str, Any], y: float, axis: Axis, colours: dict[str, str]) -> list[str]:
    places = [(axis.place(seconds_of(event["time"])), event) for event in row["events"]]
    label = quote(describe_trend(row["events"]))
    parts = [f'<line class="trend" x1="{places[0][0]:.1f}" x2="{places[-1][0]:.1f}" y1="{y}" y2="{y}"/>']
    for x, event in places:
        circle = f'<circle cx="{x:.1f}" cy="{y}" r="5" fill="{colours[event["variable"]]}">'
        parts.append(f"{circle}<title>{label}</title></circle>")
    return parts
