"""Trends, lists of values and times of far years as text, for files and terminals that know none of them."""

from __future__ import annotations

import json

import pyarrow as pa

from trendweave.pictures import describe_trend
from trendweave.pictures.times import write_far_times


def write_lists_as_text(table: pa.Table) -> pa.Table:
    """Replace the list of a trend's events by one text, `A 1 x=5 -> B 3 x=7`, other lists by JSON, `["u","v"]`, and
    times of far years by ISO 8601."""
    table = write_far_times(table)
    for place, field in enumerate(table.schema):
        if not pa.types.is_list(field.type):
            continue
        write = describe_trend if field.name == "events" and pa.types.is_struct(field.type.value_type) else _write_json
        texts = [None if values is None else write(values) for values in table.column(place).to_pylist()]
        table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def _write_json(values: list[object]) -> str:
    """As Spark writes it, which has no room between values."""
    return json.dumps(values, default=str, ensure_ascii=False, separators=(",", ":"))
