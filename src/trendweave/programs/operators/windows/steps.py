"""Windows of events piece by piece: a window comes out when the watermark has passed the event that fills it.

Of each key, the events of its next window that have come are carried on, or how many have to come before that window
begins. Whatever the cuts and the order of arrival, the rows are those of one batch over all events that were not late.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.planning.operator_plans import RowCount
from trendweave.programs.operators.waiting import UpToWatermark
from trendweave.programs.operators.windows.edges import count_windows
from trendweave.programs.operators.windows.ordered_rows import OrderedRows, order_rows
from trendweave.programs.program import Carry, Step

if TYPE_CHECKING:
    from trendweave.programs.operators.windows.program import WindowAggregates

#: What is carried on: rows of windows that have begun, and a row per key whose next window is still to begin.
_BEGUN, _SKIPPED = "begun", "skipped"
#: How many events come before the next window, in the latter.
_SKIP = "skip"


@dataclass(frozen=True, slots=True)
class CountSteps(UpToWatermark):
    """Rows wait for the watermark alone, so time is not cut into panes."""

    program: WindowAggregates
    carries: bool = True

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        if not rows.num_rows:
            return Step((), carry)
        program = self.program
        window = program.window
        assert isinstance(window, RowCount)
        begun = carry.get(_BEGUN)
        together = rows if begun is None else pa.concat_tables([begun, rows.select(begun.column_names)])
        skipped = carry.get(_SKIPPED)
        marks = 0 if skipped is None else skipped.num_rows
        if skipped is not None and marks:
            # A row of each key that is skipped comes first, to be found among the keys.
            together = pa.concat_tables([skipped.drop_columns([_SKIP]), together])
        ordered = order_rows(together, program.keys, program.time_type, program.ties)
        skip = np.zeros(ordered.starts.size - 1, np.int64)
        if skipped is not None and marks:
            ordered, skip = _without_marks(ordered, marks, skipped.column(_SKIP).to_numpy())
        edges = count_windows(ordered.starts, window, skip)
        counts = np.bincount(edges.key, minlength=skip.size)
        table = program.write(ordered, edges)
        return Step(table.to_batches(), _carry_on(ordered, skip + counts * window.slide))


def _without_marks(rows: OrderedRows, marks: int, skips: np.ndarray) -> tuple[OrderedRows, np.ndarray]:
    """Rows without those that only tell how many events of their key are skipped, and these numbers by key."""
    order = np.arange(rows.moment.size) if rows.order is None else rows.order
    is_mark = order < marks
    key = np.repeat(np.arange(rows.key_rows.size), np.diff(rows.starts))
    skip = np.zeros(rows.key_rows.size, np.int64)
    skip[key[is_mark]] = skips[order[is_mark]]
    starts = np.zeros(rows.starts.size, np.int64)
    np.cumsum(np.bincount(key[~is_mark], minlength=skip.size), out=starts[1:])
    return replace(rows, order=order[~is_mark], starts=starts, moment=rows.moment[~is_mark]), skip


def _carry_on(rows: OrderedRows, next_window: np.ndarray) -> Carry:
    """What is kept after the first events of each key, as many as come before its next window, are gone."""
    counts = np.diff(rows.starts)
    if rows.order is None and counts.size == 1 and next_window[0] < counts[0]:
        return {_BEGUN: rows.table.slice(next_window[0]).combine_chunks()}
    order = np.arange(rows.moment.size) if rows.order is None else rows.order
    place = np.arange(order.size) - np.repeat(rows.starts[:-1], counts)
    kept = order[place >= np.repeat(next_window, counts)]
    waits = np.flatnonzero(next_window > counts)
    carry = {}
    if kept.size:
        carry[_BEGUN] = rows.table.take(pa.array(kept)).combine_chunks()
    if waits.size:
        marks = rows.table.take(pa.array(rows.key_rows[waits]))
        carry[_SKIPPED] = marks.append_column(_SKIP, pa.array((next_window - counts)[waits]))
    return carry
