"""A chain of operators piece by piece: what is final of one operator is events of the next.

Rows of the first operator wait where all rows wait. Those of a later one wait in the carry, as what it carries on does.
The watermark of an operator is that of the first one, less what rows of the operators before it may be behind theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.programs.program import NO_CARRY, Carry, Program, Step, Steps
from trendweave.rows.dropped import report_dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, time_type

#: How tables of the carry are called: which operator they belong to, then what they are.
_WAITING = "rows that wait"


@dataclass(frozen=True, slots=True)
class LaterStage:
    """An operator behind the first one.

    Attributes:
        program: What it computes.
        steps: The same piece by piece; None for a filter, whose rows come at once.
        events: The columns of the rows of the operator before.
        lag: How far its watermark is behind that of the chain, in steps of the time column.
    """

    program: Program
    steps: Steps | None
    events: pa.Schema
    lag: int

    def watermark(self, chain: int | None) -> int | None:
        """Where its watermark is."""
        return None if chain is None else chain - self.lag

    def take(self, rows: pa.Table, before: int | None) -> pa.Table:
        """Prepared rows of what has come from the operator before."""
        prepared, dropped = self.program.prepare(rows)
        report_dropped(dropped)
        if before is not None and prepared.num_rows:
            times = self.times(prepared)
            if int(times.min()) < before:
                message = "a row of an operator is earlier than the windows that it comes from"
                hint = "use the time of one of its events, such as LAST(S.time) AS time"
                raise ExecutionError([Problem("TW409", message, hint)])
        return prepared

    def times(self, rows: pa.Table) -> np.ndarray:
        return as_steps(rows.column(TIME), time_type(self.program.moment))


@dataclass(frozen=True, slots=True)
class ChainSteps:
    """Steps of the first operator, and of those behind it."""

    first: Steps
    later: tuple[LaterStage, ...]
    text: str
    carries: bool = True
    folds: bool = False

    @property
    def pane(self) -> int | None:
        return self.first.pane

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        dues = [self.first.due(waiting, _of(carry, 0), watermark)]
        for number, stage in enumerate(self.later, 1):
            own = _of(carry, number)
            if stage.steps is None or not own:
                continue
            rows = own.get(_WAITING)
            times = None if rows is None or not rows.num_rows else stage.times(rows)
            waits = None if times is None else (int(times.min()), int(times.max()))
            due = stage.steps.due(waits, _without_rows(own), stage.watermark(watermark))
            dues.append(None if due is None else due + stage.lag)
        return min((due for due in dues if due is not None), default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self.first.reads(before, watermark)

    def keeps_from(self, watermark: int) -> int:
        return self.first.keeps_from(watermark)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        found = self.first.step(rows, _of(carry, 0), before, watermark)
        kept = _named(found.carry, 0)
        batches = found.batches
        for number, stage in enumerate(self.later, 1):
            events = pa.Table.from_batches(batches, stage.events)
            batches, own = _step(stage, events, _of(carry, number), before, watermark)
            kept |= _named(own, number)
        return Step(batches, NO_CARRY if watermark is None else kept)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        """Rows that may be withdrawn are no events of another operator."""
        return ()


def _step(
    stage: LaterStage, events: pa.Table, own: Carry, before: int | None, watermark: int | None
) -> tuple[Iterable[pa.RecordBatch], Carry]:
    """What is final of an operator, and what it keeps."""
    before, watermark = stage.watermark(before), stage.watermark(watermark)
    fresh = stage.take(events, before)
    if stage.steps is None:
        return stage.program.compute(fresh).batches, NO_CARRY
    waiting = own.get(_WAITING)
    rows = fresh if waiting is None else pa.concat_tables([waiting, fresh])
    carried = _without_rows(own)
    if not rows.num_rows and not carried:
        return (), NO_CARRY
    times = stage.times(rows)
    low, high = stage.steps.reads(before, watermark)
    read = (times >= low) & (times < high)
    step = stage.steps.step(_select(rows, read), carried, before, watermark)
    # All of them, as what is carried on may be made while they are.
    batches = list(step.batches)
    if watermark is None:
        return batches, NO_CARRY
    rest = _select(rows, times >= stage.steps.keeps_from(watermark))
    kept = {} if not rest.num_rows else {_WAITING: rest.combine_chunks()}
    return batches, {**step.carry, **kept}


def _of(carry: Carry, number: int) -> Carry:
    start = f"{number} "
    return {name.removeprefix(start): table for name, table in carry.items() if name.startswith(start)}


def _named(carry: Carry, number: int) -> dict[str, pa.Table]:
    return {f"{number} {name}": table for name, table in carry.items()}


def _without_rows(carry: Carry) -> Carry:
    return {name: table for name, table in carry.items() if name != _WAITING}


def _select(rows: pa.Table, mask: np.ndarray) -> pa.Table:
    return rows if mask.all() else rows.filter(pa.array(mask))
