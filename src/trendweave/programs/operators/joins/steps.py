"""The windowed join piece by piece: a pair comes out when the watermark has passed its later event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.planning.operator_plans import RowCount
from trendweave.programs.operators.joins.active import ActiveWindow
from trendweave.programs.operators.joins.ordered import OrderedSide
from trendweave.programs.operators.waiting import FIRST, LAST, UpToWatermark
from trendweave.programs.program import Carry, Scope, Step

if TYPE_CHECKING:
    from trendweave.programs.operators.joins.program import WindowJoin

#: Events that later ones may meet, in the carry, and the column with their numbers among those of their key and side.
_HELD, _NUMBER = "held", "number"


@dataclass(frozen=True, slots=True)
class WaitingSteps(UpToWatermark):
    """Where both windows are of time, events wait as long as windows reach."""

    program: WindowJoin
    reach: int
    carries: bool = False

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        """The first event behind the watermark is passed; else all events can be let go."""
        if waiting is None:
            return None
        if watermark is not None and waiting[1] < watermark:
            return waiting[1] + self.reach + 1
        return (waiting[0] if watermark is None else max(waiting[0], watermark)) + 1

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return FIRST if before is None else before - self.reach, LAST if watermark is None else watermark

    def keeps_from(self, watermark: int) -> int:
        return watermark - self.reach

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        scope = Scope() if before is None else Scope(windows=(before, LAST))
        return Step(self.program.compute(rows, scope).batches)


@dataclass(frozen=True, slots=True)
class CarriedSteps(UpToWatermark):
    """Where a window counts events, those that it may still hold are carried, with their numbers."""

    program: WindowJoin
    carries: bool = True

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        program, held = self.program, carry.get(_HELD)
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
        kept = self._kept(left, right, watermark)
        return Step(batches, {_HELD: kept} if kept.num_rows else {})

    def _kept(self, left: OrderedSide, right: OrderedSide, watermark: int) -> pa.Table:
        found = []
        masks = [
            _still_held(side, window, watermark)
            for side, window in ((left, self.program.left_window), (right, self.program.right_window))
        ]
        if left is right:
            masks = [masks[0] | masks[1]]
        for side, mask in zip((left, right), masks, strict=False):
            numbers = np.empty(side.key.size, np.int64)
            numbers[side.by_key] = side.before[side.key[side.by_key]] + _numbers_in_keys(side)
            kept = side.table.append_column(_NUMBER, pa.array(numbers))
            found.append(kept.filter(pa.array(mask)))
        # Rows of one side have no columns of the other.
        return pa.concat_tables(found, promote_options="default").combine_chunks()


def _numbers_in_keys(side: OrderedSide) -> np.ndarray:
    """By place: how many events of the key stand before it."""
    return np.arange(side.key.size) - side.starts[side.key[side.by_key]]


def _still_held(side: OrderedSide, window: ActiveWindow, watermark: int) -> np.ndarray:
    """By rank: events that a window may hold at the watermark or later."""
    if not isinstance(window, RowCount):
        return side.steps >= watermark - window.reach
    seen = side.before + np.diff(side.starts)
    begin = np.maximum((seen - window.rows) // window.slide * window.slide, 0)
    held = np.empty(side.key.size, np.bool_)
    key = side.key[side.by_key]
    held[side.by_key] = side.before[key] + _numbers_in_keys(side) >= begin[key]
    return held
