"""Lists under WITHIN alone piece by piece, where trends do not all wait equally long for what comes after them.

Beginnings are settled in order of time, and what trends take away from later ones, or that they have come out, outlives
their rows. Where only some trends end with NOT, the others come out before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from trendweave.programs.program import NO_CARRY, Carry, Step
from trendweave.programs.trends.listed.taken import UNTIL, TakenAway
from trendweave.programs.trends.steps import TrendSteps

_TAKEN = "taken"
#: Gives the rows of trends that have become certain since the watermark was somewhere, and what is taken away then.
Select: TypeAlias = Callable[[pa.Table, TakenAway, int | None, int | None], tuple[list[pa.RecordBatch], TakenAway]]


@dataclass(frozen=True, slots=True)
class SelectionSteps:
    """`span`: the events of a trend are less than so many steps apart. `nothing`: as long as no trend has come out."""

    inner: TrendSteps
    span: int
    nothing: TakenAway
    select: Select

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
        due = []
        if waiting is not None:
            due.append(self.inner.closing.due(*waiting, watermark))
            if watermark is not None:
                # A beginning is decided at the latest when nothing can go on from it any more.
                earliest, latest = max(waiting[0], watermark - self.span + 1), min(waiting[1], watermark - 1)
                due += [earliest + self.span] if earliest <= latest else []
        if _TAKEN in carry:
            # Then nothing of it is needed any longer.
            due.append(int(carry[_TAKEN].column(UNTIL).to_numpy().max()) + self.span)
        return min(due, default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self.inner.reads(before, watermark)

    def keeps_from(self, watermark: int) -> int:
        return self.inner.keeps_from(watermark)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        taken = replace(self.nothing, table=carry.get(_TAKEN))
        needed = self.inner.select_rows(rows, self.inner.closing.windows(before, watermark))
        batches: list[pa.RecordBatch] = []
        if needed.num_rows:
            batches, taken = self.select(needed, taken, before, watermark)
        if watermark is None:
            return Step(batches, NO_CARRY)
        table = taken.still(watermark - self.span + 1).table
        return Step(batches, NO_CARRY if table is None or not table.num_rows else {_TAKEN: table.combine_chunks()})

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        """Which trends are taken depends on earlier beginnings, so nothing is shown early."""
        return ()


@dataclass(frozen=True, slots=True)
class EitherSteps:
    """Trends that end with NOT, and the others: of the rows that the first wait for, the second need the later ones."""

    guarded: TrendSteps
    others: TrendSteps

    @property
    def pane(self) -> int:
        return self.guarded.pane

    @property
    def carries(self) -> bool:
        return False

    @property
    def folds(self) -> bool:
        return False

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        if waiting is None:
            return None
        # Rows are let go with those that are guarded.
        due = [self.guarded.closing.due(*waiting, watermark)]
        if watermark is None or waiting[1] >= watermark:
            due.append(self.others.closing.due(*waiting, watermark))
        return min(due)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        ranges = [steps.reads(before, watermark) for steps in (self.guarded, self.others)]
        some = [(first, end) for first, end in ranges if first < end]
        return min((first for first, _ in some), default=0), max((end for _, end in some), default=0)

    def keeps_from(self, watermark: int) -> int:
        return self.guarded.keeps_from(watermark)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        both = (steps.step(rows, carry, before, watermark).batches for steps in (self.others, self.guarded))
        return Step((batch for batches in both for batch in batches), NO_CARRY)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        """Later events may take rows back, so nothing is shown early."""
        return ()
