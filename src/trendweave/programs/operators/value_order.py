"""Values as numbers in their order, for sorting."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.rows.codes import order_codes


def value_order(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Numbers in the order of values: NULL first, NaN above all numbers, -0.0 equal to 0.0; lists and structs by how
    they are written. Values of types without an order are equal."""
    if pa.types.is_nested(column.type):
        written = [None if value is None else repr(value) for value in column.to_pylist()]
        column = pa.chunked_array([written], pa.string())
    elif column.type == pa.uint64():
        column = column.cast(pa.decimal128(20, 0))  # which holds all of them
    elif pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    try:
        return order_codes(column, column)[0]
    except pa.ArrowNotImplementedError:
        return np.asarray(column.is_valid()).astype(np.int64)
