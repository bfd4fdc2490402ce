"""Columns on a card: Arrow columns put there as they lie in memory, validity and truth values as bits on the way.

On the card a column is an array of its values, and an array of bytes that are 1 where a value is not NULL, where some
are NULL. Types without such an array (texts, lists, decimals) stay where they are.
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
THREADS = 256


@dataclass(frozen=True, slots=True)
class CardColumn:
    """A column on a card.

    Attributes:
        kind: Its type in Arrow.
        values: On the card; truth values are bytes.
        valid: Bytes on the card, 1 where a value is not NULL; None where none is.
    """

    kind: pa.DataType
    values: Any
    valid: Any | None


def storage(kind: pa.DataType) -> np.dtype | None:
    """What values of a type are on a card; None where they cannot be there."""
    if _t.is_boolean(kind):
        return np.dtype(np.uint8)
    if _t.is_integer(kind) or _t.is_float32(kind) or _t.is_float64(kind):
        return np.dtype(kind.to_pandas_dtype())
    if _t.is_temporal(kind) and not _t.is_interval(kind):
        return np.dtype(np.int32 if kind.bit_width == 32 else np.int64)
    return None


@dataclass(frozen=True, slots=True)
class Lying:
    """An Arrow array as it lies in memory.

    Attributes:
        kind: Its type.
        count: How many values there are.
        values: The values; of truth values the bytes that hold their bits.
        valid: The bytes that hold the bits of validity; None where no value is NULL.
        shift: The bit of the first value in the first byte.
    """

    kind: pa.DataType
    count: int
    values: np.ndarray
    valid: np.ndarray | None
    shift: int


def lying(array: pa.Array) -> Lying:
    """How an Arrow array of a type with a `storage` lies in memory; nothing is copied."""
    first, count = array.offset, len(array)
    kept = storage(array.type)
    assert kept is not None, array.type
    validity, buffer = array.buffers()
    shift = first % 8

    def bits(buffer: pa.Buffer) -> np.ndarray:
        return np.frombuffer(buffer, np.uint8, (shift + count + 7) // 8, first // 8)

    if not count:
        values = np.zeros(0, np.uint8 if _t.is_boolean(array.type) else kept)
    elif _t.is_boolean(array.type):
        values = bits(buffer)
    else:
        values = np.frombuffer(buffer, kept, count, first * kept.itemsize)
    valid = bits(validity) if validity is not None and array.null_count else None
    return Lying(array.type, count, values, valid, shift)


def put_column(card: Card, column: pa.Array | pa.ChunkedArray) -> CardColumn:
    """A copy of a column on the card."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # Arrow gives an empty one no chunk
            column = pa.array([], column.type)
    found = lying(column)
    values = send(card, found.values)
    if _t.is_boolean(found.kind):
        values = unpack(card, values, found.shift, found.count)
    valid = None if found.valid is None else unpack(card, send(card, found.valid), found.shift, found.count)
    return CardColumn(found.kind, values, valid)


def get_column(card: Card, column: CardColumn) -> pa.Array:
    """A column of a card as an Arrow array."""
    count = len(column.values)
    valid = None if column.valid is None else _bits_to_arrow(card, column.valid)
    if _t.is_boolean(column.kind):
        values = _bits_to_arrow(card, column.values)
    else:
        values = pa.py_buffer(card.get(column.values))
    return pa.Array.from_buffers(column.kind, count, [valid, values])


def unpack(card: Card, bits: Any, shift: int, count: int) -> Any:
    """Bits as bytes."""
    found = card.xp.empty(count, np.uint8)
    unpack_into(card, bits, shift, count, found)
    return found


def unpack_into(card: Card, bits: Any, shift: int, count: int, found: Any) -> None:
    """Bits as bytes, into an array that is there."""
    arguments = (bits, np.int32(shift), count, found)
    card.launch(cuda_text("columns"), "unpack_bits", -(-count // THREADS), THREADS, arguments)


def pack(card: Card, flags: Any) -> Any:
    """Bytes as bits, in words of 32, lowest first."""
    count = len(flags)
    words = card.xp.zeros(-(-count // 32), np.uint32)
    card.launch(cuda_text("columns"), "pack_bytes", -(-count // THREADS), THREADS, (flags, count, words))
    return words


def _bits_to_arrow(card: Card, flags: Any) -> pa.Buffer:
    return pa.py_buffer(card.get(pack(card, flags)))
