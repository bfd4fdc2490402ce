"""Trend queries piece by piece, without events: rows that the watermark has passed are folded and forgotten.

What is kept grows with keys and panes, and not with events. Rows wait only as long as an earlier one may still come.
Whatever the cuts and the order of arrival, the rows are those of one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.planning.folding import plan_folding
from trendweave.programs.program import Carry, Step
from trendweave.programs.trends.aggregates import sum_too_large
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.folded.carried import Carried
from trendweave.programs.trends.folded.fold import fold_rows
from trendweave.programs.trends.folded.measures import Measures
from trendweave.programs.trends.folded.panes import Panes
from trendweave.programs.trends.folded.values import key_by_values, name_values
from trendweave.programs.trends.folded.windows import WindowSumTooLargeError, close_windows
from trendweave.results.partials import TaskResult
from trendweave.rows.closing import Closing
from trendweave.rows.encoded import TIME
from trendweave.rows.times import TimeType, as_steps, check_edges

#: Before and after all times, which have 64 bits.
_FIRST, _LAST = -(2**63), 2**63


@dataclass(frozen=True, slots=True)
class FoldedSteps:
    """`close` makes result rows, or parts of them, of the windows between two."""

    panes: Panes
    time_type: TimeType
    measures: Measures
    close: Callable[[Carried, tuple[int, int]], pa.Table | None]

    @property
    def pane(self) -> int | None:
        return None

    @property
    def carries(self) -> bool:
        return True

    @property
    def folds(self) -> bool:
        return True

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        dues = [] if waiting is None else [self.panes.closing.due(*waiting, watermark)]
        carried = self._read(carry)
        first = _FIRST if watermark is None else self.panes.first_open(watermark)
        pane = carried.first_from(_FIRST if watermark is None else self.panes.first_pane(first))
        if pane is not None:
            dues.append(self.panes.end_of(max(first, int(self.panes.windows_of(np.array(pane))[0]))))
        return min(dues, default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        """Rows that came to wait before rows were folded are read as well."""
        return _FIRST, _LAST if watermark is None else watermark

    def keeps_from(self, watermark: int) -> int:
        return watermark

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        carried = self._read(carry)
        rows = self._select_rows(rows, before)
        if rows.num_rows:
            carried = fold_rows(self.measures, carried, self.measures.with_values(rows))
        first, last = self.panes.closing.windows(before, watermark)
        closed = self.close(carried, (first, last)) if first <= last else None
        batches = () if closed is None else closed.to_batches()
        if watermark is None:
            return Step(batches)
        first_needed = self.panes.first_pane(self.panes.first_open(watermark))
        return Step(batches, carried.without_panes_before(first_needed).write())

    def _read(self, carry: Carry) -> Carried:
        return Carried.read(self.measures.algebra, self.panes, carry)

    def _select_rows(self, rows: pa.Table, before: int | None) -> pa.Table:
        """Rows that lie in a window that is open."""
        times = as_steps(rows.column(TIME), self.time_type)
        check_edges(times, self.panes.closing.length)
        if before is None or not rows.num_rows:
            return rows
        first = self.panes.first_open(before) * self.panes.closing.slide
        needed = np.asarray(times >= first)
        return rows if needed.all() else rows.filter(pa.array(needed))

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        """Where rows are shown early they wait, and are not folded."""
        return ()


def make_folded_steps(bound: BoundTrends, closing: Closing, write: Callable[[TaskResult], pa.Table]) -> FoldedSteps:
    """The steps of a plan that can be folded.

    Args:
        bound: The plan, bound to the columns of some events.
        closing: Its windows.
        write: Makes result rows, or parts of them, of aggregates.

    Returns:
        The steps.
    """
    panes, kind = Panes(closing), bound.time_type
    values, blocking = name_values(bound), plan_folding(bound.plan).blocking
    measures = Measures(key_by_values(bound, values), panes.overlap, values, blocking)

    def close(carried: Carried, windows: tuple[int, int]) -> pa.Table | None:
        try:
            found = close_windows(measures, carried, windows)
        except WindowSumTooLargeError as error:
            raise sum_too_large(bound.plan, kind, np.array([error.entry])) from error
        return None if found is None else write(found)

    return FoldedSteps(panes, kind, measures, close)
