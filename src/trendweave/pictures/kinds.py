"""What a table of rows is, as its columns tell: listed trends, matches or situations on a time line, or windows."""

from __future__ import annotations

from typing import Literal, TypeAlias

import pyarrow as pa

#: What can be drawn of a result.
Kind: TypeAlias = Literal["trends", "matches", "situations", "windows"]
MOMENTS = ("window_start", "window_end", "time")


def find_kind(schema: pa.Schema) -> Kind | None:
    """Tell what the rows of a result are; None where nothing can be drawn of them."""
    names = schema.names
    if "events" in names and _lists_events(schema.field("events").type):
        return "trends"
    if {"name", "start", "end"} <= set(names):
        return "situations"
    if "time" in names and find_situations(schema):
        return "matches"
    if ("window_start" in names or "time" in names) and find_numbers(schema):
        return "windows"
    return None


def find_situations(schema: pa.Schema) -> tuple[str, ...]:
    """The situations whose starts and ends stand in rows of matches."""
    starts = [name.removesuffix("_start") for name in schema.names if name.endswith("_start")]
    return tuple(name for name in starts if name != "window" and f"{name}_end" in schema.names)


def find_numbers(schema: pa.Schema) -> list[str]:
    """The columns that hold numbers, besides moments."""
    return [field.name for field in schema if field.name not in MOMENTS and is_number(field.type)]


def find_others(schema: pa.Schema) -> list[str]:
    """The columns that hold neither numbers nor moments, and so tell rows apart."""
    plain = (pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean, pa.types.is_dictionary)
    return [field.name for field in schema if field.name not in MOMENTS and any(test(field.type) for test in plain)]


def _lists_events(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_struct(kind.value_type):
        return False
    return {"variable", "time"} <= {kind.value_type.field(place).name for place in range(kind.value_type.num_fields)}


def is_number(kind: pa.DataType) -> bool:
    """Whether values of a type are numbers."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
