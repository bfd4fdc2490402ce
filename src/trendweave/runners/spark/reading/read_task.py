"""The task before the shuffle where tasks read files: numbers of tasks in, blobs of buckets out. No Spark is needed
here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from trendweave.programs.program import Program
from trendweave.rows.dropped import COUNTS, Dropped, add_up
from trendweave.runners.spark.exchange.blobs import BUCKET, ROWS
from trendweave.runners.spark.exchange.deal import Deal
from trendweave.runners.spark.reading.counts import count_by_bounds, count_rows
from trendweave.runners.spark.reading.event_file import EventFile
from trendweave.runners.spark.reading.needed import may_be_taken
from trendweave.runners.spark.reading.pieces import Piece
from trendweave.runners.spark.reading.taken_rows import copy_rows, keep_known

_BLOB = {BUCKET: pa.int32(), ROWS: pa.binary()}


@dataclass(frozen=True, slots=True)
class ReadTask:
    """For mapInArrow, over the numbers of tasks.

    Attributes:
        program: Prepares rows.
        columns: The columns of the events, in the types of the program.
        tasks: The pieces of files that each task reads.
        deal: Packs prepared rows.
        counted: Whether a last row with counts follows the blobs of a task.
    """

    program: Program
    columns: pa.Schema
    tasks: tuple[tuple[Piece, ...], ...]
    deal: Deal
    counted: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._read(self.tasks[number])

    def _read(self, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
        if not self.counted:
            yield from self.deal(self._rows(pieces, []))
            return
        counts: list[Dropped] = []
        for blobs in self.deal(self._rows(pieces, counts)):
            uncounted = [pa.nulls(blobs.num_rows, pa.int64())] * len(COUNTS)
            yield pa.RecordBatch.from_arrays([*blobs.columns, *uncounted], [*_BLOB, *COUNTS.values()])
        no_blob = [pa.nulls(1, kind) for kind in _BLOB.values()]
        yield pa.RecordBatch.from_arrays([*no_blob, *add_up(counts)], [*_BLOB, *COUNTS.values()])

    def _rows(self, pieces: Iterable[Piece], counts: list[Dropped]) -> Iterator[pa.RecordBatch]:
        """Prepared rows of pieces; `counts` gets what was dropped."""
        for piece in pieces:
            with closing(EventFile(piece.file, self.columns)) as events:
                for group in events.groups(piece.first, piece.end):
                    for table in self._tables(events, group, counts):
                        rows, dropped = self.program.prepare(table)
                        counts.append(dropped)
                        rows = copy_rows(keep_known(rows, self.program.needs), self.program.needs)
                        yield from rows.combine_chunks().to_batches()

    def _tables(self, events: EventFile, group: int, counts: list[Dropped]) -> Iterator[pa.Table]:
        """The rows of a row group, unless none of them is needed; those are counted where counts are asked for."""
        needs = self.program.needs
        bounds = events.bounds(group)
        if may_be_taken(needs, bounds):
            yield from events.tables([group], needs.read)
        elif self.counted:
            found = count_by_bounds(needs, bounds)
            if found is not None:
                counts.append(found)
                return
            columns = [name for name in (needs.time, needs.type) if name is not None]
            counts += [count_rows(needs, table) for table in events.tables([group], columns)]
