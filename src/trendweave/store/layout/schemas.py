"""One schema over many files: columns that were added later are NULL before, numbers may have become wider."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from trendweave.errors import DataError, Problem

_t = pa.types


def unite(schemas: Iterable[tuple[str, pa.Schema]]) -> pa.Schema:
    """The columns of all files, in the order in which they are met.

    Args:
        schemas: Names of files and what is in them.

    Raises:
        DataError: A column has types that do not go together; the error names the file.
    """
    columns: dict[str, pa.DataType] = {}
    seen: set[bytes] = set()
    for file, schema in schemas:
        written = schema.serialize().to_pybytes()
        if written in seen:
            continue
        seen.add(written)
        for field in schema:
            kind = plain_type(field.type)
            known = columns.get(field.name)
            wider = kind if known is None else wider_type(known, kind)
            if wider is None:
                message = f"the column {field.name} is {kind} in {file}, and {known} in other files"
                raise DataError([Problem("TW332", message, "give a column one type in all files")])
            columns[field.name] = wider
    return pa.schema(columns)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which values are read: dictionaries and views as what they hold."""
    if _t.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if _t.is_large_string(kind) or _t.is_string_view(kind):
        return pa.string()
    if _t.is_large_binary(kind) or kind == pa.binary_view():
        return pa.binary()
    return kind


def wider_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both, exactly; None where there is none that people expect."""
    if one == other or _t.is_null(other):
        return one
    if _t.is_null(one):
        return other
    if _t.is_integer(one) and _t.is_integer(other) and _t.is_signed_integer(one) == _t.is_signed_integer(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    if _t.is_floating(one) and _t.is_floating(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    for whole, real in ((one, other), (other, one)):
        if _t.is_integer(whole) and whole.bit_width <= 32 and _t.is_float64(real):
            return real
    if _t.is_timestamp(one) and _t.is_timestamp(other) and one.tz == other.tz:
        units = ("s", "ms", "us", "ns")
        return pa.timestamp(max(one.unit, other.unit, key=units.index), one.tz)
    if _t.is_decimal(one) and _t.is_decimal(other) and one.scale == other.scale:
        return max(one, other, key=lambda kind: kind.precision)
    return None
