"""Pairs found on a GPU by a scan. Parts of a condition that have no compiled form are asked of those pairs that pass
the rest, on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trendweave.gpu.card import Card, find_card, memory_told, refuse_work
from trendweave.gpu.columns import CardColumn
from trendweave.gpu.joins import Condition, find_pairs
from trendweave.language.printer import print_expression
from trendweave.programs.operators.joins.searches import Candidates, PairTest, Search


class ColumnsOnCard:
    """What a search reads, on the card: those that look by their numbers, members in their order."""

    def __init__(self, card: Card, candidates: Candidates, test: PairTest) -> None:
        compiled = test.compiled
        if compiled is None:
            shown = " AND ".join(print_expression(part) for part in test.others)
            refuse_work(f"no part of {shown} is evaluated on a GPU", "threads")
        self.card = card
        own, other = ("left", "right") if candidates.of_left else ("right", "left")
        arrays = iter(test.arrays({own: candidates.probes, other: candidates.members}))
        columns = {}
        for operand in compiled.operands:
            values = card.put(next(arrays))
            valid = card.put(next(arrays).view(np.uint8)) if operand.nullable else None
            columns[operand.side, operand.column] = CardColumn(values, valid)
        self.low, self.high = card.put(candidates.low), card.put(candidates.high)
        self._condition = Condition(compiled, own, columns)

    def condition(self, chosen: Any) -> Condition:
        """The condition for some of those that look: a slice, or numbers on the card."""
        columns = {
            name: CardColumn(column.values[chosen], None if column.valid is None else column.valid[chosen])
            if name[0] == self._condition.probe_side
            else column
            for name, column in self._condition.columns.items()
        }
        return replace(self._condition, columns=columns)


@dataclass(frozen=True)
class SearchOnCard(Search):
    """Candidates are listed and tested on the card."""

    @cached_property
    def _columns(self) -> ColumnsOnCard:
        return ColumnsOnCard(find_card(), self.candidates, self.test)

    def _list(self, first: int, last: int, limit: int) -> Sequence[np.ndarray] | None:
        card = find_card()
        with memory_told(card):
            columns = self._columns
            # Events whose members lie together look at them in turn.
            event = first + card.xp.argsort(columns.low[first:last])
            pairs = find_pairs(card, columns.condition(event), columns.low[event], columns.high[event], limit)
            if pairs is None:
                return None
            return card.get(event[pairs.probe]), card.get(pairs.other)
