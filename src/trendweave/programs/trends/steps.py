"""Trend queries piece by piece: the rows of a window come out once, when the watermark has passed its end.

Rows wait as long as a window that holds them may still come out; nothing outlives them. Whatever the cuts and the order
of arrival, the rows are those of one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.programs.program import NO_CARRY, Carry, Output, Scope, Step, Steps
from trendweave.rows.closing import Closing
from trendweave.rows.encoded import TIME
from trendweave.rows.times import TimeType, as_steps

#: Gives the rows of some windows, of prepared rows that lie in them.
Compute: TypeAlias = Callable[[pa.Table, Scope], Output]


@dataclass(frozen=True, slots=True)
class TrendSteps(Steps):
    """`wait`: which trends are asked for, as of a scope."""

    closing: Closing
    time_type: TimeType
    compute: Compute
    wait: bool | None = None

    @property
    def pane(self) -> int:
        return self.closing.pane

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        return None if waiting is None else self.closing.due(*waiting, watermark)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self.closing.times(self.closing.windows(before, watermark))

    def keeps_from(self, watermark: int) -> int:
        return self.closing.first_kept_pane(watermark) * self.pane

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        return Step(self._compute(rows, self.closing.windows(before, watermark)), NO_CARRY)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return self.closing.times(self.closing.touched(*changed, before))

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        return self._compute(rows, self.closing.touched(*changed, before))

    def _compute(self, rows: pa.Table, windows: tuple[int, int]) -> Iterable[pa.RecordBatch]:
        needed = self.select_rows(rows, windows)
        return self.compute(needed, Scope(windows, wait=self.wait)).batches if needed.num_rows else ()

    def select_rows(self, rows: pa.Table, windows: tuple[int, int]) -> pa.Table:
        """The rows that lie in some windows."""
        steps = as_steps(rows.column(TIME), self.time_type)
        first, last = self.closing.times(windows)
        needed = (steps >= first) & (steps < last)
        return rows if needed.all() else rows.filter(pa.array(np.asarray(needed)))
