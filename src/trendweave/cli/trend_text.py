"""Trends as text for people, and for files that know no lists."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

_FIELDS = ("variable", "time", "type")


def with_readable_trends(table: pa.Table) -> pa.Table:
    """The list of a trend's events as one text: `A 1 x=5 -> B 3 x=7`. Other tables stay what they are."""
    if "events" not in table.column_names or not pa.types.is_list(table.schema.field("events").type):
        return table
    place = table.column_names.index("events")
    texts = [trend_text(events) for events in table.column("events").to_pylist()]
    return table.set_column(place, "events", pa.array(texts, pa.string()))


def trend_text(events: list[dict[str, Any]]) -> str:
    return " -> ".join(_event(event) for event in events)


def _event(event: dict[str, Any]) -> str:
    attributes = [
        f"{name}={_value(value)}" for name, value in event.items() if name not in _FIELDS and value is not None
    ]
    return " ".join([event["variable"], _value(event["time"]), *attributes])


def _value(value: Any) -> str:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    return f"{value:.6g}" if isinstance(value, float) else str(value)
