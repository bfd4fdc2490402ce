"""A query on a store by Spark's tasks: the driver plans from indexes, tasks read row groups straight into Arrow and
compute them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, NullType, StructField, StructType

from trendweave.errors import ExecutionError, Problem
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.programs.program import Program, Scope
from trendweave.rows.times import TimeType
from trendweave.runners.metrics import Metrics
from trendweave.runners.options import Settings
from trendweave.runners.spark.batch import merge_parts
from trendweave.runners.spark.blobs import BLOBS
from trendweave.runners.spark.chunks import find_cut
from trendweave.runners.spark.exchange import Deal, compute_blobs, find_buckets, is_sorted_by_time
from trendweave.runners.spark.parquet_files import convert
from trendweave.runners.spark.prepare import arrow_schema, result_type
from trendweave.runners.spark.reading import copy_rows, keep_known
from trendweave.runners.spark.tasks import TableTask
from trendweave.runners.spark.workers import leave_worker, travelling, use_assigned_card
from trendweave.store.event_store import EventStore
from trendweave.store.layout.files import DataFile
from trendweave.store.layout.reading import OpenFiles, RowReader
from trendweave.store.patterns.access import Access, ReadSection, tell_access
from trendweave.store.patterns.in_process import Request, plan_request, prepare_stretches
from trendweave.store.patterns.intervals import Stretches

#: So many bytes of row groups for a task: a second or less of work.
BYTES_OF_A_TASK = 16 * 2**20
#: What one task may read where no shuffle would cut it.
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Piece:
    """Attributes:
    files: Files with their row groups that are read.
    stretches: Only events of these; None: all.
    first: The number of the first of these stretches among those of all pieces.
    """

    files: tuple[tuple[DataFile, tuple[int, ...]], ...]
    stretches: Stretches | None
    first: int = 0


def meeting_keys(program: Program) -> frozenset[Path] | None:
    """The columns by which all rows of a result row meet, in every way in which they do; None: any row may have to meet
    any other."""
    columns = {name: one.names for name, one in program.needs.columns if isinstance(one, st.Attribute)}
    families = [family.keys for family in program.needs.families] or [program.needs.together]
    found = [frozenset(columns[path[0]] + path[1:] for path in keys if path[0] in columns) for keys in families]
    common = frozenset.intersection(*found)
    return common or None


def split_buckets(access: Access, store: EventStore, program: Program) -> list[ReadSection] | None:
    """What is read, bucket by bucket; None where rows of several buckets may have to meet."""
    told = {file.bucket for file in store.files}
    keys = meeting_keys(program)
    if keys is None or not store.keys or None in told or len({bucket[1] for bucket in told if bucket}) != 1:
        return None
    if not {(name,) for name in store.keys} <= keys:
        return None
    if access.reason is None:
        if any(section.bucket is None for section in access.sections) and len(told) > 1:
            return None
        return list(access.sections)
    numbers = np.array([file.bucket[0] for file in store.files if file.bucket], np.int64)
    groups = access.chosen_groups
    of_group = numbers[store.groups.file[groups]]
    bounds = bounded(access)
    return [ReadSection(bucket, bounds, groups[of_group == bucket]) for bucket in np.unique(of_group).tolist()]


def bounded(access: Access) -> Stretches | None:
    """The one stretch that is asked for; None where there is no bound."""
    if access.low is None and access.high is None:
        return None
    low = -(2**63) if access.low is None else access.low
    high = 2**63 - 1 if access.high is None else access.high
    return Stretches(np.array([low], np.int64), np.array([high], np.int64))


def cut_sections(sections: Sequence[ReadSection], store: EventStore) -> list[Piece]:
    """Pieces that tasks compute by themselves: of one section each, cut where nothing lies across."""
    pieces = []
    before = 0
    for section in sections:
        where = section.stretches
        if where is None or section.free is None:
            pieces.append(Piece(_files(store, section.groups), where, before))
        else:
            for low, high in _cuts(section, where, store):
                part = Stretches(where.lows[low:high], where.highs[low:high])
                groups = _groups_of(part, section.groups, store)
                if groups.size:
                    pieces.append(Piece(_files(store, groups), part, before + low))
        before += 0 if where is None else where.count
    return pieces


def _cuts(section: ReadSection, where: Stretches, store: EventStore) -> Iterator[tuple[int, int]]:
    """Stretches that one task takes: as many as read enough."""
    assert section.free is not None
    began, ended = store.group_times
    sizes = store.groups.bytes[section.groups]
    firsts, lasts = began[section.groups], ended[section.groups]
    # The bytes that begin in each stretch or behind it, before the next one.
    place = np.clip(np.searchsorted(where.highs, firsts), 0, where.count - 1)
    weight = np.bincount(place[lasts >= firsts], sizes[lasts >= firsts], where.count)
    low, held = 0, 0.0
    for number in range(where.count):
        held += weight[number]
        if section.free[number] and held >= BYTES_OF_A_TASK:
            yield low, number + 1
            low, held = number + 1, 0.0
    if low < where.count:
        yield low, where.count


def _groups_of(stretches: Stretches, groups: np.ndarray, store: EventStore) -> np.ndarray:
    began, ended = store.group_times
    return groups[stretches.touch(began[groups], ended[groups])]


def _files(store: EventStore, groups: np.ndarray) -> tuple[tuple[DataFile, tuple[int, ...]], ...]:
    own = store.groups
    return tuple(
        (store.files[number], tuple(own.group[groups[own.file[groups] == number]].tolist()))
        for number in np.unique(own.file[groups]).tolist()
    )


def deal_groups(access: Access, store: EventStore) -> list[Piece]:
    """Pieces that tasks read for a shuffle: some row groups each, whatever stretches lie in them."""
    pieces = []
    before = 0
    for section in access.sections:
        where = section.stretches if access.reason is None else bounded(access)
        held: list[int] = []
        taken = 0
        for group in section.groups.tolist():
            held.append(group)
            taken += int(store.groups.bytes[group])
            if taken >= BYTES_OF_A_TASK:
                pieces.append(Piece(_files(store, np.array(held)), where, before))
                held, taken = [], 0
        if held:
            pieces.append(Piece(_files(store, np.array(held)), where, before))
        before += 0 if where is None else where.count
    return pieces


def largest_piece(pieces: Sequence[Piece], store: EventStore) -> int:
    """How many bytes the largest piece reads."""
    starts = {file.name: number for number, file in enumerate(store.files)}
    own = store.groups
    most = 0
    for piece in pieces:
        size = 0
        for file, groups in piece.files:
            inside = (own.file == starts[file.name]) & np.isin(own.group, groups)
            size += int(own.bytes[inside].sum())
        most = max(most, size)
    return most


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


def spark_types(schema: pa.Schema) -> StructType:
    """The columns of a store in Spark's types; those that Spark lacks stand as NULLs, which no query can use."""
    return StructType([StructField(field.name, _spark_type(field.type)) for field in schema])


