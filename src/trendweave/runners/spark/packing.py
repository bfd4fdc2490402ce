"""Events of a stream -> pieces of prepared rows: who prepares rows, which bucket they go to, and whose checkpoint it
is.

A micro-batch is planned anew each time, and all that Spark SQL has to do with a row is part of that plan. So tasks
get events as they came, with their bucket, and prepare rows with Arrow where they can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column
from trendweave.kernels.sorting import stable_order
from trendweave.planning.plan import Path
from trendweave.programs.program import MEETS, Program
from trendweave.rows.dropped import COUNTS, Dropped, add_up
from trendweave.runners.options import Settings
from trendweave.runners.spark.metrics import count_rows
from trendweave.runners.spark.pieces import BUCKET, FIRST, ORIGINAL, PIECE, ROWS_AT_ONCE, PackTask
from trendweave.runners.spark.prepare import is_first_copy, key_column, meeting_number, prepare_rows
from trendweave.runners.spark.reading import keep_known
from trendweave.runners.spark.stream_state import StateBuckets
from trendweave.runners.spark.workers import set_lasting_objects_aside, travelling

#: What Spark says about a task of a stream: the checkpoint it works on, and its run since the last start.
_CHECKPOINT, _RUN = "sql.streaming.queryId", "spark.jobGroup.id"
WITHOUT_KEYS = -1
#: Runs that this worker has met lately; older ones have ended, or would be asked once more.
_MOST_RUNS = 1_000
_asked: dict[tuple[str | None, ...], None] = {}


@dataclass(frozen=True, slots=True)
class CheckedPackTask:
    """For mapInArrow: the pieces of `pack`, after one that asks, where this worker meets a new run; or one for each
    bucket."""

    pack: PackTask
    made_for: str
    buckets: StateBuckets
    all_buckets: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, pieces in enumerate(self.pack(batches)):
            if number == 0 and self._is_new_run():
                yield question(self.buckets.numbers() if self.all_buckets else ())
            yield pieces
        set_lasting_objects_aside("pack")

    def _is_new_run(self) -> bool:
        task = TaskContext.get()
        facts = [] if task is None else [task.getLocalProperty(name) for name in (_CHECKPOINT, _RUN)]
        run = (self.made_for, str(self.buckets.stored), *facts)
        is_new = run not in _asked
        _asked[run] = None
        if len(_asked) > _MOST_RUNS:
            del _asked[next(iter(_asked))]
        return is_new


def question(buckets: Iterable[int] = ()) -> pa.RecordBatch:
    """Pieces without rows; where nobody has said yet whose checkpoint it is, the operator does.

    Args:
        buckets: Those with keys that are asked as well. Queries of a workload that came at a restart came at the same
            time in all buckets, so all hear of it at once.
    """
    rest = {"pane": 0, "earliest": 0, "latest": 0, "rows": 0, "checksum": 0, "payload": b""}
    return pa.RecordBatch.from_pylist([{BUCKET: bucket, **rest} for bucket in (WITHOUT_KEYS, *buckets)], PIECE)


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


def pack_events(
    program: Program, events: DataFrame, pack: CheckedPackTask, settings: Settings, names: Sequence[str]
) -> DataFrame:
    """The pieces of a stream, counted as they pass.

    Args:
        program: Bound to the columns of the events.
        events: With their watermark.
        pack: Makes pieces of prepared rows.
        settings: Checked options.
        names: The columns of events as they came, which travel along where late ones are wanted.
    """
    if prepares_in_tasks(program, settings):
        return _prepare_in_tasks(program, events, pack, settings)
    counted = events.observe(f"{settings.metrics}_read", *count_rows(program.needs, events))
    rows = prepare_rows(program, counted, *_originals(names, settings))
    in_buckets = _with_bucket(program, rows, pack.buckets.count, settings)
    return in_buckets.mapInArrow(travelling(pack), from_arrow_schema(PIECE))


def prepares_in_tasks(program: Program, settings: Settings) -> bool:
    """Whether tasks prepare rows: not where rows meet in several ways, where whole events travel along, nor where the
    columns to read are of types that Arrow lacks, or have parts that nobody needs."""
    kinds = [program.events.field(name).type for name in program.needs.read]
    plain = not any(pa.types.is_null(kind) or pa.types.is_nested(kind) for kind in kinds)
    return plain and program.workload is None and not settings.late_rows


def _prepare_in_tasks(program: Program, events: DataFrame, pack: CheckedPackTask, settings: Settings) -> DataFrame:
    needs, schema = program.needs, schema_of(events)
    number = _bucket_number([key_column(path, needs, schema) for path in _keys(program, settings)], pack.buckets.count)
    columns = [F.col(spark_column((name,))) for name in needs.read]
    task = EventPackTask(program, pack)
    pieces = events.select(*columns, number).mapInArrow(travelling(task), from_arrow_schema(COUNTED_PIECE))
    counts = [F.coalesce(F.sum(column), F.lit(0)).alias(name) for name, column in COUNTS.items()]
    counted = pieces.observe(f"{settings.metrics}_read", *counts)
    return counted.where(F.col(BUCKET).isNotNull()).select(*PIECE.names)


def _keys(program: Program, settings: Settings) -> tuple[Path, ...]:
    """Rows that come out early are not merged, so there all keys of a group share a bucket."""
    return program.needs.merged if settings.early else program.needs.together


def _bucket_number(keys: Sequence[str], buckets: int) -> Column:
    number = f"HASH({', '.join(keys)})" if keys else "0"
    return F.expr(f"CAST(PMOD({number}, {buckets}) AS INT)").alias(BUCKET)


def _originals(names: Sequence[str], settings: Settings) -> list[Column]:
    """Whole events travel along where late ones are wanted; they do not enter the state."""
    columns = [F.col(spark_column((name,))) for name in names]
    return [F.struct(*columns).alias(ORIGINAL)] if settings.late_rows else []


def _with_bucket(program: Program, rows: DataFrame, buckets: int, settings: Settings) -> DataFrame:
    """With a column of buckets: rows with the same keys share one. Rows of workloads know by what they meet."""
    needs = program.needs
    if len(needs.families) > 1:
        number = f"`{MEETS}`"
        rows = rows.withColumn(FIRST, F.expr(is_first_copy(needs)))
    elif needs.families:
        number = meeting_number(needs.families[0])
    else:
        return rows.select("*", _bucket_number([spark_column(path) for path in _keys(program, settings)], buckets))
    return rows.withColumn(BUCKET, F.expr(f"CAST(PMOD({number}, {buckets}) AS INT)"))
