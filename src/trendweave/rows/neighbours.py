"""Comparisons of each row with the row before it, on the values themselves: nothing has to be ranked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import make_columns_comparable
from trendweave.kernels.numbering import ordered_bits
from trendweave.rows.codes import order_codes, order_numbers

_COMPARE: dict[str, Callable[..., np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def compare_neighbours(previous: pa.ChunkedArray, operator: str, following: pa.ChunkedArray) -> np.ndarray:
    """Compare a column of each row before with a column of the row.

    Args:
        previous: The column of the earlier row.
        operator: The comparison.
        following: The column of the later row, or the same.

    Returns:
        True or False per row: NULL compares true with nothing, and nothing stands before the first row.
    """
    holds = np.zeros(len(following), np.bool_)
    if holds.size < 2:
        return holds
    (left, left_known), (right, right_known) = _comparable(previous, following)
    _COMPARE[operator](left[:-1], right[1:], out=holds[1:])
    if left_known is not None:
        holds[1:] &= left_known[:-1]
    if right_known is not None:
        holds &= right_known
    return holds


def _comparable(
    previous: pa.ChunkedArray, following: pa.ChunkedArray
) -> tuple[tuple[np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray | None]]:
    """Numbers to compare in the place of values, and where they are known (None: everywhere)."""
    columns = make_columns_comparable([previous] if previous is following else [previous, following])
    if pa.types.is_floating(columns[0].type):
        floats = [(column.to_numpy(zero_copy_only=False), _known(column)) for column in columns]
        if any(np.isnan(np.min(numbers)) for numbers, _ in floats):
            # NaN equals itself and is the largest, which only its bits can say; NULL is NaN here, too.
            floats = [(ordered_bits(numbers), known) for numbers, known in floats]
        return floats[0], floats[-1]
    ordered = [part for part in map(order_numbers, columns) if part is not None]
    if len(ordered) == len(columns):
        return ordered[0], ordered[-1]
    left, right = order_codes(previous, following)
    return (left, left >= 0), (right, right >= 0)


def _known(column: pa.Array) -> np.ndarray | None:
    return np.asarray(column.is_valid()) if column.null_count else None
