"""Pairs whose values lie near each other, or in order: members sorted by value in chunks about as long as ranges are,
and a binary search in each of the few chunks that a range touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trendweave.gpu.card import Card
from trendweave.gpu.joins import Condition, Pairs, find_among
from trendweave.gpu.sources import cuda_text
from trendweave.gpu.windows import ordered_codes

_SMALLEST, _LARGEST = 256, 1 << 20
_THREADS = 256


@dataclass(frozen=True, slots=True)
class Chunks:
    """Values of rows of the other side, sorted within chunks.

    Attributes:
        values: float64 on the card; what has no value stands behind.
        members: The row of each.
        finite: Per chunk, the place behind the last that is finite.
        present: Per chunk, the place behind the last that is a number.
        size: The rows of a chunk.
        ways: 2 where there are infinities, else 1.
    """

    values: Any
    members: Any
    finite: Any
    present: Any
    size: int
    ways: int


def chunk_size(typical: int) -> int:
    """How long chunks are, for ranges that are mostly so long."""
    return min(max(1 << max(typical - 1, 0).bit_length(), _SMALLEST), _LARGEST)


def sort_chunks(card: Card, values: Any, size: int) -> Chunks:
    """Sort values of rows within chunks.

    Args:
        card: The card.
        values: float64 on the card; infinity for rows that are always looked at, NaN for those that never are.
        size: The rows of a chunk.
    """
    xp = card.xp
    number = -(-len(values) // size)
    padded = xp.full(number * size, np.nan)
    padded[: len(values)] = values
    # Cards sort whole numbers much faster than floats: by value, and then by chunk, as equal ones stay in order.
    order = xp.argsort(ordered_codes(card, padded), kind="stable")
    order = order[xp.argsort((order // size).astype(np.int32), kind="stable")].astype(np.int64)
    table = padded.reshape(number, size)
    starts = xp.arange(number, dtype=np.int64) * size
    finite = (starts + xp.isfinite(table).sum(axis=1)).astype(np.int64)
    present = (starts + (~xp.isnan(table)).sum(axis=1)).astype(np.int64)
    ways = 2 if bool((present > finite).any()) else 1
    return Chunks(padded[order], order, finite, present, size, ways)


def find_near(card: Card, condition: Condition, chunks: Chunks, low: Any, high: Any, least: Any, most: Any) -> Pairs:
    """Pairs of a probe and a row of its range whose value lies between two bounds, as far as the condition holds; in
    the order of probes alone.

    Args:
        card: The card.
        condition: What pairs are tested for.
        chunks: The values of the other side.
        low: Per probe, the first row that it may meet.
        high: Up to but without this one.
        least: Per probe, the least value, float64.
        most: The largest one.
    """
    xp, probes = card.xp, len(low)
    if not probes or not len(chunks.values):
        return Pairs(xp.empty(0, np.int64), xp.empty(0, np.int64))
    longest = int((high - low).max())
    each = (max(longest, 1) - 1) // chunks.size + 2
    runs = probes * each * chunks.ways
    begins, lengths = xp.empty(runs, np.int64), xp.empty(runs, np.int64)
    bounds = (low, high, least, most, probes, np.int32(each), np.int32(chunks.ways), begins, lengths)
    arguments = (chunks.values, chunks.finite, chunks.present, chunks.size, *bounds)
    blocks = -(-probes * each // _THREADS)
    card.launch(cuda_text("bands"), "find_in_chunks", blocks, _THREADS, arguments)
    owners = xp.arange(runs, dtype=np.int64) // (each * chunks.ways)
    return find_among(card, condition, begins, lengths, owners, chunks.members, (low, high))
