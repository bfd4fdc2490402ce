"""Interval queries piece by piece: a match comes out once, when the watermark has passed the event that makes it
certain.

Situations and open runs are carried on, not events. Whatever the cuts and the order of arrival, the rows are those of
one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.programs.intervals.partitions import Remembered
from trendweave.programs.intervals.step import IntervalPiece
from trendweave.programs.program import Carry, Step
from trendweave.rows.times import steps_of

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches

#: Before and after all times, which have 64 bits.
_FIRST, _LAST = -(2**63), 2**63


@dataclass(frozen=True, slots=True)
class IntervalSteps:
    """Rows wait for the watermark and not for a window, so time is not cut into panes."""

    program: IntervalMatches
    pane: int | None = None
    carries: bool = True
    folds: bool = False

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        """The first row that waits is final, or an open window closes; else a situation can be in no match any more."""
        dues = [] if waiting is None else [waiting[0] + 1]
        counts, situations, plan = carry.get("counts"), carry.get("situations"), self.program.plan
        if counts is not None and counts.num_rows:
            assert plan.within is not None
            assert plan.every is not None
            kind = self.program.time_type
            within, every = steps_of(plan.within, kind, "WITHIN"), steps_of(plan.every, kind, "EVERY")
            dues.append(pc.min(counts.column("window")).as_py() * every + within)
        within_steps = self.program.lengths.within
        if not dues and within_steps is not None and situations is not None and situations.num_rows:
            dues.append(pc.max(situations.column("start")).as_py() + within_steps + 1)
        return min(dues, default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return _FIRST, _LAST if watermark is None else watermark

    def keeps_from(self, watermark: int) -> int:
        return watermark

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        piece = IntervalPiece(self.program, Remembered.from_carry(carry), before, watermark)
        result, remembered = piece.run(rows)
        return Step(result.to_batches(), remembered.to_carry())

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        """Rows come out as soon as they are certain; there are no earlier ones."""
        return ()
