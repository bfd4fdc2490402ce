"""Interval queries on events that come piece by piece: a match comes out once, when the watermark has passed the event
that makes it certain.

Situations and open runs are the state, not events. Whatever the cuts and the order of arrival, the rows are those of
one batch over all events that were not late.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.intervals.situations import RUNNING
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.programs.intervals.program import BoundIntervals, bind_intervals
from trendweave.programs.intervals.rows import TIME
from trendweave.programs.intervals.state import IntervalState
from trendweave.programs.intervals.step import IntervalPiece
from trendweave.rows.tables import as_arrow
from trendweave.rows.times import as_steps, steps_of
from trendweave.runners.event_pieces import PieceEngine, fitting, watermark_step


class IntervalIncremental(PieceEngine):
    """Takes events in pieces. It holds no state of its own: every call gets one and gives the next one back."""

    def __init__(self, plan: IntervalPlan, schema: pa.Schema, time: str, type_: str | None) -> None:
        if plan.intervals is not None:
            message = "given intervals cannot be run piece by piece"
            raise ExecutionError([Problem("TW404", message, "run them as one table")])
        if plan.within is None and plan.returns != "situations":
            message = "without WITHIN, every situation would have to be kept for ever"
            raise ExecutionError([Problem("TW452", message, "add WITHIN, or run the query on one table")])
        needed = {path[0] for path in plan.needed_columns} | {time} | ({type_} if type_ is not None else set())
        super().__init__(schema, time, type_, sorted(needed), ["intervals", plan.text, time, str(type_)])
        self._bound, self._plan = bind_intervals(plan, schema, time, type_), plan

    @property
    def schema(self) -> pa.Schema:
        return self._bound.schema

    @property
    def bound(self) -> BoundIntervals:
        return self._bound

    @property
    def ever_closes(self) -> bool:
        """Every step is final once the watermark has passed it."""
        return True

    def start(self) -> IntervalState:
        return IntervalState(made_for=self.made_for)

    def push(self, state: IntervalState, events: Any, watermark: Any = None) -> tuple[IntervalState, pa.Table]:
        """Take some events, then move the watermark; the rows that became certain before it come back.

        Events with a time before the state's watermark are late: dropped and counted. A watermark never moves back.
        """
        state = self._taken(self._checked(state), fitting(as_arrow(events)[0], self.columns))
        if watermark is None:
            return state, self.schema.empty_table()
        return self._advanced(state, watermark_step(watermark, self.kind))

    def finish(self, state: IntervalState) -> pa.Table:
        """The rest: what the events that still wait make certain, open windows, and situations that still run."""
        return self._advanced(self._checked(state), None)[1]

    # For sessions and streams, which count in steps of the time column

    def read(self, data: bytes) -> IntervalState:
        return self._checked(IntervalState.from_bytes(data))

    def advance(self, state: IntervalState, watermark: int) -> tuple[IntervalState, pa.Table]:
        """Move the watermark; the rows that became certain before it come back."""
        return self._advanced(self._checked(state), watermark)

    def due(self, earliest: int, latest: int, watermark: int | None) -> int:
        """The watermark at which the first step of rows between these times is final."""
        return earliest + 1

    def next_due(self, state: IntervalState) -> tuple[int, int] | None:
        """The time of the first row that waits, and the watermark at which it is final or an open window closes."""
        earliest = self._first_waiting(state)
        dues = [earliest + 1] if earliest != RUNNING else []
        if state.counts is not None and state.counts.num_rows:
            assert self._plan.within is not None
            assert self._plan.every is not None
            within, every = (
                steps_of(self._plan.within, self.kind, "WITHIN"),
                steps_of(self._plan.every, self.kind, "EVERY"),
            )
            dues.append(pc.min(state.counts.column("window")).as_py() * every + within)
        return (earliest, min(dues)) if dues else None

    def let_go(self, state: IntervalState) -> int | None:
        """The watermark at which no situation of the state can be in a match any more; None where none is kept."""
        within = self._bound.lengths.within
        if within is None or state.situations is None or not state.situations.num_rows:
            return None
        return pc.max(state.situations.column("start")).as_py() + within + 1

    def _first_waiting(self, state: IntervalState) -> int:
        if state.pending is None or not state.pending.num_rows:
            return RUNNING
        return int(as_steps(state.pending.column(TIME), self.kind).min())

    # Pieces

    def _checked(self, state: IntervalState) -> IntervalState:
        self.check_owner(state.made_for)
        return state

    def _taken(self, state: IntervalState, events: pa.Table) -> IntervalState:
        rows, dropped = self._bound.prepare(events)
        late = 0
        if state.watermark is not None and rows.num_rows:
            behind = as_steps(rows.column(TIME), self.kind) < state.watermark
            late = int(np.count_nonzero(behind))
            rows = rows.filter(pa.array(~behind)) if late else rows
        pending = rows if state.pending is None else pa.concat_tables([state.pending, rows])
        return replace(state, pending=pending, late=state.late + late, dropped=state.dropped + dropped)

    def _advanced(self, state: IntervalState, watermark: int | None) -> tuple[IntervalState, pa.Table]:
        """Steps before the watermark (None: all) are final."""
        if watermark is not None and state.watermark is not None:
            watermark = max(watermark, state.watermark)
        pending = state.pending
        if pending is None:
            return replace(state, watermark=watermark), self.schema.empty_table()
        if watermark is None:
            ready, waiting = pending, pending.slice(0, 0)
        else:
            final = pa.array(as_steps(pending.column(TIME), self.kind) < watermark)
            ready, waiting = pending.filter(final), pending.filter(pc.invert(final)).combine_chunks()
        piece = IntervalPiece(self._bound, state, ready, watermark)
        return replace(piece.next_state(), pending=waiting, watermark=watermark), piece.result
