"""Columns on their way to a card, by pinned memory: one part is copied into it while the last one travels."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from trendweave.gpu.card import Card
from trendweave.gpu.uploads import copy_by_threads

#: Bytes of a part. Shorter columns are copied at once.
PART_BYTES = 16 << 20
_ROOMS = 2


class Sender:
    """Pinned memory for parts, kept for all columns that go to one card, and a stream for each of its rooms."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self._rooms = [card.pinned(PART_BYTES, np.uint8) for _ in range(_ROOMS)]
        self._streams = [card.stream() for _ in range(_ROOMS)]
        self._lock = Lock()

    def send(self, column: np.ndarray, kind: type[np.generic]) -> Any:
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


def send(card: Card, column: np.ndarray, kind: type[np.generic]) -> Any:
    """A copy of a column on the card. Whole numbers may get fewer bytes there, in which they must fit."""
    if column.nbytes <= PART_BYTES:
        return card.put(column.astype(kind, copy=False))
    if id(card) not in SENDERS:
        SENDERS[id(card)] = Sender(card)
    return SENDERS[id(card)].send(column, kind)