def columns_on_spark(store: EventStore) -> pa.Schema:
    """The columns that programs are bound to, as Spark hands them to tasks."""
    return arrow_schema(spark_types(store.schema))


def _spark_type(kind: pa.DataType) -> DataType:
    try:
        return from_arrow_type(kind, prefer_timestamp_ntz=True)
    except PySparkException:
        return NullType()


def run_on_spark(program: Program, store: EventStore, request: Request, settings: Settings) -> DataFrame:
    """The rows of a program. Indexes are asked now; data is read when an action on the result runs.

    Args:
        program: Bound to `columns_on_spark`.
        store: The events, at a place that tasks reach as the driver does.
        request: What is asked.
        settings: Checked options.
    """
    spark: SparkSession = settings.spark
    _check(program)
    access = plan_request(request, store, program.needs.read)
    if isinstance(settings.observation, Metrics):
        settings.observation.count(tell_access(access, store))
    program.count_what_is_planned()
    reader = PieceReader(program, OpenFiles(store.place), store.schema, store.kind, access.apart)
    result = result_type(program, spark_types(store.schema))
    task = TableTask(program, Scope(), program.partials() is not None, adopts=False, device=settings.device)
    pieces = choose_pieces(access, store, program)
    if pieces is not None:
        compute = ComputePieces(reader, tuple(pieces), task)
        return merge_parts(
            task, result, lambda shown: _numbers(spark, len(pieces)).mapInArrow(travelling(compute), shown)
        )
    cut = None if access.apart else find_cut(program, settings)
    if cut is not None and cut.last_step:
        cut = None
    task = task.in_chunks(cut)
    deal = Deal(find_buckets(spark), task.keys, cut, program.moment)
    dealt = tuple(deal_groups(access, store))
    blobs = _numbers(spark, len(dealt)).mapInArrow(travelling(DealPieces(reader, dealt, deal)), BLOBS)
    return merge_parts(task, result, lambda shown: compute_blobs(task, blobs, shown, settings))


def choose_pieces(access: Access, store: EventStore, program: Program) -> list[Piece] | None:
    """Pieces that tasks compute by themselves; None where rows have to be brought together first."""
    sections = split_buckets(access, store, program)
    if sections is not None:
        return cut_sections(sections, store)
    if access.reason is not None or len(access.sections) > 1:
        return None if access.sections else []
    pieces = cut_sections(access.sections, store)
    return pieces if not program.needs.together or largest_piece(pieces, store) <= MOST_BYTES else None


def _numbers(spark: SparkSession, count: int) -> DataFrame:
    """The numbers of pieces, in no more tasks than a shuffle has."""
    return spark.range(0, count, 1, max(1, min(count, find_buckets(spark).count)))


def _check(program: Program) -> None:
    if program.needs.time is None or is_sorted_by_time(program):
        message = "rows of this query cannot be shuffled by tasks that read a store"
        hint = "leave spark out, or give the query spark.read.parquet(...)"
        raise ExecutionError([Problem("TW404", message, hint)])
