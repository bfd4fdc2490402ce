"""Charts as SVG, alone or in an HTML page. They need no network and no other package, and suit light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from trendweave.errors import DataError, OptionError, Problem
from trendweave.pictures.axes import Axis, make_counting_axis, make_number_axis, make_time_axis, name_days, write_power
from trendweave.pictures.colours import COLOURS
from trendweave.pictures.texts import quote
from trendweave.pictures.times import seconds_of_column

_WIDTH, _HEIGHT = 920, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 24, 76, 58
_MOST_SERIES = len(COLOURS)
_MOST_MARKS = 400
#: The width of a letter, about.
_LETTER = 7.4
_STYLE = """
.trend-chart { font: 13px system-ui, sans-serif; width: 100%; height: auto; color: #24292f; }
.trend-chart text { fill: currentColor; }
.trend-chart .title { font-size: 17px; font-weight: 600; }
.trend-chart .grid { stroke: currentColor; stroke-opacity: .14; }
.trend-chart .axis { stroke: currentColor; stroke-opacity: .55; }
.trend-chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) { .trend-chart { color: #e6e8eb; } }
"""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: moments in order, and a number of any size for each."""

    name: str
    points: tuple[tuple[float, float], ...]


def draw_trends_per_window(result: pa.Table, value: str, group: str | None, title: str) -> str:
    """Draw one column of a result: a line per group over the windows, with a gap where a window has no number.

    Args:
        result: Rows of an aggregate query with a window.
        value: The column to draw.
        group: The column that tells lines apart; None for one line.
        title: What stands above the chart.

    Returns:
        The chart as SVG.

    Raises:
        OptionError: The result has no windows.
    """
    moment = next((name for name in ("window_start", "time") if name in result.schema.names), None)
    if moment is None or result.column(moment).null_count:
        message = "a result without windows has nothing to be drawn along"
        raise OptionError([Problem("TW414", message, "add WITHIN to the query, or draw it in another way")])
    kind = result.schema.field(moment).type
    moments = seconds_of_column(result.column(moment))
    names = ["" for _ in moments] if group is None else [str(name) for name in result.column(group).to_pylist()]
    rows = zip(names, moments, result.column(value).to_pylist(), strict=True)
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, when, value_there in sorted(rows, key=lambda row: row[1]):
        if value_there is not None and _is_finite(number := _read_number(value_there)):
            lines.setdefault(name, []).append((when, number))
    series = [Series(name, tuple(points)) for name, points in lines.items()]
    label = "start of the window" if moment == "window_start" else "time"
    if pa.types.is_timestamp(kind):
        label = ", ".join(
            filter(None, [label, name_days(min(moments), max(moments)) if moments else "", kind.tz and "UTC"])
        )
        return draw_lines(series, title, label, value, in_time=True)
    return draw_lines(series, title, f"{label} (seconds)", value, in_time=False)


def draw_lines(series: Sequence[Series], title: str, x_label: str, y_label: str, *, in_time: bool) -> str:
    """Draw lines on one scale; it is logarithmic where numbers differ by more than a thousand times.

    Args:
        series: The lines; of many, those that reach highest are drawn, and the others counted.
        title: What stands above the chart.
        x_label: What stands below it.
        y_label: What stands to its left.
        in_time: Whether moments are seconds since 1970, to be marked as dates and times of day.

    Returns:
        The chart as SVG. On a logarithmic scale 0 is not drawn.
    """
    drawn = sorted(series, key=lambda one: max((y for _, y in one.points), default=0), reverse=True)[:_MOST_SERIES]
    drawn.sort(key=lambda one: one.name)
    every = [point for one in drawn for point in one.points]
    left, right = _LEFT, _WIDTH - _RIGHT
    xs = [x for x, _ in every] or [0.0]
    across = (make_time_axis if in_time else make_number_axis)(min(xs), max(xs), left + 14, right - 14)
    upwards = make_counting_axis([y for _, y in every], _HEIGHT - _BOTTOM, _TOP)
    step = _find_step(xs)
    parts = [
        *_draw_frame(across, upwards),
        *_draw_labels(title, x_label, y_label + (" (logarithmic)" if upwards.log else "")),
    ]
    parts += _draw_legend([one.name for one in drawn], len(series) - len(drawn))
    marks = len(every) <= _MOST_MARKS
    for one, colour in zip(drawn, COLOURS, strict=False):
        parts += _draw_line(one, colour, across, upwards, step, marks)
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="trend-chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{quote(title)}">\n<style>{_STYLE}</style>\n{inside}\n</svg>'
    )


def write_picture(path: Path, svg: str, title: str, note: str = "") -> None:
    """Write a chart alone into an .svg file, or as a page with a note below it.

    Args:
        path: Where the picture goes; its ending says which of both.
        svg: The chart.
        title: The title of the page.
        note: What stands below the chart.

    Raises:
        DataError: The file cannot be written.
    """
    page = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{quote(title)}</title>\n'
        "<style>:root { color-scheme: light dark; } body { max-width: 960px; margin: 24px auto; padding: 0 16px; } "
        f"pre {{ font-size: 13px; white-space: pre-wrap; }}</style>\n</head>\n<body>\n{svg}\n<pre>{quote(note)}</pre>\n"
        "</body>\n</html>\n"
    )
    try:
        path.write_text(svg + "\n" if path.suffix.lower() == ".svg" else page, encoding="utf-8")
    except OSError as error:
        message = f"{path.name} cannot be written: {error}"
        hint = "is the folder there, and may it be written to?"
        raise DataError([Problem("TW308", message, hint)]) from error


