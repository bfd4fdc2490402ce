"""Columns of Parquet files in the types in which Spark reads them.

Spark decides on the columns; tasks turn what Arrow reads into the same values. What Spark would refuse, or what would
lose something, is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem

Column: TypeAlias = pa.Array | pa.ChunkedArray

_t = pa.types


def convert(column: Column, wanted: pa.DataType, where: str) -> Column:
    """A column in another type, with the same values.

    Args:
        column: As Arrow reads it.
        wanted: The type that Spark reads it in.
        where: What it is, for errors.

    Raises:
        DataError: The column is of a type whose values do not have that one.
    """
    if column.type == wanted:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([convert(chunk, wanted, where) for chunk in column.chunks], wanted)
    try:
        return _convert(column, wanted, where)
    except pa.ArrowInvalid as error:
        raise _misfit(f"{where} does not fit {wanted}: {error}") from error


def _convert(array: pa.Array, wanted: pa.DataType, where: str) -> pa.Array:
    given = array.type
    if isinstance(array, pa.ExtensionArray):
        return convert(array.storage, wanted, where)
    if _t.is_dictionary(given):
        return convert(array.dictionary_decode(), wanted, where)
    if _t.is_struct(given) and _t.is_struct(wanted):
        return _convert_struct(array, wanted, where)
    if _t.is_null(given):
        return pa.nulls(len(array), wanted)
    if not may_become(given, wanted):
        raise _misfit(f"{where} is of the type {given}, where Spark reads {wanted}")
    if _t.is_timestamp(given) and _t.is_timestamp(wanted):
        # The same moments: what has no zone is in UTC, as Spark takes it.
        return pc.cast(array, pa.timestamp(wanted.unit, given.tz)).view(wanted)
    return pc.cast(array, wanted)


def _convert_struct(array: pa.StructArray, wanted: pa.StructType, where: str) -> pa.Array:
    names = [field.name for field in array.type]
    parts = []
    for field in wanted:
        own = find_name(names, field.name, where)
        if own is None:
            parts.append(pa.nulls(len(array), field.type))
        else:
            # Flattened, a part is NULL where the whole is.
            parts.append(convert(array.flatten()[names.index(own)], field.type, f"{where}.{field.name}"))
    return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=array.is_null())


def find_name(names: list[str], wanted: str, where: str) -> str | None:
    """The name of a column in a file, whose case need not be the same; None where there is none.

    Raises:
        DataError: Several names differ in their case alone, and none of them is the one.
    """
    if wanted in names:
        return wanted
    alike = [name for name in names if name.lower() == wanted.lower()]
    if len(alike) > 1:
        raise _misfit(f"{where} has the columns {', '.join(alike)}, and {wanted} may be any of them")
    return alike[0] if alike else None


def may_become(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type are values of the other, as Spark reads files. Whether each of them fits is seen when
    they are cast."""
    if given == wanted:
        return True
    if _t.is_dictionary(given):
        return may_become(given.value_type, wanted)
    if isinstance(given, pa.BaseExtensionType):
        return may_become(given.storage_type, wanted)
    if (_t.is_list(given) or _t.is_large_list(given)) and _t.is_list(wanted):
        return may_become(given.value_type, wanted.value_type)
    if _t.is_map(given) and _t.is_map(wanted):
        return may_become(given.key_type, wanted.key_type) and may_become(given.item_type, wanted.item_type)
    if _t.is_struct(given) and _t.is_struct(wanted):
        same = [field.name for field in given] == [field.name for field in wanted]
        return same and all(may_become(own.type, other.type) for own, other in zip(given, wanted, strict=True))
    return any(is_given(given) and is_wanted(wanted) and fits(given, wanted) for is_given, is_wanted, fits in _RULES)


def _always(given: pa.DataType, wanted: pa.DataType) -> bool:
    return True


def _is_text(kind: pa.DataType) -> bool:
    return _t.is_string(kind) or _t.is_large_string(kind) or _t.is_string_view(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return _t.is_binary(kind) or _t.is_large_binary(kind) or _t.is_fixed_size_binary(kind) or kind == pa.binary_view()


def _is_wide(kind: pa.DataType) -> bool:
    return bool(_t.is_float64(kind))


#: Types of files, types of Spark, and what else must hold of the two.
_RULES: tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bool], Callable[[pa.DataType, pa.DataType], bool]],
    ...,
] = (
    (_t.is_integer, _t.is_integer, _always),
    (_t.is_integer, _is_wide, lambda given, wanted: given.bit_width <= 32),
    (_t.is_integer, _t.is_decimal, _always),
    (_t.is_integer, _t.is_duration, lambda given, wanted: given.bit_width == 64),
    (_t.is_duration, _t.is_integer, lambda given, wanted: wanted.bit_width == 64),
    (_t.is_floating, _t.is_floating, lambda given, wanted: given.bit_width <= wanted.bit_width),
    (_t.is_decimal, _t.is_decimal, _always),
    (_is_text, _is_text, _always),
    (_is_bytes, _is_bytes, _always),
    (_is_bytes, _is_text, _always),
    (_is_text, _is_bytes, _always),
    (_t.is_date, _t.is_date, _always),
    # A zone is never taken away; nanoseconds are nothing that Spark reads.
    (_t.is_timestamp, _t.is_timestamp, lambda given, wanted: given.unit != "ns" and bool(wanted.tz or not given.tz)),
)


def _misfit(message: str) -> DataError:
    return DataError([Problem("TW308", message, "give a column one type in all files")])
