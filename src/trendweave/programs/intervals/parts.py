"""Results of interval queries in parts: counts that are added up, and situations of stretches of time that are put
together (thesis, Section 5.6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.kernels.intervals.situations import RUNNING
from trendweave.programs.intervals.rows import encode_events
from trendweave.programs.intervals.situations import Lengths, SituationBuffers, find_all_situations, good_length
from trendweave.programs.program import TRENDS, Scope
from trendweave.results.interval_table import IntervalResults
from trendweave.results.partials import exact_sums
from trendweave.rows.codes import first_of_each, key_codes

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
        counts = self._counts()
        return tuple(name for name in self.schema.names if name not in counts)

    def _counts(self) -> set[str]:
        return {output.name for output in self.program.plan.outputs if output.function is not None}

    def compute(self, rows: pa.Table, scope: Scope) -> pa.Table:
        return self.program.compute_table(rows, Scope(scope.windows, scope.chunk))

    def merge(self, parts: pa.Table, scope: Scope) -> pa.Table:
        codes = key_codes([parts.column(name) for name in self.together], parts.num_rows)
        first = first_of_each(codes)
        totals = {name: exact_sums(codes, parts.column(name).to_numpy(), first.size) for name in self._counts()}
        rows = parts.take(pa.array(first))
        columns = [pa.array(totals[name]) if name in totals else rows.column(name) for name in self.schema.names]
        result = pa.table(columns, schema=self.schema)
        if not scope.counted:
            return result
        counts = next(iter(totals.values()))
        return result.append_column(TRENDS, pa.array(counts.astype(np.float64)))


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
        plan = self.program.plan
        encoded = encode_events(self.program.preparation, rows, ())
        every = Lengths((0,) * len(plan.situations), (None,) * len(plan.situations), None)
        found = find_all_situations(plan, encoded, every)
        piece, last = int(encoded.time[0]), int(encoded.time[-1])
        columns = [
            np.full(found.size + 1, piece),
            np.append(found.kind, -1),
            np.append(found.start, piece),
            np.append(found.end, RUNNING),
            np.full(found.size + 1, last),
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
        program, plan = self.program, self.program.plan
        good = np.zeros(kind.size, np.bool_)
        for k in range(len(plan.situations)):
            low, high = program.lengths.low[k], program.lengths.high[k]
            running_good = (newest - start >= low) & (high is None) & (not plan.at_end)
            good |= (kind == k) & np.where(end == RUNNING, running_good, good_length(end - start, low, high))
        kind, start, end = kind[good], start[good], end[good]
        nothing = np.zeros(kind.size, np.int64)
        offsets = np.searchsorted(kind, np.arange(len(plan.situations) + 1))
        buffers = SituationBuffers(
            kind=kind,
            partition=nothing,
            start=start,
            end=end,
            certain=start,
            first_row=nothing,
            end_row=nothing,
            carried=np.zeros(kind.size, np.bool_),
            offsets=offsets,
            partitions=1,
        )
        return IntervalResults(plan, program.schema, program.time_type, []).situations(buffers)
