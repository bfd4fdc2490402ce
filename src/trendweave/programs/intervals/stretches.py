"""What Python workers do for interval queries: rows of whole partitions, sorted, in; result rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from trendweave.errors import TrendweaveError
from trendweave.kernels.intervals.situations import RUNNING
from trendweave.programs.intervals.program import BoundIntervals
from trendweave.programs.intervals.rows import TIME, encode_events
from trendweave.programs.intervals.situations import Lengths, SituationBuffers, derived, good_length
from trendweave.results.interval_table import IntervalResults
from trendweave.rows.dropped import Dropped
from trendweave.runners.spark.task import AggregateTask
from trendweave.runners.warm_up import Work


@dataclass(frozen=True, slots=True)
class IntervalTask(AggregateTask):
    """For mapInArrow. Rows are sorted by `keys`, then time; given intervals come as they are."""

    bound: BoundIntervals
    work: ClassVar[Work] = "intervals"

    def _computed(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        try:
            if self.bound.plan.intervals is not None:
                result = self.bound.compute(self._as_given(table)[0])
            else:
                # Spark hands timestamps over in the session's zone; the answer does not depend on it.
                times = table.column(TIME).cast(self.bound.moment)
                result = self.bound.compute(table.set_column(table.schema.get_field_index(TIME), TIME, times))
        except TrendweaveError as error:
            place = f"{self._place(table)}: " if self.bound.plan.intervals is None else ""
            problems = [replace(problem, message=place + problem.message) for problem in error.problems]
            raise type(error)(problems, self.bound.plan.text) from error
        yield from result.to_batches()

    def _as_given(self, table: pa.Table) -> tuple[pa.Table, Dropped]:
        fields = [self.bound.events.field(name) for name in table.column_names]
        return self.bound.prepare(table.cast(pa.schema(fields)))

    def _key(self, table: pa.Table, row: int) -> str:
        names = zip(self.bound.preparation.keys, self.bound.plan.partition_by, strict=True)
        paths = {name: ".".join(path) for name, path in names}
        shown = [f"{paths[name]}={table.column(name)[row].as_py()}" for name in self.keys if name in paths]
        return ", ".join(shown) or "(none)"


# Situations of events without partitions, found piece by piece (thesis, Section 5.6.3)

PIECE_SCHEMA = pa.schema(
    [("piece", pa.int64()), ("kind", pa.int64()), ("start", pa.int64()), ("end", pa.int64()), ("last", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class PieceTask:
    """For mapInArrow: the runs of one stretch of time. Each names its piece by the time of the piece's first step; one
    that has not ended there has no end. A row of kind -1 tells of the piece itself."""

    bound: BoundIntervals

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if not sum(batch.num_rows for batch in held):
            return
        table = pa.Table.from_batches(held)
        times = table.column(TIME).cast(self.bound.moment)
        table = table.set_column(table.schema.get_field_index(TIME), TIME, times)
        rows = encode_events(self.bound.preparation, table, ())
        every = Lengths((0,) * len(self.bound.plan.situations), (None,) * len(self.bound.plan.situations), None)
        found = derived(self.bound.plan, rows, every)
        piece, last = int(rows.time[0]), int(rows.time[-1])
        columns = [
            np.full(found.size + 1, piece),
            np.append(found.kind, -1),
            np.append(found.start, piece),
            np.append(found.end, RUNNING),
            np.full(found.size + 1, last),
        ]
        yield from pa.table(columns, schema=PIECE_SCHEMA).to_batches()


@dataclass(frozen=True, slots=True)
class MergePiecesTask:
    """For mapInArrow: the runs of all pieces in one place. A run that is open at the end of a piece goes on if the next
    piece begins with one of its kind, and ends with that piece's first step otherwise."""

    bound: BoundIntervals

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if not sum(batch.num_rows for batch in held):
            return
        table = pa.Table.from_batches(held)
        piece, kind, start, end, last = (table.column(name).to_numpy() for name in PIECE_SCHEMA.names)
        pieces = np.unique(piece)
        begins = np.append(pieces, RUNNING)
        following = begins[np.searchsorted(pieces, piece) + 1]
        newest = int(last.max())
        real = np.flatnonzero(kind >= 0)
        if not real.size:
            return
        order = real[np.lexsort((start[real], kind[real]))]
        piece, kind, start, end, following = (a[order] for a in (piece, kind, start, end, following))
        # Does a run go on in the next one of its kind?
        goes_on = np.zeros(order.size, np.bool_)
        goes_on[:-1] = (end[:-1] == RUNNING) & (kind[1:] == kind[:-1]) & (start[1:] == following[:-1])
        end = np.where((end == RUNNING) & ~goes_on, following, end)
        heads = np.ones(order.size, np.bool_)
        heads[1:] = ~goes_on[:-1]
        first = np.flatnonzero(heads)
        final = np.append(first[1:], order.size) - 1
        yield from self._written(kind[first], start[first], end[final], newest).to_batches()

    def _written(self, kind: np.ndarray, start: np.ndarray, end: np.ndarray, newest: int) -> pa.Table:
        lengths, plan = self.bound.lengths, self.bound.plan
        good = np.zeros(kind.size, np.bool_)
        for k in range(len(plan.situations)):
            low, high = lengths.low[k], lengths.high[k]
            running_good = (newest - start >= low) & (high is None) & (not plan.at_end)
            good |= (kind == k) & np.where(end == RUNNING, running_good, good_length(end - start, low, high))
        kind, start, end = kind[good], start[good], end[good]
        nothing = np.zeros(kind.size, np.int64)
        offsets = np.searchsorted(kind, np.arange(len(plan.situations) + 1))
        buffers = SituationBuffers(
            kind, nothing, start, end, start, nothing, nothing, nothing.astype(np.bool_), offsets, 1
        )
        return IntervalResults(plan, self.bound.schema, self.bound.kind, []).situations(buffers)
