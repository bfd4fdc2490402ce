"""What charts have in common: a frame with its marks, texts around it, a legend, and bars in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trendweave.pictures.axes import Axis
from trendweave.pictures.letters import fit, measure, measure_raised, shorten_apart, write_raised
from trendweave.pictures.picture import TITLE, Picture
from trendweave.pictures.shapes import box, dot, line, shape, write

WIDTH = 920
#: What stays free beside what is drawn.
PAD = 24.0
#: Where a frame with marks upwards begins, unless they need more.
_LEFT = 92.0
#: What stays free at the edges of a picture, and between two marks.
_EDGE, _BETWEEN = 6.0, 6.0


@dataclass(frozen=True, slots=True)
class Frame:
    """The place inside a picture where things are drawn to scale."""

    left: float
    right: float
    top: float
    bottom: float


def draw_title(text: str, x: float = PAD, y: float = 26) -> str:
    """Write what stands above a picture, as long as there is place for it."""
    return write(fit(text, WIDTH - x - 20, TITLE, bold=True), x, y, "title", text)


def make_empty(title: str, why: str = "no rows") -> Picture:
    """Draw that there is nothing to draw."""
    panel = box(PAD, 42, WIDTH - 48, 84, style="panel dashed", rx=8)
    said = write(why, WIDTH / 2, 89, "faint", text_anchor="middle")
    return Picture(title, WIDTH, 146, (draw_title(title), panel, said))


def draw_across(axis: Axis, frame: Frame, label: str) -> list[str]:
    """Draw the marks of an axis below a frame, with lines upwards and what it is about."""
    parts, written = [], dict(_place_marks(axis))
    for value in axis.ticks:
        x = axis.place(value)
        parts.append(line(x, frame.top, x, frame.bottom, "grid"))
        parts.append(line(x, frame.bottom, x, frame.bottom + 5, "axis"))
        if value in written:
            parts.append(_write_mark(axis.label(value), written[value], frame.bottom + 20))
    middle = (frame.left + frame.right) / 2
    parts.append(line(frame.left, frame.bottom, frame.right, frame.bottom, "axis"))
    short = fit(label, 2 * (min(middle, WIDTH - middle) - _EDGE))
    return [*parts, write(short, middle, frame.bottom + 42, hint=label, text_anchor="middle")]


def _place_marks(axis: Axis) -> list[tuple[float, float]]:
    """Which values are written below or above a frame, and where their middle is: inside of the picture, and of marks
    that would touch each other every second, third, and so on."""
    widths = [measure_raised(axis.label(value)) for value in axis.ticks]
    middles = [
        max(min(axis.place(value), WIDTH - _EDGE - width / 2), _EDGE + width / 2)
        for value, width in zip(axis.ticks, widths, strict=True)
    ]
    every = 1
    while every < len(widths) and any(
        abs(middles[right] - middles[left]) < (widths[left] + widths[right]) / 2 + _BETWEEN
        for left, right in pairwise(range(0, len(widths), every))
    ):
        every += 1
    return list(zip(axis.ticks, middles, strict=True))[::every]


def _write_mark(text: str, x: float, y: float, anchor: str = "middle") -> str:
    return shape("text", write_raised(text), style="faint", x=x, y=y, text_anchor=anchor)


def draw_above(axis: Axis, frame: Frame) -> list[str]:
    """Write the marks of an axis above a tall frame as well, whose foot is far away."""
    return [_write_mark(axis.label(value), x, frame.top - 6) for value, x in _place_marks(axis)]


def find_left(axis: Axis) -> float:
    """Where a frame begins, so that its marks upwards do not lie on what is written beside them."""
    return max(_LEFT, 39.0 + max((measure_raised(axis.label(value)) for value in axis.ticks), default=0.0))


def draw_upwards(axis: Axis, frame: Frame, label: str) -> list[str]:
    """Draw the marks of an axis to the left of a frame, with lines across it and what it is about."""
    parts = []
    for value in axis.ticks:
        y = axis.place(value)
        parts.append(line(frame.left, y, frame.right, y, "grid"))
        parts.append(_write_mark(axis.label(value), frame.left - 9, y + 4.5, "end"))
    turned = f"translate(18 {(frame.top + frame.bottom) / 2:g}) rotate(-90)"
    short = fit(label, frame.bottom - frame.top + 30)
    return [*parts, write(short, 0, 0, hint=label, transform=turned, text_anchor="middle")]


def draw_legend(
    entries: Iterable[tuple[str, str]], x: float, y: float, kind: str = "line", more: int = 0
) -> tuple[list[str], float]:
    """Draw names beside their colours, in as many rows as they need.

    Args:
        entries: Names and colours.
        x: Where a row begins.
        y: The foot of the letters of the first row.
        kind: "line", "dot" or "bar".
        more: How many names are not shown.

    Returns:
        What is drawn, and the foot of the last row.
    """
    parts: list[str] = []
    at, colours = x, dict(entries)
    shown = shorten_apart(colours, 40) | ({"": f"and {more:,} more"} if more else {})
    for name, short in shown.items():
        needs = 38 + measure(short)
        if at > x and at + needs > WIDTH - 20:
            at, y = x, y + 19
        if name not in colours:
            parts.append(write(short, at, y, "faint"))
            break
        high = 10 if kind == "bar" else 4
        mark = dot(at + 8, y - 4.5, 5, colours[name]) if kind == "dot" else ""
        parts.append(mark or box(at, y - 4.5 - high / 2, 14, high, rx=2, fill=colours[name]))
        parts.append(write(short, at + 20, y, hint=name))
        at += needs
    return parts, y


def thin_out(places: Sequence[tuple[float, float]], most: int = 4_000) -> list[tuple[float, float]]:
    """Of many places that share a pixel's width keep the first, the highest, the lowest and the last one: the line
    looks the same."""
    if len(places) <= most:
        return list(places)
    columns: dict[int, list[tuple[float, float]]] = {}
    for place in places:
        columns.setdefault(round(place[0]), []).append(place)
    kept: list[tuple[float, float]] = []
    for there in columns.values():
        ends = {0, len(there) - 1}
        ends |= {choose(range(len(there)), key=lambda i: there[i][1]) for choose in (min, max)}
        kept += [there[place] for place in sorted(ends)]
    return kept
