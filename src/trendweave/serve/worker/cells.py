"""Values of a result as the text of cells; a page never calculates with them, so that all digits stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trendweave import Query
from trendweave.pictures import describe_trend
from trendweave.pictures.times import write_far_times

Kind: TypeAlias = Literal["number", "time", "text"]
#: A cell has at most so many characters.
_LONGEST = 2_000


def describe_columns(query: Query, schema: pa.Schema, rows: pa.Table | None = None) -> list[dict[str, Any]]:
    """The columns of a result; those that are no `is_value` tell rows apart, and their numbers may be names."""
    apart = len(schema) - query.value_count
    return [
        describe_column(field, None if rows is None else rows.column(place)) | {"is_value": place >= apart}
        for place, field in enumerate(schema)
    ]


def describe_column(field: pa.Field, values: pa.ChunkedArray | None = None) -> dict[str, Any]:
    """Its name, its type, and how a page lays it out; text that is all digits is laid out as the numbers that it is."""
    kind = kind_of(field.type)
    if kind == "text" and values is not None and pa.types.is_string(field.type) and len(values) > values.null_count:
        kind = "number" if pc.all(pc.match_substring_regex(values, r"^-?\d+$")).as_py() else kind
    return {"name": field.name, "type": _name_type(field.type), "kind": kind}


def kind_of(type_: pa.DataType) -> Kind:
    """How values of a type are laid out: numbers to the right."""
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "number"
    return "time" if pa.types.is_temporal(type_) else "text"


def write_rows(rows: pa.Table, most_characters: int) -> tuple[list[list[str | None]], bool]:
    """The cells of all rows, or of as many as have room; whether all have."""
    written: list[list[str | None]] = []
    room = most_characters
    for batch in write_far_times(rows).to_batches(max_chunksize=500):
        for row in batch.to_pylist():
            cells = [write_cell(value) for value in row.values()]
            room -= sum(len(cell or "") for cell in cells)
            if room < 0:
                return written, False
            written.append(cells)
    return written, True


def write_cell(value: Any) -> str | None:
    """One value; None for NULL."""
    if value is None:
        return None
    text = _write(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


def _write(value: Any) -> str:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, list):
        if value and isinstance(value[0], Mapping) and "variable" in value[0]:
            return describe_trend(value)
        return "[" + ", ".join("NULL" if one is None else _write(one) for one in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {'NULL' if one is None else _write(one)}" for name, one in value.items()) + "}"
    return str(value)


def _name_type(type_: pa.DataType) -> str:
    text = str(type_)
    return text if len(text) <= 60 else text[:57] + "..."
