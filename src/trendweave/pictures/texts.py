"""Text in pictures, and a trend as one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Any

#: What every event of a trend has beside its attributes.
_FIELDS = ("variable", "time", "type")


def quote(value: str) -> str:
    """Escape what SVG and HTML would read as marks, and leave out control characters, which XML has no way to write."""
    return escape("".join(letter if letter.isprintable() or letter == "\n" else " " for letter in value))


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
