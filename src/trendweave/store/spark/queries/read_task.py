"""What a task reads of a store: prepared rows of its pieces. No Spark is needed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from trendweave.programs.program import Program
from trendweave.rows.times import TimeType
from trendweave.runners.spark.devices.cards import use_assigned_card
from trendweave.runners.spark.exchange.deal import Deal
from trendweave.runners.spark.lasting_objects import leave_worker
from trendweave.runners.spark.reading.columns import convert
from trendweave.runners.spark.reading.taken_rows import copy_rows, keep_known
from trendweave.runners.spark.table_task import TableTask
from trendweave.store.layout.reading import OpenFiles, RowReader
from trendweave.store.patterns.running.rows_of_access import prepare_stretches
from trendweave.store.spark.queries.pieces import Piece


@dataclass(frozen=True, slots=True)
class PieceReader:
    """Reads pieces.

    Attributes:
        program: Bound to columns in Spark's types.
        files: Opens files.
        schema: The columns of the store.
        kind: How its time column counts.
        apart: Whether events of different stretches must not meet.
    """

    program: Program
    files: OpenFiles
    schema: pa.Schema
    kind: TimeType
    apart: bool

    def rows(self, piece: Piece) -> pa.Table:
        """Prepared rows of a piece."""
        if piece.stretches is None:
            rows, _ = self.program.prepare(self._fit(self._read(piece)))
            return rows
        tables = [(self._read(piece), piece.stretches)]
        rows, _ = prepare_stretches(self.program, tables, self.kind, self.apart, self._fit, piece.first)
        return rows

    def _read(self, piece: Piece) -> pa.Table:
        names = self.program.needs.read
        readers = ((RowReader(self.files, file, self.schema), groups) for file, groups in piece.files)
        return pa.concat_tables([reader.read(groups, names, threads=False) for reader, groups in readers])

    def _fit(self, table: pa.Table) -> pa.Table:
        """In the types that Spark has for the columns."""
        columns = {
            name: convert(table.column(name), self.program.events.field(name).type, f"the column {name}")
            for name in table.column_names
        }
        return pa.table(columns)


@dataclass(frozen=True, slots=True)
class ComputePieces:
    """For mapInArrow, over the numbers of pieces: result rows, or parts of them. Nothing is shuffled."""

    reader: PieceReader
    pieces: tuple[Piece, ...]
    task: TableTask

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_assigned_card()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = self.reader.rows(self.pieces[number])
                if rows.num_rows:
                    yield from self.task(rows)
        leave_worker("compute")


@dataclass(frozen=True, slots=True)
class DealPieces:
    """For mapInArrow, over the numbers of pieces: blobs of buckets, which Spark moves."""

    reader: PieceReader
    pieces: tuple[Piece, ...]
    deal: Deal

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.deal(self._rows(self.pieces[number]))

    def _rows(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        needs = self.reader.program.needs
        rows = copy_rows(keep_known(self.reader.rows(piece), needs), needs)
        yield from rows.combine_chunks().to_batches()
