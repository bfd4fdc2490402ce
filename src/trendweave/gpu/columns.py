"""Columns on a GPU: Arrow columns put there as they lie in memory, validity and truth values as bits on the way.

There a column is an array of its values, and an array of bytes that are 1 where a value is not NULL. Types without
such an array (texts, lists, decimals) stay where they are. A GPU copies by itself from pinned memory alone, several
times as fast as from any other: one part is copied into it by a few threads while the last one travels.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.gpu.card import Card, cuda_text

#: Bytes of a part. Shorter columns are copied at once.
PART_BYTES = 16 << 20
_ROOMS = 2
_COPYING_THREADS = max(1, min(8, (os.cpu_count() or 1) // 2))
#: Less than this is copied by one thread.
_SMALL = 1 << 20


class Sender:
    """Pinned memory for parts, kept for all columns that go to one card, and a stream for each of its rooms."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self._rooms = [card.pinned(PART_BYTES, np.uint8) for _ in range(_ROOMS)]
        self._streams = [card.stream() for _ in range(_ROOMS)]
        self._lock = Lock()

    def send(self, column: np.ndarray, kind: Any) -> Any:
        """A copy of a column on the card, of this kind."""
        target = self.card.xp.empty(column.size, kind)
        self.card.synchronize()  # memory that the card has just freed may still be read by earlier work
        each = PART_BYTES // np.dtype(kind).itemsize
        with self._lock:
            for number, first in enumerate(range(0, column.size, each)):
                part = column[first : first + each]
                room = self._rooms[number % _ROOMS][: part.size * np.dtype(kind).itemsize].view(kind)
                stream = self._streams[number % _ROOMS]
                stream.synchronize()
                copy_by_threads(part, room)
                with stream:
                    self.card.copy_in(room, target[first : first + part.size])
            for stream in self._streams:
                stream.synchronize()
        return target


#: One per card of this process, which it keeps.
SENDERS: dict[int, Sender] = {}


def send(card: Card, column: np.ndarray, kind: Any = None) -> Any:
    """A copy of a column on the card. Whole numbers may get fewer bytes there, in which they must fit.

    Args:
        card: The card.
        column: Of one dimension.
        kind: What it is there; None: what it is.
    """
    kind = column.dtype if kind is None else kind
    if column.nbytes <= PART_BYTES or (column.dtype == kind and card.is_pinned(column)):
        return card.put(column.astype(kind, copy=False))
    if id(card) not in SENDERS:
        SENDERS[id(card)] = Sender(card)
    return SENDERS[id(card)].send(column, kind)


def copy_by_threads(source: np.ndarray, target: np.ndarray) -> None:
    """Copy an array by several threads where it is large."""
    if source.nbytes < _SMALL:
        np.copyto(target, source)
        return
    edges = np.linspace(0, source.size, _COPYING_THREADS + 1).astype(np.int64)
    waiting: list[Future[None]] = [
        _pool().submit(np.copyto, target[low:high], source[low:high]) for low, high in pairwise(edges)
    ]
    for one in waiting:
        one.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_COPYING_THREADS, "trendweave-copies")


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
