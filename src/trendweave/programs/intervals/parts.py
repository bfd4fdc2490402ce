"""Results of interval queries in parts: counts that are added up, and situations of stretches of time that are put
together (thesis, Section 5.6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.kernels.intervals.situations import RUNNING, Situations
from trendweave.programs.intervals.counts import add_up
from trendweave.programs.intervals.partitions import number_partitions
from trendweave.programs.intervals.situations import SituationBuffers
from trendweave.programs.program import TRENDS, Scope
from trendweave.results.interval_table import IntervalResults

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches


@dataclass(frozen=True, slots=True)
class CountParts:
    """Counts of windows and groups; those of one window and group are added up."""

    program: IntervalMatches
    of_stretches = False

    @property
    def schema(self) -> pa.Schema:
        return self.program.schema

    @property
    def together(self) -> tuple[str, ...]:
        counts = {output.name for output in self.program.plan.outputs if output.function is not None}
        return tuple(name for name in self.schema.names if name not in counts)

    def compute(self, rows: pa.Table, scope: Scope) -> pa.Table:
        return self.program.compute_table(rows, Scope(scope.windows, scope.chunk))

    def merge(self, parts: pa.Table, scope: Scope) -> pa.Table:
        names = [name for name in self.schema.names if name not in self.together]
        result = add_up(parts, names).cast(self.schema)
        if not scope.counted:
            return result
        return result.append_column(TRENDS, result.column(names[0]).cast(pa.float64()))


#: `piece` is the time of the first step of a stretch, `last` that of its last; a row of kind -1 tells of the stretch
#: itself, and a run that has not ended there has no end.
_RUNS = pa.schema(
    [("piece", pa.int64()), ("kind", pa.int64()), ("start", pa.int64()), ("end", pa.int64()), ("last", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class SituationParts:
    """Runs of stretches of time. One that is open at the end of a stretch goes on if the next stretch begins with one
    of its kind, and ends with that stretch's first step otherwise."""

    program: IntervalMatches
    of_stretches = True
    together: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        return _RUNS

    def compute(self, rows: pa.Table, scope: Scope) -> pa.Table:
        if not rows.num_rows:
            return _RUNS.empty_table()
        partitions = number_partitions(self.program, rows)
        found, time = partitions.derive(), partitions.rows.time
        piece, last = int(time[0]), int(time[-1])
        columns = [
            np.full(found.kind.size + 1, piece),
            np.append(found.kind, -1),
            np.append(found.start, piece),
            np.append(found.end, RUNNING),
            np.full(found.kind.size + 1, last),
        ]
        return pa.table(columns, schema=_RUNS)

    def merge(self, parts: pa.Table, scope: Scope) -> pa.Table:
        result = self._merge(parts)
        return result.append_column(TRENDS, pa.array(np.ones(result.num_rows))) if scope.counted else result

    def _merge(self, parts: pa.Table) -> pa.Table:
        piece, kind, start, end, last = (parts.column(name).to_numpy() for name in _RUNS.names)
        pieces = np.unique(piece)
        begins = np.append(pieces, RUNNING)
        following = begins[np.searchsorted(pieces, piece) + 1]
        real = np.flatnonzero(kind >= 0)
        if not real.size:
            return self.program.schema.empty_table()
        newest = int(last.max())
        order = real[np.lexsort((start[real], kind[real]))]
        kind, start, end, following = (values[order] for values in (kind, start, end, following))
        # Does a run go on in the next one of its kind?
        goes_on = np.zeros(order.size, np.bool_)
        goes_on[:-1] = (end[:-1] == RUNNING) & (kind[1:] == kind[:-1]) & (start[1:] == following[:-1])
        end = np.where((end == RUNNING) & ~goes_on, following, end)
        heads = np.ones(order.size, np.bool_)
        heads[1:] = ~goes_on[:-1]
        first = np.flatnonzero(heads)
        final = np.append(first[1:], order.size) - 1
        return self._write(kind[first], start[first], end[final], newest)

    def _write(self, kind: np.ndarray, start: np.ndarray, end: np.ndarray, newest: int) -> pa.Table:
        program, plan, lengths = self.program, self.program.plan, self.program.lengths
        running = end == RUNNING
        good = lengths.fit(kind, np.where(running, newest, end) - start)
        may_run = np.array([high is None and not plan.at_end for high in lengths.high])
        good &= ~running | may_run[kind]
        nothing = np.zeros(kind.size, np.int64)
        found = Situations(kind, nothing, start, end, nothing, nothing, nothing)
        buffers = SituationBuffers.of(found, start, good, len(plan.situations), 1)
        return IntervalResults(plan, program.schema, program.time_type, []).situations(buffers)
