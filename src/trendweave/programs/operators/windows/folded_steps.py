"""Windows of time piece by piece, without events: rows that the watermark has passed are folded into slices.

What is kept grows with keys and slices, and not with events. Rows wait only as long as an earlier one may still come.
Whatever the cuts and the order of arrival, the rows are those of one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.programs.carry import FOLDED
from trendweave.programs.operators.sums import count_between
from trendweave.programs.operators.windows.aggregates import SlicedColumn, write_aggregate
from trendweave.programs.operators.windows.edges import ALL_WINDOWS, StepSpan, WindowEdges, time_windows
from trendweave.programs.operators.windows.ordered_rows import order_rows
from trendweave.programs.operators.windows.slices import BEGIN, Slices, fold_rows, merge_slices
from trendweave.programs.program import Carry, Step
from trendweave.rows.closing import Closing
from trendweave.rows.times import check_edges

if TYPE_CHECKING:
    from trendweave.programs.operators.windows.program import WindowAggregates

#: Before and after all times, which have 64 bits.
_FIRST, _LAST = -(2**63), 2**63
_SLICES = f"{FOLDED}slices"


@dataclass(frozen=True, slots=True)
class FoldedSteps:
    """Rows wait for the watermark alone, so time is not cut into panes."""

    program: WindowAggregates
    window: StepSpan
    closing: Closing
    pane: int | None = None
    carries: bool = True
    folds: bool = True

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        dues = [] if waiting is None else [self.closing.due(*waiting, watermark)]
        if _SLICES in carry:
            begin = pc.min(carry[_SLICES].column(BEGIN)).as_py()
            dues.append(self.closing.due(begin, begin, watermark))
        return min(dues, default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return _FIRST, _LAST if watermark is None else watermark

    def keeps_from(self, watermark: int) -> int:
        return watermark

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        program, columns = self.program, self.program.folded_columns
        several = [Slices.read(carry[_SLICES], program.keys, len(columns))] if _SLICES in carry else []
        if rows.num_rows:
            several.append(self.fold(rows))
        if not several:
            return Step(())
        slices = merge_slices(several, len(columns))
        first, last = self.closing.windows(before, watermark)
        batches = self.close(slices, (first, last)).to_batches() if first <= last else ()
        if watermark is None:
            return Step(batches)
        kept = slices.parts.number >= (last + 1) * self.window.slide
        if not kept.any():
            return Step(batches)
        return Step(batches, {_SLICES: slices.choose(kept).write()})

    def fold(self, rows: pa.Table) -> Slices:
        """Prepared rows as slices.

        Raises:
            DataError: The edge of a window does not fit 64 bits.
        """
        ordered = order_rows(rows, self.program.keys, self.program.time_type, None)
        check_edges(ordered.moment, max(self.window.length, self.window.slide))
        return fold_rows(ordered, self.program.folded_columns, self.window)

    def close(self, slices: Slices, bounds: tuple[int, int] = ALL_WINDOWS) -> pa.Table:
        """Result rows of slices that were merged, of the windows between two numbers."""
        rows = slices.in_order()
        edges = time_windows(rows.moment, rows.starts, self.window, bounds)
        return self.program.finish(rows, edges, [self._value(slices, edges, number) for number in self._numbers])

    @property
    def _numbers(self) -> range:
        return range(len(self.program.outputs.asked))

    def _value(self, slices: Slices, edges: WindowEdges, number: int) -> pa.Array:
        asked = self.program.outputs.asked[number]
        if asked.path is None:
            return pa.array(count_between(slices.parts.count, edges.low, edges.high))
        place = self.program.folded_paths.index(asked.path)
        kind = self.program.folded_columns[place][1]
        column = SlicedColumn(kind, slices.parts.columns[place], edges.low, edges.high)
        return write_aggregate(asked.function, asked.result, column, ".".join(asked.path))

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        """Where rows are shown early they wait, and are not folded."""
        return ()
