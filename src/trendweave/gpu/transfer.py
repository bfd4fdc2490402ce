"""Columns of this process on their way to a card: in chunks, so that copies of some overlap with work on others.

Each lane has a stream, its own arrays on the card and its own pinned buffers. What lies in pinned memory is copied from
where it lies; all else goes through the pinned buffers, filled by a few threads while the card copies others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.gpu.card import Card, Stream
from trendweave.gpu.columns import CardColumn, Lying, lying, unpack_into
from trendweave.gpu.sending import copy_by_threads

#: Called on the stream of a lane with columns on the card, the number of their first row and how many rows there are.
Work: TypeAlias = Callable[[Sequence[CardColumn], int, int], None]

#: So many rows go at once; a multiple of 32, so that a chunk begins in a byte of its own and in a word of its mask.
CHUNK_ROWS = 1 << 22
_LANES = 3


class Lane:
    """A stream with room for one chunk."""

    def __init__(self, card: Card, columns: Sequence[Lying], rows: int) -> None:
        self.card = card
        self.stream: Stream = card.stream()
        self._values: list[Any] = [card.xp.empty(_room(column, rows), column.values.dtype) for column in columns]
        self._bits: list[Any] = [
            None if column.valid is None else card.xp.empty(rows // 8 + 2, np.uint8) for column in columns
        ]
        self._flags: list[Any] = [card.xp.empty(rows, np.uint8) if _is_boolean(column) else None for column in columns]
        self._valid: list[Any] = [None if column.valid is None else card.xp.empty(rows, np.uint8) for column in columns]
        self._staged: dict[tuple[int, str], np.ndarray] = {}

    def send(self, columns: Sequence[Lying], first: int, rows: int) -> list[CardColumn]:
        """Start to copy rows of columns; what comes back is there when the stream has done it."""
        return [self._send(place, column, first, rows) for place, column in enumerate(columns)]

    def _send(self, place: int, column: Lying, first: int, rows: int) -> CardColumn:
        if _is_boolean(column):
            bits = self._copy((place, "values"), _bytes(column.values, column.shift, first, rows), self._values[place])
            values = self._flags[place][:rows]
            unpack_into(self.card, bits, column.shift, rows, values)
        else:
            values = self._copy((place, "values"), column.values[first : first + rows], self._values[place])
        if column.valid is None:
            return CardColumn(column.kind, values, None)
        bits = self._copy((place, "valid"), _bytes(column.valid, column.shift, first, rows), self._bits[place])
        valid = self._valid[place][:rows]
        unpack_into(self.card, bits, column.shift, rows, valid)
        return CardColumn(column.kind, values, valid)

    def _copy(self, name: tuple[int, str], source: np.ndarray, room: Any) -> Any:
        target = room[: source.size]
        if not self.card.is_pinned(source):
            if name not in self._staged:
                self._staged[name] = self.card.pinned(len(room), source.dtype)
            staged = self._staged[name][: source.size]
            copy_by_threads(source, staged)
            source = staged
        self.card.copy_in(source, target)
        return target


def stream_batches(card: Card, arrays: Sequence[pa.Array], work: Work, chunk_rows: int = CHUNK_ROWS) -> None:
    """Send columns of one length to the card, chunk by chunk, and work on each; all is done at the end.

    Args:
        card: The card.
        arrays: Of types that have a `storage`.
        work: What is done with each chunk.
        chunk_rows: So many rows at once, a multiple of 32.
    """
    assert chunk_rows % 32 == 0
    columns = [lying(array) for array in arrays]
    count = columns[0].count
    rows = min(chunk_rows, count)
    lanes = [Lane(card, columns, rows) for _ in range(min(_LANES, -(-count // chunk_rows)))]
    card.synchronize()  # what lanes work on was made on another stream
    for number, first in enumerate(range(0, count, chunk_rows)):
        lane = lanes[number % len(lanes)]
        lane.stream.synchronize()
        with lane.stream:
            now = min(chunk_rows, count - first)
            work(lane.send(columns, first, now), first, now)
    for lane in lanes:
        lane.stream.synchronize()


def _is_boolean(column: Lying) -> bool:
    return bool(pa.types.is_boolean(column.kind))


def _room(column: Lying, rows: int) -> int:
    return rows // 8 + 2 if _is_boolean(column) else rows


def _bytes(bits: np.ndarray, shift: int, first: int, rows: int) -> np.ndarray:
    """The bytes that hold the bits of some rows; the first row has the same place in its byte as that of the array."""
    return bits[first // 8 : first // 8 + (shift + rows + 7) // 8]
