"""Events of a stream -> pieces: who prepares rows, and which bucket they go to.

A micro-batch is planned anew each time, and all that Spark SQL has to do with a row is part of that plan. So tasks get
events as they came, with their bucket, and prepare rows with Arrow where they can.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from trendweave.events import schema_of
from trendweave.expressions.spark_sql import spark_column
from trendweave.planning.plan import Path
from trendweave.programs.program import MEETS, Program
from trendweave.rows.dropped import COUNTS
from trendweave.runners.options import Settings
from trendweave.runners.spark.checkpoint_owner import CheckedPackTask
from trendweave.runners.spark.metrics import count_rows
from trendweave.runners.spark.packing.event_pack import COUNTED_PIECE, EventPackTask
from trendweave.runners.spark.pieces import BUCKET, FIRST, ORIGINAL, PIECE
from trendweave.runners.spark.prepare import is_first_copy, key_column, meeting_number, prepare_rows
from trendweave.runners.spark.sessions.travelling import travelling


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
