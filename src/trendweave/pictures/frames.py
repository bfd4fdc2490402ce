"""What charts have in common: a frame with its marks, texts around it, and a legend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from trendweave.pictures.axes import Axis
from trendweave.pictures.letters import fit, measure, measure_raised, shorten_apart, write_raised
from trendweave.pictures.picture import Picture
from trendweave.pictures.style import TITLE
from trendweave.pictures.texts import quote

WIDTH = 920
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


def draw_title(text: str, x: float, y: float = 26) -> str:
    """Write what stands above a picture, as long as there is place for it."""
    short = fit(text, WIDTH - x - 20, TITLE, bold=True)
    return f'<text class="title" x="{x:g}" y="{y:g}">{quote(short)}<title>{quote(text)}</title></text>'


def make_empty(title: str, why: str = "no rows") -> Picture:
    """Draw that there is nothing to draw."""
    box = f'<rect class="panel dashed" x="24" y="42" width="{WIDTH - 48}" height="84" rx="8"/>'
    text = f'<text class="faint" x="{WIDTH / 2:g}" y="89" text-anchor="middle">{quote(why)}</text>'
    return Picture(title, WIDTH, 146, (draw_title(title, 24), box, text))


def draw_across(axis: Axis, frame: Frame, label: str) -> list[str]:
    """Draw the marks of an axis below a frame, with lines upwards and what it is about."""
    parts = []
    written = dict(_place_marks(axis))
    for value in axis.ticks:
        x = axis.place(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top:g}" y2="{frame.bottom:g}"/>')
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.bottom:g}" y2="{frame.bottom + 5:g}"/>')
        if value in written:
            parts.append(_write_mark(axis.label(value), written[value], frame.bottom + 20))
    middle = (frame.left + frame.right) / 2
    parts.append(
        f'<line class="axis" x1="{frame.left:g}" x2="{frame.right:g}" y1="{frame.bottom:g}" y2="{frame.bottom:g}"/>'
    )
    short = fit(label, 2 * (min(middle, WIDTH - middle) - _EDGE))
    hint = f"<title>{quote(label)}</title>" if short != label else ""
    parts.append(f'<text x="{middle:g}" y="{frame.bottom + 42:g}" text-anchor="middle">{quote(short)}{hint}</text>')
    return parts


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


def _write_mark(text: str, x: float, y: float) -> str:
    return f'<text class="faint" x="{x:.1f}" y="{y:g}" text-anchor="middle">{write_raised(text)}</text>'


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
        text = write_raised(axis.label(value))
        parts.append(f'<line class="grid" x1="{frame.left:g}" x2="{frame.right:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="faint" x="{frame.left - 9:g}" y="{y + 4.5:.1f}" text-anchor="end">{text}</text>')
    high = (frame.top + frame.bottom) / 2
    turned = f'transform="translate(18 {high:g}) rotate(-90)"'
    short = fit(label, frame.bottom - frame.top + 30)
    hint = f"<title>{quote(label)}</title>" if short != label else ""
    parts.append(f'<text {turned} text-anchor="middle">{quote(short)}{hint}</text>')
    return parts


def draw_legend(
    entries: Iterable[tuple[str, str]], x: float, y: float, shape: str = "line", more: int = 0, width: float = WIDTH
) -> tuple[list[str], float]:
    """Draw names beside their colours, in as many rows as they need.

    Args:
        entries: Names and colours.
        x: Where a row begins.
        y: The foot of the letters of the first row.
        shape: "line", "dot" or "bar".
        more: How many names are not shown.
        width: Where a row ends.

    Returns:
        What is drawn, and the foot of the last row.
    """
    parts: list[str] = []
    at = x
    entries = list(entries)
    shown = shorten_apart([name for name, _ in entries], 40)
    for name, colour in entries:
        short = shown[name]
        needs = 38 + measure(short)
        if at > x and at + needs > width - 20:
            at, y = x, y + 19
        parts.append(_draw_mark(shape, at, y, colour))
        parts.append(f'<text x="{at + 20:.1f}" y="{y:.1f}">{quote(short)}<title>{quote(name)}</title></text>')
        at += needs
    if more:
        told = f"and {more:,} more"
        if at > x and at + measure(told) > width - 20:
            at, y = x, y + 19
        parts.append(f'<text class="faint" x="{at:.1f}" y="{y:.1f}">{told}</text>')
    return parts, y


def _draw_mark(shape: str, x: float, y: float, colour: str) -> str:
    if shape == "dot":
        return f'<circle cx="{x + 8:.1f}" cy="{y - 4.5:.1f}" r="5" fill="{colour}"/>'
    high = 10 if shape == "bar" else 4
    return f'<rect x="{x:.1f}" y="{y - 4.5 - high / 2:.1f}" width="14" height="{high}" rx="2" fill="{colour}"/>'
