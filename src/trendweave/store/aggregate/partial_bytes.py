"""Slices as bytes, on their way from a task to the driver."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.exact_sums import ExactSums
from trendweave.programs.operators.partials import ColumnPart, Partials
from trendweave.rows.arrow_bytes import as_stream, from_stream

_OWN = ("number", "count", "first", "last")
_OF_COLUMN = ("low", "high", "known", "nans")


def to_bytes(part: Partials) -> bytes:
    """Write slices."""
    columns = {key: getattr(part, key) for key in _OWN}
    bases = []
    for place, own in enumerate(part.columns):
        columns |= {f"{key}/{place}": getattr(own, key) for key in _OF_COLUMN}
        columns |= {f"limb/{place}/{limb}": words for limb, words in enumerate(own.sums.limbs)}
        bases.append(f"{own.sums.base}:{own.sums.limbs.shape[0]}")
    return as_stream(pa.table(columns).replace_schema_metadata({"bases": ",".join(bases)}))


def from_bytes(data: bytes) -> Partials:
    """Read them."""
    table = from_stream(data)

    def column(name: str) -> np.ndarray:
        return table.column(name).to_numpy()

    written = (table.schema.metadata or {}).get(b"bases", b"").decode()
    columns = []
    for place, pair in enumerate(written.split(",") if written else ()):
        base, width = map(int, pair.split(":"))
        limbs = np.stack([column(f"limb/{place}/{limb}") for limb in range(width)])
        low, high, known, nans = (column(f"{key}/{place}") for key in _OF_COLUMN)
        columns.append(ColumnPart(low, high, known, nans, ExactSums(limbs, base)))
    number, count, first, last = (column(key) for key in _OWN)
    return Partials(number, count, first, last, tuple(columns))
