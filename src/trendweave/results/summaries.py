"""Summaries of forgotten rows as Arrow columns, one row per summary, and back: what is carried on and written down."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from trendweave.kernels.folding import Algebra, Summaries

#: The column with the numbers of summaries.
NUMBERS = "numbers"
_FIXED = ("exponents", "codes", "marks")


def to_arrow(algebra: Algebra, summaries: Summaries) -> dict[str, pa.Array]:
    """Columns by name; only those that this algebra has. Numbers take as few bytes as all of them fit in."""
    widths = summaries.width
    if widths.size and (widths == widths[0]).all():
        numbers = summaries.numbers if widths[0] > 1 else _in_few_bytes(summaries.numbers)
        columns = {NUMBERS: pa.FixedSizeListArray.from_arrays(pa.array(numbers), algebra.cells * int(widths[0]))}
    else:
        offsets = np.concatenate([[0], np.cumsum(widths * algebra.cells)]).astype(np.int64)
        columns = {NUMBERS: pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(summaries.numbers))}
    for name in _FIXED:
        values = getattr(summaries, name)
        if values.shape[1]:
            columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    return columns


def _in_few_bytes(numbers: np.ndarray) -> np.ndarray:
    if numbers.dtype != np.int64 or not numbers.size:
        return numbers
    low, high = int(numbers.min()), int(numbers.max())
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return numbers.astype(next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max))


def from_arrow(algebra: Algebra, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Summaries:
    """The inverse of `to_arrow`."""
    numbers = _one_array(columns[NUMBERS])
    if pa.types.is_fixed_size_list(numbers.type):
        widths = np.full(len(numbers), numbers.type.list_size // algebra.cells, np.int64)
    else:
        widths = np.diff(np.asarray(numbers.offsets)) // algebra.cells
    shapes = {"exponents": len(algebra.float_sums), "codes": algebra.codes, "marks": algebra.marks}
    fixed = []
    for name, size in shapes.items():
        kind = np.uint8 if name == "marks" else np.int64
        values = np.asarray(_one_array(columns[name]).flatten(), kind) if size else np.zeros(0, kind)
        fixed.append(values.reshape(len(numbers), size))
    flat = np.asarray(numbers.flatten(), np.int64 if algebra.exact else np.float64)
    return Summaries(widths, flat, *fixed)


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
