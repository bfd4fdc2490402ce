"""Matches (or situations) as bars on a time line: one HTML page with an SVG drawing and nothing from elsewhere."""

from __future__ import annotations

from datetime import date, datetime
from html import escape
from typing import Any

import pyarrow as pa

from trendweave.planning.interval_plan import IntervalPlan

_COLOURS = ("#2f6f9f", "#c25b3f", "#5a8f4e", "#8a5fa8", "#b58a2b", "#4f8f8f", "#a34f6b", "#6b6b6b")
_MOST = 200
_LEFT, _WIDTH, _ROW = 230, 900, 16
_STYLE = """
body { font: 14px/1.4 sans-serif; margin: 2em; color: #222; background: #fff; }
pre { background: #f5f5f2; padding: 1em; overflow-x: auto; }
svg text { font: 11px sans-serif; fill: #333; }
.running { stroke-dasharray: 3 2; fill-opacity: 0.45; }
"""


def time_line_page(plan: IntervalPlan, result: pa.Table) -> str:
    rows = result.slice(0, _MOST).to_pylist()
    drawing = _counts(rows) if plan.returns == "counts" else _bars(plan, rows)
    note = f"<p>The first {_MOST:,} of {result.num_rows:,} rows.</p>" if result.num_rows > _MOST else ""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Matches on a time line</title>"
        f"<style>{_STYLE}</style></head><body>\n<pre>{escape(plan.text)}</pre>\n"
        f"<p>{result.num_rows:,} rows</p>{note}\n{drawing}\n</body></html>\n"
    )


def _bars(plan: IntervalPlan, rows: list[dict[str, Any]]) -> str:
    """One group of bars per row: each situation from its start to its end, or to the detection while it runs."""
    groups = [_situation_bars(plan, row) if plan.returns == "situations" else _match_bars(plan, row) for row in rows]
    moments = [_seconds(moment) for _, bars, detected in groups for _, start, end in bars for moment in (start, end)
               if moment is not None]  # fmt: skip
    moments += [_seconds(detected) for _, _, detected in groups if detected is not None]
    if not moments:
        return "<p>There is nothing to draw.</p>"
    low, high = min(moments), max(moments)
    scale = _WIDTH / ((high - low) or 1.0)
    parts: list[str] = []
    y = 24
    for label, bars, detected in groups:
        top = y
        parts.append(f"<text x='4' y='{y + 12}'>{escape(label[:36])}</text>")
        for number, start, end in bars:
            left = _LEFT + (_seconds(start) - low) * scale
            until = end if end is not None else detected
            right = _LEFT + ((_seconds(until) if until is not None else high) - low) * scale
            name = plan.names[number]
            shown = f"{name}: {start} to {'still running' if end is None else end}"
            parts.append(
                f"<rect x='{left:.1f}' y='{y + 2}' width='{max(right - left, 2):.1f}' height='{_ROW - 4}' rx='2' "
                f"fill='{_COLOURS[number % len(_COLOURS)]}' class='{'running' if end is None else ''}'>"
                f"<title>{escape(shown)}</title></rect>"
                f"<text x='{_LEFT - 6}' y='{y + 12}' text-anchor='end'>{escape(name)}</text>"
            )
            y += _ROW
        if detected is not None:
            x = _LEFT + (_seconds(detected) - low) * scale
            parts.append(
                f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{top}' y2='{y}' stroke='#222' stroke-width='1.5'>"
                f"<title>{escape(f'certain at {detected}')}</title></line>"
            )
        y += 8
    first, last = _shown(low, rows), _shown(high, rows)
    axis = (
        f"<line x1='{_LEFT}' x2='{_LEFT + _WIDTH}' y1='20' y2='20' stroke='#999'/>"
        f"<text x='{_LEFT}' y='14'>{escape(first)}</text>"
        f"<text x='{_LEFT + _WIDTH}' y='14' text-anchor='end'>{escape(last)}</text>"
    )
    width = _LEFT + _WIDTH + 20
    return f"<svg width='{width}' height='{y + 10}' viewBox='0 0 {width} {y + 10}'>{axis}{''.join(parts)}</svg>"


def _match_bars(plan: IntervalPlan, row: dict[str, Any]) -> tuple[str, list[tuple[int, Any, Any]], Any]:
    bars = [(k, row[f"{name}_start"], row[f"{name}_end"]) for k, name in enumerate(plan.names)]
    keys = [f"{output.name} {row[output.name]}" for output in plan.outputs if output.function is None]
    return ", ".join(keys), bars, row["time"]


def _situation_bars(plan: IntervalPlan, row: dict[str, Any]) -> tuple[str, list[tuple[int, Any, Any]], Any]:
    keys = [f"{name} {row[name]}" for name in plan.key_names]
    return ", ".join(keys), [(plan.names.index(row["name"]), row["start"], row["end"])], None


def _counts(rows: list[dict[str, Any]]) -> str:
    """Windows of counted matches, as a plain table."""
    if not rows:
        return "<p>There is nothing to draw.</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row.values()) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _seconds(moment: Any) -> float:
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=None).timestamp() if moment.tzinfo is None else moment.timestamp()
    return float(moment.toordinal() * 86_400 if isinstance(moment, date) else moment)


def _shown(seconds: float, rows: list[dict[str, Any]]) -> str:
    """The end of the axis, as the rows write times."""
    for row in rows:
        for value in row.values():
            if isinstance(value, datetime) and abs(_seconds(value) - seconds) < 1e-6:
                return value.replace(tzinfo=None).isoformat(sep=" ")
    return f"{seconds:,.6g}"
