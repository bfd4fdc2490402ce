"""A query on a store, on Spark: the driver plans from indexes, tasks read their row groups and compute them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, NullType, StructField, StructType

from trendweave.errors import ExecutionError, Problem
from trendweave.programs.program import Program, Scope
from trendweave.runners.metrics import Metrics
from trendweave.runners.options import Settings
from trendweave.runners.spark.batch import merge_parts
from trendweave.runners.spark.chunks import find_cut
from trendweave.runners.spark.exchange.blobs import BLOBS
from trendweave.runners.spark.exchange.deal import Deal
from trendweave.runners.spark.exchange.road import choose_road, compute_blobs, find_buckets
from trendweave.runners.spark.prepare import arrow_schema
from trendweave.runners.spark.schema import result_type
from trendweave.runners.spark.sessions.travelling import travelling
from trendweave.runners.spark.table_task import TableTask
from trendweave.store.event_store import EventStore
from trendweave.store.layout.reading import OpenFiles
from trendweave.store.patterns.access import Access
from trendweave.store.patterns.running.in_process import Request, plan_request
from trendweave.store.patterns.running.told import tell_access
from trendweave.store.spark.queries.pieces import (
    MOST_BYTES,
    Piece,
    cut_sections,
    deal_groups,
    largest_piece,
    split_buckets,
)
from trendweave.store.spark.queries.read_task import ComputePieces, DealPieces, PieceReader


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
    if program.needs.time is None or choose_road(program, "auto") == "rows":
        message = "rows of this query cannot be shuffled by tasks that read a store"
        hint = "leave spark out, or give the query spark.read.parquet(...)"
        raise ExecutionError([Problem("TW404", message, hint)])
