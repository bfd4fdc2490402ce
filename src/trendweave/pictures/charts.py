"""Lines over time or over numbers, on one scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from itertools import pairwise
from pathlib import Path

from trendweave.pictures.axes import Axis, make_counting_axis, make_number_axis, make_time_axis, write_power
from trendweave.pictures.frames import (
    WIDTH,
    Frame,
    draw_across,
    draw_legend,
    draw_title,
    draw_upwards,
    find_left,
    make_empty,
    thin_out,
)
from trendweave.pictures.picture import Picture, frame_page, write_file
from trendweave.pictures.shapes import COLOURS, dot, path, quote

_HEIGHT, _RIGHT, _BOTTOM = 420, 24, 58
_MOST_SERIES = len(COLOURS)
_MOST_MARKS = 400


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart.

    Attributes:
        name: Its name in the legend.
        points: Times in order, each with a number of any size.
        windows: Identifies a sequence of windows at equal distances; lines with the same value belong to one sequence.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    windows: str = ""


def make_line_chart(
    series: Sequence[Series], title: str, x_label: str, y_label: str, *, in_time: bool, zone: tzinfo | None = None
) -> Picture:
    """Draw lines on one scale; it is logarithmic where numbers differ by more than a thousand times.

    Args:
        series: The lines; of many, those that reach highest are drawn, and the others counted.
        title: What stands above the chart.
        x_label: What stands below it.
        y_label: What stands to its left.
        in_time: Whether moments are seconds since 1970, to be marked as dates and times of day.
        zone: Whose times of day; UTC unless given.

    Returns:
        The chart. On a logarithmic scale 0 has a mark of its own, below the others.
    """
    drawn = sorted(series, key=lambda one: max((y for _, y in one.points), default=0), reverse=True)[:_MOST_SERIES]
    drawn.sort(key=lambda one: _in_order(one.name))
    every = [point for one in drawn for point in one.points]
    if not every:
        return make_empty(title)
    names = [one.name for one in drawn] if any(one.name for one in drawn) else []
    numbers = [y for _, y in every]
    left = find_left(make_counting_axis(numbers, 1, 0, mark_zero=True))
    legend, foot = draw_legend(zip(names, COLOURS, strict=False), left, 50, more=len(series) - len(drawn))
    frame = Frame(left, WIDTH - _RIGHT, foot + 26 if legend else 48, _HEIGHT - _BOTTOM)
    xs = [x for x, _ in every]
    ends = min(xs), max(xs), frame.left + 14, frame.right - 14
    across = make_time_axis(*ends, zone) if in_time else make_number_axis(*ends)
    upwards = make_counting_axis(numbers, frame.bottom, frame.top, mark_zero=True)
    parts = [
        draw_title(title, left),
        *legend,
        *draw_upwards(upwards, frame, y_label + _describe_scale(upwards)),
        *draw_across(across, frame, x_label),
    ]
    steps, marks = _find_steps(drawn), len(every) <= _MOST_MARKS
    for one, colour in zip(drawn, COLOURS, strict=False):
        parts += _draw_line(one, colour, across, upwards, steps[one.windows], marks)
    return Picture(title, WIDTH, _HEIGHT, tuple(parts))


def draw_lines(series: Sequence[Series], title: str, x_label: str, y_label: str, *, in_time: bool) -> str:
    """Draw lines as SVG; see `make_line_chart`."""
    return make_line_chart(series, title, x_label, y_label, in_time=in_time).svg()


def write_picture(file: Path, svg: str, title: str, note: str = "") -> None:
    """Write a chart into an .svg file, or as an HTML page with a note below it.

    Args:
        file: The file; its suffix chooses the format.
        svg: The chart.
        title: The title of the page.
        note: The text below the chart.

    Raises:
        DataError: The file cannot be written.
    """
    page = frame_page(title, f"{svg}\n<pre>{quote(note)}</pre>\n")
    write_file(file, (svg + "\n" if file.suffix.lower() == ".svg" else page).encode())


def _describe_scale(axis: Axis) -> str:
    if not axis.log:
        return ""
    return " (logarithmic above 0)" if 0 in axis.ticks else " (logarithmic)"


def _in_order(name: str) -> tuple[float, str]:
    """Names that are numbers stand in the order of these."""
    digits = name.removeprefix("-").replace(".", "", 1)
    return (float(name) if digits.isascii() and digits.isdigit() else math.inf), name


def _find_steps(series: Iterable[Series]) -> dict[str, float]:
    """The way from one window to the next, of windows of each kind: the shortest there is. Not that of each line, as a
    line may lack every second window."""
    moments: dict[str, set[float]] = {}
    for one in series:
        moments.setdefault(one.windows, set()).update(x for x, _ in one.points)
    return {
        windows: min((b - a for a, b in pairwise(sorted(places))), default=math.inf)
        for windows, places in moments.items()
    }


def _draw_line(one: Series, colour: str, across: Axis, upwards: Axis, step: float, marks: bool) -> list[str]:
    runs: list[list[tuple[float, float]]] = []
    before = -math.inf
    for x, y in one.points:
        if before == -math.inf or x - before > 1.5 * step:
            runs.append([])
        runs[-1].append((x, y))
        before = x
    parts, size = [], 3.2 if marks else 1.8
    for run in runs:
        places = [(across.place(x), upwards.place(y)) for x, y in run]
        if len(run) > 1:
            parts.append(path(thin_out(places), "line", stroke=colour))
        if marks or len(run) == 1:
            for (x, y), place in zip(run, places, strict=True):
                told = f"{one.name}  {(across.tell or across.label)(x)}  {_write_exactly(y)}".strip()
                parts.append(dot(*place, size, colour, told))
    return parts


def _write_exactly(value: float) -> str:
    return write_power(value) if value >= 10**21 else f"{value:,}"
