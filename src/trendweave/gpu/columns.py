"""Columns on a GPU: Arrow columns put there as they lie in memory, validity and truth values as bits on the way.

There a column is an array of its values, and an array of bytes that are 1 where a value is not NULL, where some are
NULL. Types without such an array (texts, lists, decimals) stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.gpu.card import Card
from trendweave.gpu.sending import send
from trendweave.gpu.sources import cuda_text

_t = pa.types
_THREADS = 256


@dataclass(frozen=True, slots=True)
class CardColumn:
    """A column on a card.

    Attributes:
        values: On the card; truth values are bytes.
        valid: Bytes on the card, 1 where a value is not NULL; None where none is.
    """

    values: Any
    valid: Any | None

    def take(self, rows: Any) -> CardColumn:
        """Some of its values."""
        return CardColumn(self.values[rows], None if self.valid is None else self.valid[rows])


def _storage(kind: pa.DataType) -> np.dtype:
    """What values of a type that conditions are compiled for are on a card; truth values are bits at first."""
    if _t.is_boolean(kind):
        return np.dtype(np.uint8)
    if _t.is_temporal(kind):
        return np.dtype(np.int32 if kind.bit_width == 32 else np.int64)
    return np.dtype(kind.to_pandas_dtype())


def put_column(card: Card, column: pa.ChunkedArray) -> CardColumn:
    """A copy of a column on the card."""
    array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.array([], column.type), *column.chunks])
    count, shift = len(array), array.offset % 8
    validity, buffer = array.buffers()

    def unpack(buffer: pa.Buffer) -> Any:
        """Bits of the rows as bytes on the card."""
        found = card.xp.empty(count, np.uint8)
        bits = np.frombuffer(buffer, np.uint8, (shift + count + 7) // 8, array.offset // 8)
        arguments = (send(card, bits), np.int32(shift), count, found)
        card.launch(cuda_text("columns"), "unpack_bits", -(-count // _THREADS), _THREADS, arguments)
        return found

    kept = _storage(array.type)
    if not count:
        return CardColumn(card.xp.empty(0, kept), None)
    if _t.is_boolean(array.type):
        values = unpack(buffer)
    else:
        values = send(card, np.frombuffer(buffer, kept, count, array.offset * kept.itemsize))
    return CardColumn(values, unpack(validity) if array.null_count else None)
