"""Arrow columns as the numbers that kernels add and compare."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.planning.plan import AggregateColumn


def as_numbers(column: pa.ChunkedArray, aggregate: AggregateColumn) -> tuple[np.ndarray, np.ndarray | None]:
    """Read a column that is aggregated. Decimals are counted in their last digit.

    Args:
        column: The column.
        aggregate: What is asked of it, for errors.

    Returns:
        int64 or float64 numbers, and where they are known (None: everywhere).

    Raises:
        DataError: A value does not fit 64 bits.
    """
    try:
        numbers, valid = read_numbers(column)
    except pa.ArrowInvalid:
        message = f"{aggregate.function} of {'.'.join(aggregate.path or ())}: a value does not fit 64 bits"
        raise DataError([Problem("TW310", message, "cast the column to a float, or to a smaller scale")]) from None
    if numbers.dtype == np.float64:
        numbers = numbers + 0.0
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
    return numbers, valid


def read_numbers(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers as they are, dates and times in their unit, decimals in their last digit.

    Args:
        column: The column.

    Returns:
        int64 or float64 numbers, 0 where a value is NULL, and which are known (None: all).

    Raises:
        pa.ArrowInvalid: A value does not fit 64 bits.
    """
    kind = column.type
    valid = np.asarray(column.is_valid()) if column.null_count else None
    if pa.types.is_decimal(kind):
        return _last_digits(column, kind.scale), valid
    if pa.types.is_temporal(kind) and kind.bit_width == 32:
        column = pc.cast(column, pa.int32())
    numbers = pc.cast(column, pa.float64() if pa.types.is_floating(kind) else pa.int64())
    return (numbers if valid is None else pc.fill_null(numbers, 0)).to_numpy(), valid


def _last_digits(column: pa.ChunkedArray, scale: int) -> np.ndarray:
    """The whole numbers that decimals are stored as: two 64-bit words each, of which the lower must be enough."""
    array = pc.fill_null(pc.cast(column, pa.decimal128(38, scale)), pa.scalar(0, pa.decimal128(38, scale)))
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    if (words[:, 1] != words[:, 0] >> 63).any():
        raise pa.ArrowInvalid("a decimal does not fit 64 bits")
    return words[:, 0].copy()
