"""Summaries of rows as columns of a table, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.kernels.folding import Algebra, Summaries

_NUMBERS, _EXPONENTS, _CODES, _MARKS = "numbers", "exponents", "codes", "marks"


def write_summaries(algebra: Algebra, summaries: Summaries) -> dict[str, pa.Array]:
    """Write summaries as columns: a list of numbers each, and what else there is.

    Args:
        algebra: What they are.
        summaries: The summaries.

    Returns:
        Columns by name.
    """
    widths, numbers = summaries.width, pa.array(summaries.numbers)
    if widths.size and (widths == widths[0]).all():
        columns = {_NUMBERS: pa.FixedSizeListArray.from_arrays(numbers, algebra.cells * int(widths[0]))}
    else:
        columns = {_NUMBERS: pa.LargeListArray.from_arrays(pa.array(summaries.starts()), numbers)}
    for name, array in zip((_EXPONENTS, _CODES, _MARKS), summaries[2:], strict=True):
        if array.shape[1]:
            columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), array.shape[1])
    return columns


def read_summaries(algebra: Algebra, table: pa.Table) -> Summaries:
    """Read the summaries of a table.

    Args:
        algebra: What they are.
        table: With the columns that `write_summaries` gave.

    Returns:
        The summaries.
    """
    numbers = _one_array(table, _NUMBERS)
    if pa.types.is_fixed_size_list(numbers.type):
        widths = np.full(table.num_rows, numbers.type.list_size // algebra.cells, np.int64)
    else:
        widths = np.asarray(numbers.value_lengths()) // algebra.cells
    others = (
        _read_fixed(table, _EXPONENTS, len(algebra.float_sums), np.int64),
        _read_fixed(table, _CODES, algebra.codes, np.int64),
        _read_fixed(table, _MARKS, algebra.marks, np.uint8),
    )
    return Summaries(widths, numbers.flatten().to_numpy(), *others)


def _read_fixed(table: pa.Table, name: str, size: int, kind: type) -> np.ndarray:
    if not size:
        return np.empty((table.num_rows, 0), kind)
    return np.asarray(_one_array(table, name).flatten().to_numpy()).reshape(-1, size)


def _one_array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
