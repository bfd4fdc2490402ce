"""Values of a column as numbers that are equal where values are: NaN equals itself, and -0.0 is 0.0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: The code of NULL, which is no value.
NO_VALUE = -1


@dataclass(frozen=True, slots=True)
class DistinctCodes:
    """A code per row, and the value that each code stands for."""

    codes: np.ndarray
    dictionary: pa.Array


def distinct_codes(column: pa.Array) -> DistinctCodes:
    """Number the different values of a column.

    Args:
        column: Values of any type but lists and maps.

    Returns:
        The numbers.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))
        column = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column)
    encoded = column.dictionary_encode()
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), NO_VALUE).to_numpy(zero_copy_only=False)
    return DistinctCodes(codes, encoded.dictionary)
