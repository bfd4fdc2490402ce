"""Summaries of forgotten rows as Arrow columns, one row per summary, and back: what is carried on and written down."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.kernels.folding import Algebra, Summaries

_FIXED = ("exponents", "codes", "marks")


def to_arrow(algebra: Algebra, summaries: Summaries) -> dict[str, pa.Array]:
    """Columns by name; only those that this algebra has."""
    offsets = np.concatenate([[0], np.cumsum(summaries.width * algebra.cells)]).astype(np.int64)
    columns = {"numbers": pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(summaries.numbers))}
    for name in _FIXED:
        values = getattr(summaries, name)
        if values.shape[1]:
            columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    return columns


def from_arrow(algebra: Algebra, columns: dict[str, pa.Array | pa.ChunkedArray]) -> Summaries:
    """The inverse of `to_arrow`."""
    numbers = _one_array(columns["numbers"])
    lengths = np.diff(np.asarray(numbers.offsets))
    shapes = {"exponents": len(algebra.float_sums), "codes": algebra.codes, "marks": algebra.marks}
    fixed = []
    for name, size in shapes.items():
        kind = np.uint8 if name == "marks" else np.int64
        values = np.asarray(_one_array(columns[name]).flatten(), kind) if size else np.zeros(0, kind)
        fixed.append(values.reshape(len(numbers), size))
    return Summaries(lengths // algebra.cells, np.asarray(numbers.flatten()), *fixed)


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
