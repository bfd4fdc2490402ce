"""Trends without conditions between events: pieces of rows as matrices, windows as products of them.

A window that is one short piece is a vector; one thread goes over it. Other windows are made of pieces: they are cut
where windows begin and end, and where pieces get long. The products of `FAN` pieces, of `FAN` such products and so on
are kept, so that a window of many pieces is a product of few.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trendweave.gpu.card import Card
from trendweave.gpu.trends.card_rows import CardRows
from trendweave.gpu.trends.numbers import Numbers, kernel_text
from trendweave.kernels import Rows, Template
from trendweave.kernels.aggregates.blocks import Blocks
from trendweave.kernels.loops.fold import fold_shape
from trendweave.kernels.loops.vectors import Numbers as NumberKind

#: Rows of a piece, and pieces of a product.
PIECE_ROWS = 1024
FAN = 32
#: Windows of at most so many rows are gone over by one thread each, unless they share most of their rows.
SHORT_WINDOW = 4096
SHARED_ROWS = 4
_THREADS = 128


class Totals:
    """Rows and template on a card, ready for several passes."""

    def __init__(self, card: Card, rows: Rows, template: Template, blocks: Blocks, on_card: CardRows) -> None:
        self.card, self.packed, self.rows = card, on_card.packed, rows.tick.size
        self.states = len(template.state_variable)
        steps = fold_shape(template, np.zeros((0, self.states)), NumberKind.EXACT, 1)
        self._source_from = card.put(np.cumsum([0, *map(len, steps.sources)]).astype(np.int32))
        self._sources = card.put(np.concatenate([[], *steps.sources]).astype(np.int32))
        self._final = np.uint32(sum(1 << state for state in steps.final))
        self.windows = blocks.window.size
        length = blocks.row_end - blocks.row_start
        self.direct = bool(
            length.max(initial=0) <= SHORT_WINDOW and length.sum() <= SHARED_ROWS * (self.states + 1) * self.rows
        )
        if self.direct:
            starts, ends = blocks.row_start, blocks.row_end
        else:
            cuts = cut_pieces(rows, blocks)
            starts, ends = cuts[:-1], cuts[1:]
            self._first_piece = card.put(np.searchsorted(cuts, blocks.row_start))
            self._end_piece = card.put(np.searchsorted(cuts, blocks.row_end))
        self.pieces = starts.size
        self._starts, self._ends = card.put(starts), card.put(ends)

    def run(self, numbers: Numbers, values: Any, value_states: Any, sums: int, chosen: np.ndarray | None) -> np.ndarray:
        """Totals per window.

        Args:
            numbers: What trends carry.
            values: On the card, one line per sum (or the codes whose largest is wanted).
            value_states: On the card, per line the states whose rows count, as bits.
            sums: The number of sums.
            chosen: Unused: all windows are gone over at once.

        Returns:
            A line per window: the number of trends, then the sums.
        """
        results = self.card.xp.empty((self.windows, 1 + sums), numbers.dtype)
        text = kernel_text("trends_totals", numbers.kind, sums)
        bases = 1 if self.direct else self.states + 1
        vectors = self.card.xp.empty((self.pieces * bases, self._length(sums)), numbers.dtype)
        threads = self._threads(sums)
        arguments = (
            *(self._starts, self._ends, np.int64(self.pieces), np.int32(bases), self.packed, np.int64(self.rows)),
            *(np.int32(self.states), self._source_from, self._sources, values, value_states, *numbers.modulus, vectors),
        )
        blocks = -(-self.pieces * bases // threads)
        self.card.launch(text, "sum_pieces", blocks, threads, arguments, self._shared(threads, sums))
        if self.direct:
            asked = (vectors, np.int64(self.windows), np.int32(self.states), self._final, *numbers.modulus, results)
            self.card.launch(text, "read_vectors", -(-self.windows // threads), threads, asked)
            return self.card.get(results)
        levels = self._join(text, numbers, vectors, threads, sums)
        self._sum_windows(text, numbers, levels, threads, sums, results)
        return self.card.get(results)

    def _join(self, text: str, numbers: Numbers, vectors: Any, threads: int, sums: int) -> list[Any]:
        """Products of ever more pieces, each level `FAN` times fewer; the pieces first."""
        wide = self.states + 1
        levels, count = [vectors], self.pieces
        while count > FAN:
            joined = -(-count // FAN)
            product = self.card.xp.empty((joined * wide, self._length(sums)), numbers.dtype)
            arguments = (levels[-1], np.int64(count), np.int32(FAN), np.int32(self.states), *numbers.modulus, product)
            blocks = -(-joined * wide // threads)
            self.card.launch(text, "join_pieces", blocks, threads, arguments, self._shared(threads, sums))
            levels.append(product)
            count = joined
        return levels

    def _sum_windows(
        self, text: str, numbers: Numbers, levels: list[Any], threads: int, sums: int, results: Any
    ) -> None:
        counts = [level.shape[0] // (self.states + 1) for level in levels]
        starts = self.card.put(np.cumsum([0, *counts[:-1]]).astype(np.int64))
        matrices = levels[0] if len(levels) == 1 else self.card.xp.concatenate(levels)
        arguments = (
            *(matrices, starts, np.int32(len(levels)), np.int32(FAN), self._first_piece, self._end_piece),
            *(np.int64(self.windows), np.int32(self.states), self._final, *numbers.modulus, results),
        )
        blocks = -(-self.windows // threads)
        self.card.launch(text, "sum_windows", blocks, threads, arguments, self._shared(threads, sums))

    def _length(self, sums: int) -> int:
        """Numbers of a vector."""
        return (1 + sums) * (self.states + 1)

    def _threads(self, sums: int) -> int:
        """Threads of a block whose vectors fit its memory."""
        return _THREADS if self._shared(_THREADS, sums) <= 32 * 1024 else 32

    def _shared(self, threads: int, sums: int) -> int:
        return threads * 2 * 8 * self._length(sums)


def cut_pieces(rows: Rows, blocks: Blocks) -> np.ndarray:
    """Rows where pieces begin, and the end: where windows begin and end, and where a tick begins after so many rows."""
    edges = np.unique(np.concatenate([blocks.row_start, blocks.row_end]))
    long = np.flatnonzero(np.diff(edges) > PIECE_ROWS)
    counts = (edges[long + 1] - edges[long] - 1) // PIECE_ROWS
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    inside = np.repeat(edges[long], counts) + number * PIECE_ROWS
    last = np.minimum(inside + PIECE_ROWS, np.repeat(edges[long + 1], counts))
    waiting, found = inside, [edges]
    while waiting.size:
        begins = rows.tick[waiting] != rows.tick[waiting - 1]
        found.append(waiting[begins])
        waiting, last = waiting[~begins] + 1, last[~begins]
        waiting, last = waiting[waiting < last], last[waiting < last]
    return np.unique(np.concatenate(found)).astype(np.int64)
