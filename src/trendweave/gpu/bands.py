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
#: Chunk and place of a row have half of a key.
_MOST_KEYS = 1 << 32
#: Rows near a probe that its thread looks at.
_FEW_NEAR = 256
#: Values with the same first digits that one thread puts in order.
_SAME_DIGITS = 64


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
        size: The rows of a chunk, a power of two.
    """
    xp, count = card.xp, len(values)
    ordered, members = _sort_keys(card, values, size) or _sort_twice(card, values, size)
    number = -(-count // size)
    finite, present = xp.empty(number, np.int64), xp.empty(number, np.int64)
    blocks = -(-number // _THREADS)
    card.launch(_text(), "count_numbers", blocks, _THREADS, (ordered, count, size, number, finite, present))
    ways = 2 if bool((present > finite).any()) else 1
    return Chunks(ordered, members, finite, present, size, ways)


def _sort_keys(card: Card, values: Any, size: int) -> tuple[Any, Any] | None:
    """By keys of a chunk, a value's first digits and a place, as cards sort bare numbers faster than numbers with rows;
    and those with the same first digits again. None where too many have the same."""
    xp, count = card.xp, len(values)
    if count > _MOST_KEYS:
        return None
    bits, blocks = np.int32(size.bit_length() - 1), -(-count // _THREADS)
    keys = xp.empty(count, np.uint64)
    card.launch(_text(), "make_keys", blocks, _THREADS, (values, count, bits, keys))
    keys.sort()
    ordered, members, wrong = xp.empty(count), xp.empty(count, np.int64), xp.zeros(1, np.int32)
    card.launch(_text(), "read_keys", blocks, _THREADS, (keys, values, count, bits, ordered, members))
    arguments = (keys, count, bits, np.int32(_SAME_DIGITS), ordered, members)
    card.launch(_text(), "order_same_digits", blocks, _THREADS, arguments)
    card.launch(_text(), "check_order", blocks, _THREADS, (ordered, count, size, wrong))
    return None if int(wrong[0]) else (ordered, members)


def _sort_twice(card: Card, values: Any, size: int) -> tuple[Any, Any]:
    """By value, and then by chunk, as equal ones stay in order. Cards sort whole numbers faster than floats."""
    xp = card.xp
    order = xp.argsort(ordered_codes(card, values), kind="stable")
    order = order[xp.argsort((order // size).astype(np.int32), kind="stable")].astype(np.int64)
    return values[order], order


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
    bounds = (low, high, least, most, probes)
    if (few := _near_few(card, condition, chunks, bounds)) is not None:
        return few
    longest = int((high - low).max())
    each = (max(longest, 1) - 1) // chunks.size + 2
    runs = probes * each * chunks.ways
    begins, lengths = xp.empty(runs, np.int64), xp.empty(runs, np.int64)
    found = (np.int32(each), np.int32(chunks.ways), begins, lengths)
    arguments = (chunks.values, chunks.finite, chunks.present, chunks.size, *bounds, *found)
    blocks = -(-probes * each // _THREADS)
    card.launch(_text(), "find_in_chunks", blocks, _THREADS, arguments)
    return find_among(card, condition, begins, lengths, each * chunks.ways, chunks.members, (low, high))


def _near_few(card: Card, condition: Condition, chunks: Chunks, bounds: tuple[Any, ...]) -> Pairs | None:
    """The same, by a thread for each probe; None where some probe has many rows near it."""
    xp, probes = card.xp, bounds[-1]
    text, columns, blocks = condition.text("places", "near"), condition.arguments(card), -(-probes // _THREADS)
    bits = np.int32(chunks.size.bit_length() - 1)
    given = (chunks.values, chunks.members, chunks.finite, chunks.present, bits, np.int32(chunks.ways), *bounds)
    counts, many = xp.empty(probes, np.int32), xp.zeros(1, np.int32)
    card.launch(text, "count_near", blocks, _THREADS, (*given, np.int32(_FEW_NEAR), counts, many, *columns))
    ends = xp.cumsum(counts, dtype=np.int64)
    if int(many[0]):
        return None
    total = int(ends[-1])
    probe, other = xp.empty(total, np.int64), xp.empty(total, np.int64)
    card.launch(text, "fill_near", blocks, _THREADS, (*given, counts, ends, probe, other, *columns))
    return Pairs(probe, other)


def _text() -> str:
    return cuda_text("places", "bands")
