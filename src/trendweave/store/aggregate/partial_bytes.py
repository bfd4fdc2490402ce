"""Slices as bytes, on their way from a task to the driver."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.partials import ColumnPart, Partials
from trendweave.programs.operators.sums import Sums
from trendweave.rows.arrow_bytes import as_stream, from_stream

_OWN = ("number", "count", "first", "last")
_OF_COLUMN = ("low", "high", "known", "nans")


def to_bytes(part: Partials) -> bytes:
    """Write slices."""
    columns = {key: getattr(part, key) for key in _OWN}
    for place, own in enumerate(part.columns):
        columns |= {f"{key}/{place}": getattr(own, key) for key in _OF_COLUMN}
        columns |= {f"sum/{place}/{number}": words for number, words in enumerate(own.sums.parts)}
    return as_stream(pa.table(columns))


def from_bytes(data: bytes) -> Partials:
    """Read them."""
    table = from_stream(data)

    def column(name: str) -> np.ndarray:
        return table.column(name).to_numpy()

    columns: list[ColumnPart] = []
    while f"low/{len(columns)}" in table.column_names:
        place = len(columns)
        parts = [column(name) for name in table.column_names if name.startswith(f"sum/{place}/")]
        low, high, known, nans = (column(f"{key}/{place}") for key in _OF_COLUMN)
        columns.append(ColumnPart(low, high, known, nans, Sums(np.stack(parts))))
    number, count, first, last = (column(key) for key in _OWN)
    return Partials(number, count, first, last, tuple(columns))
