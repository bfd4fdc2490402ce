"""The order of rows as Spark SQL has it: NULL before all values and NaN behind all numbers, or just the other way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.numbering import ordered_bits


def order_codes(column: pa.ChunkedArray) -> np.ndarray:
    """Number the values of a column in their order.

    Args:
        column: Values of a type that has an order; others are all alike.

    Returns:
        Integers above -(2 ** 63), equal where values are.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_floating(kind):
        numbers = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy()
        column = pa.chunked_array([pa.array(ordered_bits(numbers), mask=np.asarray(column.is_null()))])
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    try:
        ranks = pc.rank(column, tiebreaker="dense")
    except pa.ArrowNotImplementedError:
        return np.zeros(len(column), np.int64)
    codes: np.ndarray = np.asarray(ranks).astype(np.int64)
    return np.where(np.asarray(column.is_null()), 0, codes)


def take_in_order(table: pa.Table, keys: Sequence[np.ndarray]) -> pa.Table:
    """Sort rows.

    Args:
        table: The rows.
        keys: What they are sorted by, the weightiest first.

    Returns:
        The rows in order.
    """
    return table.take(pa.array(np.lexsort(tuple(reversed(keys)))))


def sort_by_times(rows: pa.Table, columns: Sequence[int]) -> pa.Table:
    """Sort rows by columns of times.

    Args:
        rows: The rows; those that are equal in all of these columns stay in their order.
        columns: The places of the columns, the weightiest first.
    """
    keys = []
    for place in columns:
        times = rows.column(place)
        keys.append((times if pa.types.is_floating(times.type) else times.cast(pa.int64())).to_numpy())
    if len(keys) == 1 and bool((keys[0][1:] >= keys[0][:-1]).all()):
        return rows
    return take_in_order(rows, keys)


def take_first(table: pa.Table, places: Sequence[np.ndarray], keys: Sequence[np.ndarray], count: int) -> pa.Table:
    """Keep the first rows of each place.

    Args:
        table: The rows.
        places: What tells places apart.
        keys: What rows of a place are sorted by, the weightiest first.
        count: How many rows of a place are kept.

    Returns:
        Them, in any order.
    """
    order = np.lexsort(tuple(reversed([*places, *keys])))
    begins = np.zeros(order.size, np.bool_)
    begins[:1] = True
    for place in places:
        begins[1:] |= np.diff(place[order]) != 0
    starts = np.flatnonzero(begins)
    rank = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    return table.take(pa.array(np.sort(order[rank < count])))
