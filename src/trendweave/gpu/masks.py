"""Rows that are kept: a mask with one bit per row, and what it keeps of columns, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trendweave.gpu.card import Card
from trendweave.gpu.columns import CardColumn
from trendweave.gpu.sources import cuda_text

#: As in columns.cu.
BLOCK_ROWS = 2048
_WORDS = BLOCK_ROWS // 32
_THREADS = 256


@dataclass(frozen=True, slots=True)
class Kept:
    """Which rows are kept.

    Attributes:
        mask: Bits in words of 32 on the card, lowest first.
        ends: How many rows are kept up to the end of each block of rows, on the card.
        count: How many are kept.
    """

    mask: Any
    ends: Any
    count: int

    def rows(self, card: Card) -> Any:
        """The numbers of the rows that are kept."""
        found = card.xp.empty(self.count, np.int64)
        self._launch(card, "kept_rows", found)
        return found

    def move(self, card: Card, values: Any) -> Any:
        """What is kept of an array with a value per row."""
        found = card.xp.empty(self.count, values.dtype)
        self._launch(card, f"move_{values.dtype.itemsize}", values, found)
        return found

    def move_column(self, card: Card, column: CardColumn) -> CardColumn:
        """What is kept of a column."""
        valid = None if column.valid is None else self.move(card, column.valid)
        return CardColumn(column.kind, self.move(card, column.values), valid)

    def _launch(self, card: Card, kernel: str, *arrays: Any) -> None:
        if self.count:
            arguments = (self.mask, self.ends, len(self.mask), *arrays)
            card.launch(cuda_text("columns"), kernel, len(self.ends), _THREADS, arguments)


def count_kept(card: Card, mask: Any) -> Kept:
    """A mask, counted."""
    blocks = -(-len(mask) // _WORDS)
    counts = card.xp.empty(blocks, np.int64)
    card.launch(cuda_text("columns"), "count_bits", blocks, _WORDS, (mask, len(mask), counts))
    ends = card.xp.cumsum(counts)
    return Kept(mask, ends, int(ends[-1]) if blocks else 0)
