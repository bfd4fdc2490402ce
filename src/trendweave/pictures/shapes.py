"""Shapes and texts of SVG, their colours, and what is written of values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Any

#: Colours that keep apart from each other and from white and black, also for most who see colours differently.
COLOURS = ("#0f7fc4", "#d95f02", "#2a9d6b", "#b8549c", "#a8870a", "#6a6fd0", "#c4433f", "#6b7785")
#: What every event of a trend has beside its attributes.
_FIELDS = ("variable", "time", "type")


def assign_colours(names: Iterable[str]) -> dict[str, str]:
    """Give each name a colour, in the order of the names; after the last colour the first one comes again."""
    return {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(dict.fromkeys(names))}


def quote(value: str) -> str:
    """Escape what SVG and HTML would read as marks, and leave out control characters, which XML has no way to write."""
    return escape("".join(letter if letter.isprintable() or letter == "\n" else " " for letter in value))


def shape(tag: str, inside: str = "", hint: str = "", style: str = "", **attributes: str | float) -> str:
    """Write an element.

    Args:
        tag: Its name.
        inside: What stands in it, as SVG.
        hint: What is told when a pointer is held over it.
        style: The names of its styles.
        **attributes: By their names, with _ for -; empty ones are left out. Numbers are written to a tenth.
    """
    given = (attributes | {"class": style}).items()
    written = "".join(f' {name.replace("_", "-")}="{_short(value)}"' for name, value in given if value != "")
    inside += f"<title>{quote(hint)}</title>" if hint else ""
    return f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>"


def write(text: str, x: float, y: float, style: str = "", hint: str = "", **attributes: str | float) -> str:
    """Write a line of text; a hint that it tells itself is none."""
    return shape("text", quote(text), "" if hint == text else hint, style, x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Draw a straight line."""
    return shape("line", style=style, x1=x1, x2=x2, y1=y1, y2=y2)


def box(x: float, y: float, width: float, height: float, hint: str = "", rx: float = 3, **attributes: str) -> str:
    """Draw a box with round corners."""
    return shape("rect", hint=hint, x=x, y=y, width=width, height=height, rx=rx, **attributes)


def dot(x: float, y: float, r: float, fill: str = "", hint: str = "", style: str = "") -> str:
    """Draw a dot."""
    return shape("circle", hint=hint, style=style, cx=x, cy=y, r=r, fill=fill)


def path(places: Sequence[tuple[float, float]], style: str, **attributes: str | float) -> str:
    """Draw a line through places."""
    points = " ".join(f"{_short(x)},{_short(y)}" for x, y in places)
    return shape("polyline", "", "", style, points=points, **attributes)


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else f"{float(value):.1f}".removesuffix(".0")


def write_key(value: Any) -> str:
    """Write what tells rows apart: NULL as in queries; texts that would be taken for it, or for nothing, in quotes."""
    if value is None:
        return "NULL"
    return f"'{value}'" if value in ("", "NULL") else str(value)


def describe_trend(events: Sequence[dict[str, Any]]) -> str:
    """Write the events of a trend as text: `A 1 x=5 -> B 3 x=7`."""
    return " -> ".join(_describe_event(event) for event in events)


def _describe_event(event: dict[str, Any]) -> str:
    attributes = [
        f"{name}={_write_value(value)}" for name, value in event.items() if name not in _FIELDS and value is not None
    ]
    return " ".join([event["variable"], _write_value(event["time"]), *attributes])


def _write_value(value: Any) -> str:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    return f"{value:.6g}" if isinstance(value, float) else str(value)
