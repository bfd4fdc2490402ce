"""Finds on a GPU which later rows can follow each of some rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from trendweave.expressions.compiled.condition import Compiled, Operand
from trendweave.expressions.compiled.paired import LEFT, PairCondition
from trendweave.gpu.card import Card
from trendweave.gpu.columns import CardColumn
from trendweave.gpu.joins import Condition, find_pairs

_THREADS = 256
_WARP = 32


class CardLinks:
    """Links rows on a card. Columns are copied to it once, however many conditions read them."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._columns: dict[int, tuple[np.ndarray, Any]] = {}

    def find_all(
        self,
        condition: PairCondition,
        sources: np.ndarray,
        targets: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        room: int,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Find all pairs of a source and a target between its bounds that meet the condition.

        Args:
            condition: On a source and a target.
            sources: Rows.
            targets: Rows.
            low: Per source, the place in `targets` to begin at.
            high: Per source, the place to end before.
            room: The most pairs that are wanted.

        Returns:
            Places of sources and of targets, sorted by target and source; None where there are more than `room`.
        """
        begins, ends = self._bounds(low, high)
        pairs = find_pairs(self._card, self._gather(condition, sources, targets), begins, ends, room)
        if pairs is None:
            return None
        both = self._card.get(self._card.xp.sort((pairs.other << 32) | pairs.probe))
        return both & 0xFFFFFFFF, both >> 32

    def find_first(
        self, condition: PairCondition, sources: np.ndarray, targets: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """Find for each source the first target between its bounds that meets the condition.

        Args:
            condition: On a source and a target.
            sources: Rows.
            targets: Rows.
            low: Per source, the place in `targets` to begin at.
            high: Per source, the place to end before.

        Returns:
            Places of targets, or -1.
        """
        first = self._card.xp.empty(sources.size, np.int64)
        asked = self._gather(condition, sources, targets)
        arguments = (sources.size, *self._bounds(low, high), first, *asked.arguments(self._card))
        blocks = -(-sources.size * _WARP // _THREADS)
        self._card.launch(asked.text("links"), "link_first", blocks, _THREADS, arguments)
        return self._card.get(first)

    def _bounds(self, low: np.ndarray, high: np.ndarray) -> tuple[Any, Any]:
        return self._card.put(low.astype(np.int64)), self._card.put(high.astype(np.int64))

    def _gather(self, condition: PairCondition, sources: np.ndarray, targets: np.ndarray) -> Condition:
        """The condition on places: its columns of the left row per source, and those of the right one per target."""
        rows = {side: self._card.put(taken) for side, taken in ((True, sources), (False, targets))}
        operands, columns = [], {}
        for number, column in enumerate(condition.columns):
            operands.append(Operand(column.side, str(number), column.values.dtype, nullable=False))
            taken = self._column(column.values)[rows[column.side == LEFT]]
            columns[column.side, str(number)] = CardColumn(taken, None)
        return Condition(Compiled(tuple(operands), condition.python, condition.cuda), LEFT, columns)

    def _column(self, values: np.ndarray) -> Any:
        if id(values) not in self._columns:
            self._columns[id(values)] = (values, self._card.put(values))
        return self._columns[id(values)][1]
