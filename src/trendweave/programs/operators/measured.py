"""Columns that blocks keep numbers of, as the arrays that compiled loops read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
    valid = np.asarray(pc.is_valid(column)) if column.null_count else None
    kind = column.type
    if _t.is_floating(kind):
        plain = column.cast(pa.float64())
        filled = plain.fill_null(0.0) if valid is not None else plain
        return Measured(filled.to_numpy(), valid)
    whole = _whole(column, kind)
    if whole is None:
        return None
    filled = whole.fill_null(0) if valid is not None else whole
    return Measured(filled.to_numpy(), valid)


def _whole(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    if _t.is_decimal(kind):
        return _unscaled(column, kind)
    if _t.is_temporal(kind) and kind.bit_width == 32:
        column = column.cast(pa.int32())
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def _unscaled(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """Decimals as whole numbers of their last digit."""
    wide = column.cast(pa.decimal256(76, kind.scale)) if _t.is_decimal256(kind) else column
    wide = wide.cast(pa.decimal128(38, kind.scale)) if not _t.is_decimal256(kind) else wide
    chunks = []
    for chunk in wide.chunks:
        width = chunk.type.bit_width // 64
        words = np.frombuffer(chunk.buffers()[1], np.int64).reshape(-1, width)[chunk.offset : chunk.offset + len(chunk)]
        fits = (words[:, 1:] == (words[:, :1] >> 63)).all(axis=1)
        known = np.asarray(chunk.is_valid())
        if not fits[known].all():
            return None
        chunks.append(pa.array(np.ascontiguousarray(words[:, 0]), pa.int64(), mask=~known))
    return pa.chunked_array(chunks, pa.int64())


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
