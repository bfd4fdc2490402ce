"""Trends whose events lie in situations, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.programs.carry import carry_of, name_carry
from trendweave.programs.program import NO_CARRY, Carry, Step, Steps
from trendweave.programs.situated.marking import remember_runs
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps

if TYPE_CHECKING:
    from trendweave.programs.situated.program import InSituations

#: What the inner program carries stands under longer names.
_INNER = "inner "


@dataclass(frozen=True)
class SituatedSteps(Steps):
    """What an event lies in may turn out later, so nothing is shown early, and rows are let go when the inner program
    lets them go and what they lie in is settled; the runs that go on after them are carried."""

    program: InSituations
    inner: Steps
    carries = True

    @property
    def pane(self) -> int | None:
        return self.inner.pane

    @property
    def folds(self) -> bool:
        return self.inner.folds

    @cached_property
    def delay(self) -> int:
        """So long after an event, in steps of the time column, it is settled in which situations it lies.

        What has been running for longer than this is long enough, or too long, whenever it ends.
        """
        lengths = self.program.situations.lengths
        return max(low if high is None else high for low, high in zip(lengths.low, lengths.high, strict=True))

    def _settled(self, watermark: int | None) -> int | None:
        return None if watermark is None else watermark - self.delay

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        due = self.inner.due(waiting, carry_of(carry, _INNER), self._settled(watermark))
        return None if due is None else due + self.delay

    def keeps_from(self, watermark: int) -> int:
        return self.inner.keeps_from(watermark - self.delay)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        steps = as_steps(rows.column(TIME), self.program.inner.time_type)
        settled = self._settled(watermark)
        low, high = self.inner.reads(self._settled(before), settled)
        needed = (steps >= low) & (steps < high)
        batches: Iterable[pa.RecordBatch] = ()
        runs = {name: table for name, table in carry.items() if not name.startswith(_INNER)}
        within = carry_of(carry, _INNER)
        if needed.any() or within:
            marked = self.program.mark(rows, runs)
            prepared = self.program.inner.prepare(marked if needed.all() else marked.filter(pa.array(needed)))[0]
            step = self.inner.step(prepared, within, self._settled(before), settled)
            batches, within = step.batches, step.carry
        if watermark is None:
            return Step(batches, NO_CARRY)
        gone = steps < self.keeps_from(watermark)
        if gone.any():
            events = self.program.kept.restore(rows.filter(pa.array(np.asarray(gone))))
            runs = dict(remember_runs(self.program.situations, events, runs))
        return Step(batches, runs | name_carry(within, _INNER))
