"""The task before the shuffle of a stream: events as they came in, pieces out, with counts of what was dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.kernels.sorting import stable_order
from trendweave.programs.program import Program
from trendweave.rows.dropped import COUNTS, Dropped, add_up
from trendweave.runners.spark.checkpoint_owner import CheckedPackTask
from trendweave.runners.spark.pieces import BUCKET, PIECE, ROWS_AT_ONCE
from trendweave.runners.spark.reading.taken_rows import keep_known

#: Counts stand in a last row, which is no piece.
COUNTED_PIECE = pa.schema([*PIECE, *(pa.field(name, pa.int64()) for name in COUNTS.values())])


@dataclass(frozen=True, slots=True)
class EventPackTask:
    """For mapInArrow: events with their bucket -> pieces.

    Attributes:
        program: Prepares rows.
        pack: Packs them.
    """

    program: Program
    pack: CheckedPackTask

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts: list[Dropped] = []
        for pieces in self.pack(self._prepare(batches, counts)):
            uncounted = [pa.nulls(pieces.num_rows, pa.int64())] * len(COUNTS)
            yield pa.RecordBatch.from_arrays([*pieces.columns, *uncounted], schema=COUNTED_PIECE)
        no_piece = [pa.nulls(1, field.type) for field in PIECE]
        yield pa.RecordBatch.from_arrays([*no_piece, *add_up(counts)], schema=COUNTED_PIECE)

    def _prepare(self, batches: Iterable[pa.RecordBatch], counts: list[Dropped]) -> Iterator[pa.RecordBatch]:
        """Prepared rows with their bucket; `counts` gets what was dropped."""
        for events in _join(batches):
            buckets, tables = _by_bucket(events)
            for bucket, table in zip(buckets, tables, strict=True):
                rows, dropped = self.program.prepare(table.cast(self._columns()))
                counts.append(dropped)
                rows = keep_known(rows, self.program.needs)
                numbers = pa.array(np.full(rows.num_rows, bucket, np.int32))
                yield from rows.append_column(BUCKET, numbers).combine_chunks().to_batches()

    def _columns(self) -> pa.Schema:
        """Of events, with timestamps in UTC; Spark hands them over in the session's zone."""
        return pa.schema([self.program.events.field(name) for name in self.program.needs.read])


def _join(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """About half a million rows at a time."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _by_bucket(events: pa.Table) -> tuple[list[int], list[pa.Table]]:
    """The buckets that have events, and the events of each, as they came."""
    numbers = events.column(BUCKET).to_numpy().astype(np.int64)
    events = events.drop_columns([BUCKET])
    if not numbers.size:
        return [], []
    order, starts = stable_order(numbers, int(numbers.max()) + 1)
    events = events if order is None else events.take(pa.array(order))
    counts = np.diff(starts)
    places = np.flatnonzero(counts)
    return places.tolist(), [events.slice(starts[place], counts[place]) for place in places]
