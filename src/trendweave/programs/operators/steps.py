"""Operators piece by piece: what waits for the watermark, what is carried on, and when rows come out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.operator_plans import RowCount
from trendweave.planning.plan import Path
from trendweave.programs.carry import FOLDED
from trendweave.programs.operators.joins.candidates import ActiveWindow
from trendweave.programs.operators.ordering import OrderedSide, order_rows
from trendweave.programs.operators.sums import count_between
from trendweave.programs.operators.windows.aggregates import SlicedColumn
from trendweave.programs.operators.windows.edges import ALL_WINDOWS, StepSpan, count_windows, time_windows
from trendweave.programs.operators.windows.slices import BEGIN, Slices, fold_rows, merge_slices
from trendweave.programs.program import LAST, NO_CARRY, Carry, Scope, Step
from trendweave.rows.times import check_edges

if TYPE_CHECKING:
    from trendweave.programs.operators.joins.program import WindowJoin
    from trendweave.programs.operators.windows.program import WindowAggregates

#: What is carried on of windows of events: the rows of each key's next window, or the last row that came before it; and
#: the column with how many events, from the first of these rows on, come before that window.
_WAITING, _SKIP = "waiting", "skip"


def fill_windows(
    program: WindowAggregates, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None
) -> Step:
    """A step of windows of events: of each key, the events of its next window that have come are carried on, or how
    many have to come before that window begins."""
    if not rows.num_rows:
        return Step((), carry)
    held = carry.get(_WAITING)
    window = program.window
    assert isinstance(window, RowCount)
    skips = np.zeros(rows.num_rows, np.int64)
    if held is not None:
        skips = np.concatenate([held.column(_SKIP).to_numpy(), skips])
        held = held.drop_columns([_SKIP])
        rows = pa.concat_tables([held, rows.select(held.column_names)])
    ordered = order_rows(rows, program.keys, program.time_type, program.ties)
    skip = skips[ordered.key_rows]
    edges = count_windows(ordered.starts, window, skip)
    table = program.write(ordered, edges)
    counts = np.diff(ordered.starts)
    begin = skip + np.bincount(edges.key, minlength=skip.size) * window.slide
    first = np.where(begin > counts, counts - 1, begin)
    kept = np.flatnonzero(np.arange(ordered.moment.size) >= np.repeat(ordered.starts[:-1] + first, counts))
    if not kept.size:
        return Step(table.to_batches())
    waiting = rows.take(pa.array(kept if ordered.order is None else ordered.order[kept])).combine_chunks()
    waiting = waiting.append_column(_SKIP, pa.array(np.repeat(begin - first, counts - first)))
    return Step(table.to_batches(), {_WAITING: waiting})


#: What is carried on of windows of time.
_SLICES = f"{FOLDED}slices"


@dataclass(frozen=True, slots=True)
class SliceFold:
    """Windows of time without events: rows are folded into slices of time."""

    program: WindowAggregates
    window: StepSpan

    def add(self, carry: Carry, rows: pa.Table) -> Slices | None:
        several = [Slices.read(carry[_SLICES], self.program.keys)] if _SLICES in carry else []
        several += [self.fold(rows)] if rows.num_rows else []
        return merge_slices(several, len(self.program.folded_columns)) if several else None

    def close(self, known: Slices | None, windows: tuple[int, int]) -> Iterable[pa.RecordBatch]:
        return () if known is None else self.write(known, windows).to_batches()

    def keep(self, known: Slices | None, window: int) -> Carry:
        if known is None:
            return NO_CARRY
        kept = known.parts.number >= window * self.window.slide
        return {_SLICES: known.choose(kept).write()} if kept.any() else NO_CARRY

    def earliest(self, carry: Carry, window: int) -> int | None:
        return pc.min(carry[_SLICES].column(BEGIN)).as_py()

    def fold(self, rows: pa.Table) -> Slices:
        """Prepared rows as slices.

        Raises:
            DataError: The edge of a window does not fit 64 bits.
        """
        ordered = order_rows(rows, self.program.keys, self.program.time_type, ())
        check_edges(ordered.moment, max(self.window.length, self.window.slide))
        return fold_rows(ordered, self.program.folded_columns, self.window)

    def write(self, slices: Slices, bounds: tuple[int, int] = ALL_WINDOWS) -> pa.Table:
        """Result rows of slices that were merged, of the windows between two numbers."""
        rows = slices.in_order()
        edges = time_windows(rows.moment, rows.starts, self.window, bounds)
        program, parts = self.program, slices.parts

        def read(path: Path) -> SlicedColumn:
            place = program.folded_paths.index(path)
            return SlicedColumn(program.folded_columns[place][1], parts.columns[place], edges.low, edges.high)

        values = program.aggregate(count_between(parts.count, edges.low, edges.high), read)
        return program.finish(rows, edges, values)


#: Events that later ones may meet, in the carry, and the column with their numbers among those of their key and side.
_HELD, _NUMBER = "held", "number"


def join_numbered(program: WindowJoin, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
    """A step of a join where a window counts events: those that it may still hold are carried, with their numbers."""
    held = carry.get(_HELD)
    numbers = np.full(rows.num_rows, -1)
    if held is not None:
        rows = pa.table({name: rows.column(name) for name in rows.column_names})  # all of them nullable
        rows = pa.concat_tables([held.select(rows.column_names).cast(rows.schema), rows])
        numbers = np.concatenate([held.column(_NUMBER).to_numpy(), numbers])
    left, right = program.order(rows, numbers)
    scope = Scope() if before is None else Scope(windows=(before, LAST))
    batches = program.write(left, right, scope).batches
    if watermark is None:
        return Step(batches)
    # What is kept is decided now, and rows are made while they are read.
    kept = _find_held(program, left, right, watermark)
    return Step(batches, {_HELD: kept} if kept.num_rows else {})


def _find_held(program: WindowJoin, left: OrderedSide, right: OrderedSide, watermark: int) -> pa.Table:
    sides, found = (left, right), []
    masks = [_still_held(side, window, watermark) for side, window in zip(sides, program.windows, strict=True)]
    if left is right:
        masks = [masks[0] | masks[1]]
    for side, mask in zip(sides, masks, strict=False):
        found.append(side.table.append_column(_NUMBER, pa.array(side.numbers)).filter(pa.array(mask)))
    # Rows of one side have no columns of the other.
    return pa.concat_tables(found, promote_options="default").combine_chunks()


def _still_held(side: OrderedSide, window: ActiveWindow, watermark: int) -> np.ndarray:
    """Events that a window may hold at the watermark or later."""
    if not isinstance(window, RowCount):
        return side.steps >= watermark - window.reach
    seen = side.before + np.diff(side.starts)
    begin = np.maximum((seen - window.rows) // window.slide * window.slide, 0)
    return side.numbers >= begin[side.key]
