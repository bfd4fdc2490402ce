"""Trends as text, for files and terminals that know no lists."""

from __future__ import annotations

import pyarrow as pa

from trendweave.pictures import describe_trend


def write_trends_as_text(table: pa.Table) -> pa.Table:
    """Replace the list of a trend's events by one text: `A 1 x=5 -> B 3 x=7`. Other tables stay what they are."""
    if "events" not in table.column_names or not pa.types.is_list(table.schema.field("events").type):
        return table
    place = table.column_names.index("events")
    texts = [None if events is None else describe_trend(events) for events in table.column("events").to_pylist()]
    return table.set_column(place, "events", pa.array(texts, pa.string()))
