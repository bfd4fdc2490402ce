"""Times of a file that are numbers since 1970, or text, as timestamps."""

from __future__ import annotations

import pyarrow as pa

from trendweave.serve.folders import Refused


def read_times(table: pa.Table, time: str, how: str) -> pa.Table:
    """The table with its time column as timestamps of UTC.

    Args:
        table: The events.
        time: The column; a table without it stays as it is, as queries say so themselves.
        how: "s", "ms", "us" or "ns" for whole numbers of such units, "iso" for text.

    Raises:
        Refused: The column holds something else.
    """
    if time not in table.column_names:
        return table
    column = table.column(time)
    place = table.column_names.index(time)
    if how == "iso":
        return table.set_column(place, time, _read_text(column, time))
    if not pa.types.is_integer(column.type):
        raise Refused(f"{time} holds no whole numbers, but {column.type}")
    try:
        return table.set_column(place, time, column.cast(pa.int64()).cast(pa.timestamp(how, "UTC")))
    except pa.ArrowInvalid as error:
        raise Refused(f"{time} holds numbers that are no times: {error}") from None


def _read_text(column: pa.ChunkedArray, time: str) -> pa.ChunkedArray:
    """Texts with a zone, or all without one, which are UTC then."""
    if pa.types.is_timestamp(column.type):
        return column
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise Refused(f"{time} holds no text, but {column.type}")
    try:
        return column.cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        pass
    try:
        return column.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid as error:
        raise Refused(f"{time} holds text that is no time: {error}") from None
