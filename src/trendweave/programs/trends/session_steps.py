"""Sessions piece by piece: rows that can no longer be late are carried until their session has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.planning.plan import SessionWindow
from trendweave.programs.program import EVERYTHING, NO_CARRY, Carry, Output, Scope, Step, Steps
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import TIME
from trendweave.rows.ordering import sort_by_key_and_time
from trendweave.rows.sessions import number_sessions, session_gap
from trendweave.rows.times import TimeType, as_steps

_OPEN, _NEXT_END = "open sessions", "next end"


@dataclass(frozen=True, slots=True)
class SessionSteps(Steps):
    """`compute` gives the rows of whole sessions; `keys` are the columns of a partition. A session may still grow, and
    join with another; nothing is shown early."""

    window: SessionWindow
    time_type: TimeType
    keys: tuple[str, ...]
    compute: Callable[[pa.Table, Scope], Output]

    carries: bool = True

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        ends = [] if waiting is None else [waiting[0] + session_gap(self.window, self.time_type)]
        if _NEXT_END in carry:
            ends.append(carry[_NEXT_END].column(0)[0].as_py())
        return min(ends, default=None)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        if _OPEN in carry:
            rows = pa.concat_tables([carry[_OPEN], rows])
        if not rows.num_rows:
            return Step((), NO_CARRY)
        if watermark is None:
            return Step(self.compute(rows, EVERYTHING).batches, NO_CARRY)
        ends = self._find_ends(rows)
        is_open = ends > watermark
        ended = rows.filter(pa.array(~is_open))
        batches = self.compute(ended, EVERYTHING).batches if ended.num_rows else ()
        if not is_open.any():
            return Step(batches, NO_CARRY)
        next_end = pa.table({"time": pa.array([ends[is_open].min()], pa.int64())})
        return Step(batches, {_OPEN: rows.filter(pa.array(is_open)).combine_chunks(), _NEXT_END: next_end})

    def _find_ends(self, rows: pa.Table) -> np.ndarray:
        """Per row the time at which its session ends, if no event comes before that."""
        partition = key_codes([rows.column(name) for name in self.keys], rows.num_rows)
        steps = as_steps(rows.column(TIME), self.time_type)
        order, starts, sorted_steps = sort_by_key_and_time(partition, steps, int(partition.max()) + 1, False)
        if order is None:
            order = np.arange(steps.size)
        sessions = number_sessions(self.window, self.time_type, sorted_steps, starts[:-1])
        ends = np.empty(steps.size, np.int64)
        ends[order] = sessions.edges[sessions.of_tick, 1] + session_gap(self.window, self.time_type)
        return ends
