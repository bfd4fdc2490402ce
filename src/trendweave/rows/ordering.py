"""Rows by key and time: the one order that kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.sorting import find_in_order, order_by_time, order_by_words
from trendweave.rows.codes import order_codes


class Sorted(NamedTuple):
    """The order of rows by key and time, None where they stand in it; where each key starts, with the end of the last;
    and the times in this order."""

    order: np.ndarray | None
    starts: np.ndarray
    moment: np.ndarray


def sort_by_key_and_time(key: np.ndarray, moment: np.ndarray, count: int, keys_in_order: bool = True) -> Sorted:
    """Sort rows by their key, and by time where keys are equal; rows of one key and time stay in their order.

    Args:
        key: The number of each row's key, below `count`.
        moment: The time of each row, in steps of the time column.
        count: How many keys there are.
        keys_in_order: Shall key k be the k-th? Otherwise it is enough that the rows of each key stand together, as
            Spark brings them; then every number below `count` must occur.

    Returns:
        The rows in order.
    """
    key, moment = np.ascontiguousarray(key, np.int64), np.ascontiguousarray(moment, np.int64)
    starts = find_in_order(key, moment, count, keys_in_order)
    return Sorted(None, starts, moment) if starts is not None else Sorted(*order_by_time(key, moment, count))


def number_finer_times(moment: np.ndarray, columns: list[pa.ChunkedArray]) -> np.ndarray:
    """Number the different times and values of columns in their order, the time first.

    Args:
        moment: The time of each row.
        columns: The columns, the first one first. NULL comes before all values and NaN after them.

    Returns:
        A number per row, equal where time and all values are.
    """
    keys = [moment, *(order_codes(column, column)[0] for column in columns)]
    order = np.lexsort(keys[::-1])
    new = np.zeros(moment.size, np.bool_)
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    place = np.empty(moment.size, np.int64)
    place[order] = np.cumsum(new)
    return place


def take_rows(column: pa.ChunkedArray, order: np.ndarray) -> pa.ChunkedArray:
    """Fetch the rows of a column in an order.

    Where there are NULLs, Arrow asks of each row whether it is one: numbers and times, and which of them are valid, are
    fetched apart, in half the time.

    Args:
        column: The column.
        order: Numbers of rows, which are not looked at again for being those of the column.

    Returns:
        The values in this order.
    """
    kind = column.type
    if column.num_chunks > 1 and (pa.types.is_primitive(kind) or pa.types.is_decimal(kind)):
        # Arrow would look for the piece of each row.
        column = pa.chunked_array([pa.concat_arrays(column.chunks)])
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    if not plain or not column.null_count or kind.bit_width > 64:
        return pc.take(column, pa.array(order), boundscheck=False)
    array = column.chunk(0)
    whole = np.frombuffer(array.buffers()[1], f"i{kind.bit_width // 8}")
    values = whole[array.offset : array.offset + len(array)].take(order, mode="clip")
    valid = array.is_valid().to_numpy(zero_copy_only=False).take(order, mode="clip")
    buffers = [pa.py_buffer(np.packbits(valid, bitorder="little")), pa.py_buffer(values)]
    return pa.chunked_array([pa.Array.from_buffers(kind, order.size, buffers)])


def sort_by(*columns: np.ndarray) -> np.ndarray:
    """The order of rows by some columns of whole numbers, the first counts most."""
    if not columns[0].size:
        return np.empty(0, np.int64)
    lows = [int(column.min()) for column in columns]
    spans = [(column - low, int(column.max()) - low) for column, low in zip(columns, lows, strict=True)]
    return order_by_words(spans[::-1])
