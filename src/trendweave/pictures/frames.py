"""What charts have in common: a frame with its marks, texts around it, and a legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trendweave.pictures.axes import Axis
from trendweave.pictures.style import LETTER
from trendweave.pictures.texts import quote

WIDTH = 920


@dataclass(frozen=True, slots=True)
class Frame:
    """The place inside a picture where things are drawn to scale."""

    left: float
    right: float
    top: float
    bottom: float


def draw_title(text: str, x: float, y: float = 26) -> str:
    """Write what stands above a picture, as long as there is place for it."""
    short = shorten(text, int((WIDTH - x - 20) / 8.4))
    return f'<text class="title" x="{x:g}" y="{y:g}">{quote(short)}<title>{quote(text)}</title></text>'


def draw_across(axis: Axis, frame: Frame, label: str) -> list[str]:
    """Draw the marks of an axis below a frame, with lines upwards and what it is about."""
    parts = []
    for value in axis.ticks:
        x = axis.place(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top:g}" y2="{frame.bottom:g}"/>')
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.bottom:g}" y2="{frame.bottom + 5:g}"/>')
        text = quote(axis.label(value))
        parts.append(f'<text class="faint" x="{x:.1f}" y="{frame.bottom + 20:g}" text-anchor="middle">{text}</text>')
    middle = (frame.left + frame.right) / 2
    parts.append(
        f'<line class="axis" x1="{frame.left:g}" x2="{frame.right:g}" y1="{frame.bottom:g}" y2="{frame.bottom:g}"/>'
    )
    parts.append(f'<text x="{middle:g}" y="{frame.bottom + 42:g}" text-anchor="middle">{quote(label)}</text>')
    return parts


def draw_upwards(axis: Axis, frame: Frame, label: str) -> list[str]:
    """Draw the marks of an axis to the left of a frame, with lines across it and what it is about."""
    parts = []
    for value in axis.ticks:
        y = axis.place(value)
        text = quote(axis.label(value))
        parts.append(f'<line class="grid" x1="{frame.left:g}" x2="{frame.right:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="faint" x="{frame.left - 9:g}" y="{y + 4.5:.1f}" text-anchor="end">{text}</text>')
    high = (frame.top + frame.bottom) / 2
    turned = f'transform="translate(18 {high:g}) rotate(-90)"'
    short = quote(shorten(label, int((frame.bottom - frame.top) / LETTER)))
    parts.append(f'<text {turned} text-anchor="middle">{short}</text>')
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
    for name, colour in entries:
        short = shorten(name, 40)
        needs = 36 + LETTER * len(short)
        if at > x and at + needs > width - 20:
            at, y = x, y + 19
        parts.append(_draw_mark(shape, at, y, colour))
        parts.append(f'<text x="{at + 20:.1f}" y="{y:.1f}">{quote(short)}<title>{quote(name)}</title></text>')
        at += needs
    if more:
        parts.append(f'<text class="faint" x="{at:.1f}" y="{y:.1f}">and {more:,} more</text>')
    return parts, y


def _draw_mark(shape: str, x: float, y: float, colour: str) -> str:
    if shape == "dot":
        return f'<circle cx="{x + 8:.1f}" cy="{y - 4.5:.1f}" r="5" fill="{colour}"/>'
    high = 10 if shape == "bar" else 4
    return f'<rect x="{x:.1f}" y="{y - 4.5 - high / 2:.1f}" width="14" height="{high}" rx="2" fill="{colour}"/>'


def shorten(name: str, letters: int) -> str:
    """Leave out the middle of what is too long: what tells names apart is often at their end."""
    if len(name) <= letters:
        return name
    letters = max(letters, 5)
    return f"{name[: (letters - 1) // 2]}…{name[-(letters // 2) :]}"


def find_legend_height(names: Sequence[str]) -> float:
    """Tell how high a legend of these names gets."""
    return draw_legend([(name, "") for name in names], 0, 0)[1] + 19 if names else 0.0
