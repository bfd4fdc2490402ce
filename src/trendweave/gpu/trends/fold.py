"""Trends without conditions between events: pieces of rows as matrices, windows as products of them.

A window that is one short piece is a vector; one thread goes over it. Other windows are made of pieces: they are cut
where windows begin and end, and where pieces get long. The products of `FAN` pieces, of `FAN` such products and so on
are kept, so that a window of many pieces is a product of few.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trendweave.gpu.card import PLAIN_SHARED_BYTES, Card
from trendweave.gpu.trends.numbers import Numbers
from trendweave.gpu.trends.written import write_fold
from trendweave.kernels import Rows, Template
from trendweave.kernels.aggregates.blocks import Blocks
from trendweave.kernels.loops.fold import plan_fold
from trendweave.kernels.sorting import list_ranges

#: Rows of a piece, and pieces of a product.
PIECE_ROWS = 1024
FAN = 32
#: Windows of at most so many rows are gone over by one thread each, unless they share most of their rows.
SHORT_WINDOW = 4096
SHARED_ROWS = 4
_THREADS = 128


class Fold:
    """Rows and template on a card, ready for several passes; `packed` says what each row is read as."""

    def __init__(self, card: Card, rows: Rows, template: Template, blocks: Blocks, packed: Any) -> None:
        self.card, self.packed, self.rows = card, packed, rows.tick.size
        self.plan = plan_fold(template)
        self.wide = len(self.plan.variable) + 1  # the numbers of a vector, of one kind
        self.windows = blocks.window.size
        length = blocks.row_end - blocks.row_start
        self.direct = bool(
            length.max(initial=0) <= SHORT_WINDOW and length.sum() <= SHARED_ROWS * self.wide * self.rows
        )
        cuts = blocks.row_start if self.direct else cut_pieces(rows, blocks)
        starts, ends = (cuts, blocks.row_end) if self.direct else (cuts[:-1], cuts[1:])
        self._starts, self._ends = card.put(starts), card.put(ends)
        self._of_windows = [card.put(np.searchsorted(cuts, edge)) for edge in (blocks.row_start, blocks.row_end)]
        self.levels = [starts.size]  # pieces, and products of ever more of them
        while self.levels[-1] > FAN:
            self.levels.append(-(-self.levels[-1] // FAN))

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
        card, text = self.card, write_fold(self.plan, numbers.kind, sums)
        results = card.xp.zeros((self.windows, 1 + sums), numbers.dtype)
        length = (1 + sums) * self.wide
        matrices = results if self.direct else card.xp.empty((sum(self.levels) * self.wide, length), numbers.dtype)
        bases = 1 if self.direct else self.wide
        arguments = (
            *(self._starts, self._ends, np.int64(self.levels[0]), np.int32(bases), self.packed, np.int64(self.rows)),
            *(values, value_states, *numbers.modulus, matrices),
        )
        card.launch(text, "fold", -(-self.levels[0] * bases // _THREADS), _THREADS, arguments)
        if self.direct:
            return card.get(results)
        # Two vectors of each thread lie in shared memory.
        threads = _THREADS if _THREADS * 16 * length <= PLAIN_SHARED_BYTES else 32
        starts = np.cumsum([0, *self.levels])
        for level, count in enumerate(self.levels[:-1]):
            factors, products = (matrices[starts[place] * self.wide :] for place in (level, level + 1))
            asked = (factors, np.int64(count), np.int32(FAN), *numbers.modulus, products)
            blocks = -(-self.levels[level + 1] * self.wide // threads)
            card.launch(text, "join_pieces", blocks, threads, asked, threads * 16 * length)
        asked = (
            *(matrices, card.put(starts[:-1]), np.int32(len(self.levels)), np.int32(FAN), *self._of_windows),
            *(np.int64(self.windows), *numbers.modulus, results),
        )
        card.launch(text, "sum_windows", -(-self.windows // threads), threads, asked, threads * 16 * length)
        return card.get(results)


def cut_pieces(rows: Rows, blocks: Blocks) -> np.ndarray:
    """Rows where pieces begin, and the end: where windows begin and end, and where a tick begins after so many rows."""
    edges = np.unique(np.concatenate([blocks.row_start, blocks.row_end]))
    long = np.flatnonzero(np.diff(edges) > PIECE_ROWS)
    counts = (edges[long + 1] - edges[long] - 1) // PIECE_ROWS
    number = list_ranges(np.ones_like(counts), counts)
    inside = np.repeat(edges[long], counts) + number * PIECE_ROWS
    last = np.minimum(inside + PIECE_ROWS, np.repeat(edges[long + 1], counts))
    waiting, found = inside, [edges]
    while waiting.size:
        begins = rows.tick[waiting] != rows.tick[waiting - 1]
        found.append(waiting[begins])
        waiting, last = waiting[~begins] + 1, last[~begins]
        waiting, last = waiting[waiting < last], last[waiting < last]
    return np.unique(np.concatenate(found)).astype(np.int64)
