"""Selections under WITHIN alone piece by piece: beginnings are settled in order of time, and what they take away from
later ones outlives their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from trendweave.programs.program import NO_CARRY, Carry, Scope, Step
from trendweave.programs.trends.listed.taken import UNTIL, TakenAway
from trendweave.programs.trends.steps import TrendSteps

_TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class SelectionSteps:
    """`select` gives the rows of trends that begin at some times, and what is taken away after them."""

    inner: TrendSteps
    keys: tuple[str, ...]
    select: Callable[[pa.Table, Scope, TakenAway], tuple[list[pa.RecordBatch], TakenAway]]

    @property
    def pane(self) -> int:
        return self.inner.pane

    @property
    def carries(self) -> bool:
        return True

    @property
    def folds(self) -> bool:
        return False

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        due = [] if waiting is None else [self.inner.closing.due(*waiting, watermark)]
        if _TAKEN in carry:
            # Then nothing of it is needed any longer.
            due.append(int(carry[_TAKEN].column(UNTIL).to_numpy().max()) + self.inner.closing.wait)
        return min(due, default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self.inner.reads(before, watermark)

    def keeps_from(self, watermark: int) -> int:
        return self.inner.keeps_from(watermark)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        taken = TakenAway(self.keys, carry.get(_TAKEN))
        windows = self.inner.closing.windows(before, watermark)
        needed = self.inner.select_rows(rows, windows)
        batches: list[pa.RecordBatch] = []
        if needed.num_rows:
            batches, taken = self.select(needed, Scope(windows), taken)
        if watermark is None:
            return Step(batches, NO_CARRY)
        table = taken.still(windows[1] + 1).table
        return Step(batches, NO_CARRY if table is None or not table.num_rows else {_TAKEN: table.combine_chunks()})

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        """Which trends are taken depends on earlier beginnings, so nothing is shown early."""
        return ()
