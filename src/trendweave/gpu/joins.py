"""Pairs of rows on a GPU: each probe meets a range of rows of the other side.

A scan puts tiles of the other side into shared memory, counts what each probe meets there, and writes pairs in a second
pass over those stretches alone in which there are some. Short ranges at many places have a thread each. Both give pairs
in the order of probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trendweave.expressions.compiled.condition import Compiled
from trendweave.gpu.card import Card
from trendweave.gpu.columns import CardColumn
from trendweave.gpu.filter import PROBES, join_text

_THREADS = 128
_BLOCK_PROBES = _THREADS * PROBES
_TILE = 256
#: Blocks that keep a card busy.
_BLOCKS = 4096


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows on the card, in the order of probes, then of rows of the other side; both int64."""

    probe: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on pairs, with the columns it reads.

    Attributes:
        compiled: What holds of a pair.
        probe_side: Which side probes are of: left or right.
        columns: By side and name, on the card.
    """

    compiled: Compiled
    probe_side: str
    columns: Mapping[tuple[str, str], CardColumn]

    def text(self, file: str = "joins") -> str:
        """Its kernels, of this file."""
        return join_text(self.compiled, self.probe_side, file)

    def arguments(self, card: Card) -> list[Any]:
        """Pointers to the columns, as kernels take them."""
        found: list[Any] = []
        for operand in self.compiled.operands:
            column = self.columns[operand.side, operand.column]
            found.append(column.values)
            if operand.nullable:
                found.append(card.xp.ones(len(column.values), np.uint8) if column.valid is None else column.valid)
        return found


def find_pairs(card: Card, condition: Condition, low: Any, high: Any, most: int | None = None) -> Pairs | None:
    """All pairs of a probe and a row of its range in which a condition holds.

    Args:
        card: The card.
        condition: The condition.
        low: Per probe, the first row of the other side that it meets, int64 on the card.
        high: Up to but without this one.
        most: So many pairs are too many.

    Returns:
        The pairs; None where they are too many.
    """
    if not len(low):
        return Pairs(low, low)
    spans = _spans(card, low, high)
    pairs = int((high - low).sum())
    # A block looks at all that its probes reach together, so short ranges at many places are better met one by one.
    if pairs < int(spans.sum()) * _BLOCK_PROBES // 2:
        return meet_short(card, condition, low, high, most)
    return scan(card, condition, low, high, int(spans.max()), most)


def scan(card: Card, condition: Condition, low: Any, high: Any, reach: int, most: int | None = None) -> Pairs | None:
    """The same by comparing each probe with each row of its range.

    Args:
        card: The card.
        condition: The condition.
        low: The first row of each range.
        high: Up to but without this one.
        reach: How many rows lie at most between the first and the last that probes of one block meet.
        most: So many pairs are too many.
    """
    xp = card.xp
    counts, begins, size, chunks = count_ranges(card, condition, low, high, reach)
    flat = counts.reshape(-1)
    entries = xp.flatnonzero(flat).astype(np.int64)
    ends = xp.cumsum(flat[entries].astype(np.int64))
    total = int(ends[-1]) if len(entries) else 0
    if most is not None and total > most:
        return None
    probe, other = xp.empty(total, np.int64), xp.empty(total, np.int64)
    arguments = (entries, len(entries), ends, low, high, size, np.int32(chunks), begins, counts, probe, other)
    blocks = -(-len(entries) * 32 // 256)
    card.launch(condition.text(), "fill_pairs", blocks, 256, (*arguments, *condition.arguments(card)))
    return Pairs(probe, other)


def count_ranges(card: Card, condition: Condition, low: Any, high: Any, reach: int) -> tuple[Any, Any, int, int]:
    """How many rows each probe meets in each chunk of what its block reaches: uint32[probes, chunks], where blocks
    begin, the rows of a chunk and how many chunks there are."""
    xp, probes = card.xp, len(low)
    blocks = -(-probes // _BLOCK_PROBES)
    tiles = max(-(-reach // _TILE), 1)
    wanted = min(max(_BLOCKS // blocks, 1), tiles, 1024)
    size = -(-tiles // wanted) * _TILE
    chunks = max(-(-reach // size), 1)
    counts = xp.empty((probes, chunks), np.uint32)
    begins = xp.empty(blocks, np.int64)
    arguments = (probes, low, high, size, np.int32(chunks), begins, counts, *condition.arguments(card))
    card.launch(condition.text(), "count_pairs", (blocks, chunks), _THREADS, arguments)
    return counts, begins, size, chunks


def meet_short(card: Card, condition: Condition, low: Any, high: Any, most: int | None = None) -> Pairs | None:
    """The same by a thread for each probe."""
    xp, probes, text, columns = card.xp, len(low), condition.text(), condition.arguments(card)
    counts, blocks = xp.empty(probes, np.int64), -(-probes // 256)
    card.launch(text, "count_short", blocks, 256, (probes, low, high, counts, *columns))
    ends = xp.cumsum(counts)
    total = int(ends[-1])
    if most is not None and total > most:
        return None
    probe, other = xp.empty(total, np.int64), xp.empty(total, np.int64)
    card.launch(text, "fill_short", blocks, 256, (probes, low, high, counts, ends, probe, other, *columns))
    return Pairs(probe, other)


def _spans(card: Card, low: Any, high: Any) -> Any:
    """How many rows lie between the first and the last that probes of each block meet."""
    xp = card.xp
    blocks = -(-len(low) // _BLOCK_PROBES)
    padded = blocks * _BLOCK_PROBES
    some = high > low
    first, last = xp.full(padded, 2**62, np.int64), xp.zeros(padded, np.int64)
    first[: len(low)] = xp.where(some, low, 2**62)
    last[: len(low)] = xp.where(some, high, 0)
    shape = (blocks, _BLOCK_PROBES)
    return xp.maximum(last.reshape(shape).max(axis=1) - first.reshape(shape).min(axis=1), 0)
