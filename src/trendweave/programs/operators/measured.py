"""Columns that blocks keep numbers of, as the arrays that compiled loops read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.rows.codes import read_numbers

_t = pa.types
LEAST, MOST = -(2**63), 2**63 - 1
#: The code of NaN, which is above all numbers.
NAN_CODE = MOST - 4


@dataclass(frozen=True, slots=True)
class Measured:
    """Values of a column.

    Attributes:
        values: int64 or float64; any number where a value is NULL.
        valid: Which values are not NULL; None where all are.
    """

    values: np.ndarray
    valid: np.ndarray | None

    def take(self, rows: np.ndarray | slice) -> Measured:
        """The values of some rows."""
        return Measured(self.values[rows], None if self.valid is None else self.valid[rows])


def is_measured(kind: pa.DataType) -> bool:
    """Whether a type has an order and fits 64 bits: numbers, decimals, dates and times."""
    temporal = _t.is_temporal(kind) and not _t.is_interval(kind)
    return bool(_t.is_integer(kind) or _t.is_floating(kind) or _t.is_decimal(kind) or temporal)


def is_float(kind: pa.DataType) -> bool:
    """Whether values are kept as floats."""
    return bool(_t.is_floating(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether values are kept as sets or filters."""
    return bool(_t.is_string(kind) or _t.is_large_string(kind))


def measure(column: pa.ChunkedArray) -> Measured | None:
    """The values of a column of a measured type: dates and times in their unit, decimals in their last digit. None
    where some do not fit 64 bits."""
    try:
        return Measured(*read_numbers(column))
    except pa.ArrowInvalid:
        return None


def join_measured(parts: Sequence[Measured]) -> Measured:
    """The values of several tables as one."""
    values = np.concatenate([part.values for part in parts])
    if all(part.valid is None for part in parts):
        return Measured(values, None)
    valid = [np.ones(part.values.size, np.bool_) if part.valid is None else part.valid for part in parts]
    return Measured(values, np.concatenate(valid))


def as_column(values: np.ndarray, kind: pa.DataType, missing: np.ndarray) -> pa.Array:
    """Values that were measured, in the type of their column."""
    if is_float(kind):
        return pa.array(values, pa.float64(), mask=missing).cast(kind)
    if pa.types.is_decimal(kind):
        words = np.stack([values, values >> 63], axis=1)
        valid = pa.array(~missing).buffers()[1]
        wide = pa.Array.from_buffers(pa.decimal128(38, kind.scale), values.size, [valid, pa.py_buffer(words)])
        return wide.cast(kind)
    whole = pa.array(values, pa.int64(), mask=missing)
    if pa.types.is_temporal(kind) and kind.bit_width == 32:
        return whole.cast(pa.int32()).cast(kind)
    return whole.cast(kind)


def codes_of(values: np.ndarray) -> np.ndarray:
    """int64 codes in the order of the values: NaN above all other floats, -0.0 equal to 0.0."""
    if values.dtype != np.float64:
        return values
    bits = (values + 0.0).view(np.int64)
    codes = np.where(bits < 0, bits ^ MOST, bits)
    codes[np.isnan(values)] = NAN_CODE
    return codes


def values_of(codes: np.ndarray, floats: bool) -> np.ndarray:
    """The inverse of `codes_of`."""
    return np.where(codes < 0, codes ^ MOST, codes).view(np.float64) if floats else codes