# Numbers


def _read_number(value: Any) -> float:
    """Counts stay whole numbers, as they may be beyond every float; texts are counts, too."""
    number = Decimal(value) if isinstance(value, str) else value
    if isinstance(number, int | float):
        return number
    return int(number) if number == int(number) else float(number)


def _is_finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def _find_step(xs: Iterable[float]) -> float:
    """The way from one window to the next: the shortest there is."""
    places = sorted(set(xs))
    return min((b - a for a, b in pairwise(places)), default=math.inf)


# Marks


def _draw_line(one: Series, colour: str, across: Axis, upwards: Axis, step: float, marks: bool) -> list[str]:
    runs: list[list[tuple[float, float]]] = []
    before = -math.inf
    for x, y in one.points:
        if upwards.log and y <= 0:
            before = -math.inf
            continue
        if before == -math.inf or x - before > 1.5 * step:
            runs.append([])
        runs[-1].append((x, y))
        before = x
    placed = [[(across.place(x), upwards.place(y)) for x, y in run] for run in runs]
    parts = [
        f'<polyline class="line" stroke="{colour}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in run)}"/>'
        for run in placed
        if len(run) > 1
    ]
    for run, places in zip(runs, placed, strict=True):
        for (x, y), (px, py) in zip(run, places, strict=True):
            if marks or len(run) == 1:
                label = quote(f"{one.name}  {across.label(x)}  {_write_exactly(y)}".strip())
                parts.append(
                    f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.2" fill="{colour}"><title>{label}</title></circle>'
                )
    return parts


def _write_exactly(value: float) -> str:
    return write_power(value) if value >= 10**21 else f"{value:,}"


def _draw_frame(across: Axis, upwards: Axis) -> list[str]:
    left, right, top, bottom = _LEFT, _WIDTH - _RIGHT, _TOP, _HEIGHT - _BOTTOM
    parts = []
    for value in upwards.ticks:
        y = upwards.place(value)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 9}" y="{y + 4.5:.1f}" text-anchor="end">{quote(upwards.label(value))}</text>')
    for value in across.ticks:
        x = across.place(value)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 21}" text-anchor="middle">{quote(across.label(value))}</text>')
    parts.append(f'<path class="axis" fill="none" d="M{left} {top}V{bottom}H{right}"/>')
    return parts


def _draw_labels(title: str, x_label: str, y_label: str) -> list[str]:
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    high = (_TOP + _HEIGHT - _BOTTOM) / 2
    return [
        f'<text class="title" x="{_LEFT}" y="26">{quote(title)}</text>',
        f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">{quote(x_label)}</text>',
        f'<text transform="translate(18 {high}) rotate(-90)" text-anchor="middle">{quote(y_label)}</text>',
    ]


def _draw_legend(names: list[str], more: int) -> list[str]:
    """Names side by side, in two rows where there are many; each gets the width that its letters are likely to need."""
    shown = names if any(names) else []
    in_a_row = len(shown) if len(shown) <= _MOST_SERIES // 2 else _MOST_SERIES // 2
    parts = []
    x = y = 0.0
    for index, (name, colour) in enumerate(zip(shown, COLOURS, strict=False)):
        if index % in_a_row == 0:
            x, y = float(_LEFT), 47.0 + 17 * (index // in_a_row)
        short = _shorten(name, int(((_WIDTH - _RIGHT - _LEFT - 80) / in_a_row - 36) / _LETTER))
        parts.append(f'<rect x="{x:.1f}" y="{y - 7:.1f}" width="14" height="4" rx="2" fill="{colour}"/>')
        parts.append(f'<text x="{x + 20:.1f}" y="{y:.1f}">{quote(short)}<title>{quote(name)}</title></text>')
        x += 36 + _LETTER * len(short)
    if more:
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" opacity=".7">and {more:,} more</text>')
    return parts


def _shorten(name: str, letters: int) -> str:
    """Without its middle where it is too long: what tells names apart is often at their end."""
    if len(name) <= letters:
        return name
    return f"{name[: (letters - 1) // 2]}…{name[-(letters // 2) :]}"
