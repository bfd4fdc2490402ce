"""Events that come one by one, as mappings: what a query needs of them, checked value by value.

A value that does not fit is refused with the event that brings it, before that event has any effect. What Python's
types do not tell (the digits of a decimal, say) Arrow finds out later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem

Row = dict[str, Any]


def row_checks(columns: pa.Schema) -> Callable[[Mapping[str, Any]], Row]:
    """A function that copies the values of an event, or refuses it."""
    expected = [
        (field.name, _python_types(field.type), _other_types(field.type), *_bounds(field.type), field.type)
        for field in columns
    ]

    def fit(event: Mapping[str, Any]) -> Row:
        row = {}
        try:
            for name, types, others, low, high, kind in expected:
                value = event[name]
                if value is not None and types is not None:
                    # Nearly all values are of the first type.
                    if type(value) is not types[0] and (not isinstance(value, types) or isinstance(value, others)):
                        raise _refused(name, value, kind)
                    if low is not None and not low <= value <= high:
                        raise _refused(name, value, kind)
                row[name] = value
        except (KeyError, TypeError, AttributeError) as error:
            raise _incomplete(event, columns) from error
        return row

    return fit


def _refused(name: str, value: Any, kind: pa.DataType) -> DataError:
    message = f"the value {value!r} of {name} does not fit the column, which is {kind}; the event was left out"
    hint = "give every event values of the same types"
    if pa.types.is_timestamp(kind) and isinstance(value, int | float | np.integer | np.floating):
        hint = "give a datetime, or for numbers since 1970 push a schema with whole numbers here, with time_unit="
    elif pa.types.is_timestamp(kind) or (pa.types.is_date(kind) and isinstance(value, datetime)):
        hint = f"give a {'date' if pa.types.is_date(kind) else 'datetime'}"
    return DataError([Problem("TW312", message, hint)])


def _incomplete(event: Any, columns: pa.Schema) -> DataError:
    if not isinstance(event, Mapping):
        message = f"an event is a mapping from columns to values, not {type(event).__name__}"
        return DataError([Problem("TW312", message, "send a dict, or a table with send_table")])
    missing = ", ".join(sorted(set(columns.names) - event.keys()))
    return DataError(
        [Problem("TW312", f"an event lacks {missing}", "give every event these columns, with None if unknown")]
    )


def _python_types(kind: pa.DataType) -> tuple[type, ...] | None:
    """What values of a column are in Python; None where that is for Arrow to tell."""
    if pa.types.is_integer(kind):
        return (int, np.integer)
    if pa.types.is_floating(kind):
        return (float, int, np.floating, np.integer)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return (str,)
    if pa.types.is_boolean(kind):
        return (bool, np.bool_)
    if pa.types.is_timestamp(kind):
        return (datetime, np.datetime64)
    if pa.types.is_duration(kind):
        return (timedelta, np.timedelta64)
    if pa.types.is_date(kind):
        return (date,)
    if pa.types.is_decimal(kind):
        return (Decimal, int)
    return None


def _other_types(kind: pa.DataType) -> tuple[type, ...]:
    """What Python counts among those types, and would be another value in the column."""
    if pa.types.is_date(kind):
        return (datetime,)
    return (bool,) if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) else ()


def _bounds(kind: pa.DataType) -> tuple[int, int] | tuple[None, None]:
    if not pa.types.is_integer(kind):
        return None, None
    bits = kind.bit_width
    if pa.types.is_signed_integer(kind):
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return 0, 2**bits - 1
