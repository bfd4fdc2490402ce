"""Arrays of this process to a card, through pinned buffers where they are large.

A card copies by itself from pinned memory alone, some four times as fast as from any other. So parts of a large array
are copied into a pinned buffer by a few threads, while the card fetches the part before.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from trendweave.gpu.card import Card

_COPYING_THREADS = max(1, min(8, (os.cpu_count() or 1) // 2))
#: Less than this is copied by one thread.
_SMALL = 1 << 20
#: Less than this goes to the card as it is.
LARGE = 1 << 23
#: The bytes of a pinned buffer.
_PART = 1 << 24


def put_array(card: Card, array: np.ndarray, part_bytes: int = _PART) -> Any:
    """A copy of an array on the card, complete.

    Args:
        card: The card.
        array: Of one dimension, in one piece.
        part_bytes: The bytes that go at once, if it is large.
    """
    if array.nbytes < min(LARGE, part_bytes) or card.is_pinned(array):
        return card.put(array)
    target = card.xp.empty(array.size, array.dtype)
    part = max(part_bytes // array.itemsize, 1)
    lanes = [(card.stream(), card.pinned(part, array.dtype)) for _ in range(2)]
    card.synchronize()  # the room was made on another stream
    for number, first in enumerate(range(0, array.size, part)):
        stream, buffer = lanes[number % 2]
        stream.synchronize()
        source = array[first : first + part]
        copy_by_threads(source, buffer[: source.size])
        with stream:
            card.copy_in(buffer[: source.size], target[first : first + source.size])
    for stream, _ in lanes:
        stream.synchronize()
    return target


def copy_by_threads(source: np.ndarray, target: np.ndarray) -> None:
    """Copy an array by several threads where it is large: one alone does not fill the bus."""
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
