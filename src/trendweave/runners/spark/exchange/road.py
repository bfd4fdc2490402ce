"""The road of columns: tasks deal prepared rows out into blobs, Spark moves the blobs, tasks compute them."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from trendweave.programs.program import Program
from trendweave.runners.options import Settings
from trendweave.runners.spark.chunks import find_cut, number_chunks
from trendweave.runners.spark.exchange.blobs import BLOBS, BUCKET
from trendweave.runners.spark.exchange.buckets import Buckets
from trendweave.runners.spark.exchange.compute import ComputeBlobs
from trendweave.runners.spark.exchange.deal import Deal
from trendweave.runners.spark.sessions.travelling import travelling
from trendweave.runners.spark.table_task import Limits, TableTask

#: How many tasks a shuffle has at first; with the setting that comes first where both are there.
_TASKS = ("spark.sql.adaptive.coalescePartitions.initialPartitionNum", "spark.sql.shuffle.partitions")


def is_sorted_by_time(program: Program) -> bool:
    """Whether Spark has to sort rows: stretches of time are cut between any two times, which it finds by sorting."""
    parts = program.partials()
    return parts is not None and parts.of_stretches


def compute_columns(task: TableTask, rows: DataFrame, result: StructType, settings: Settings) -> DataFrame:
    """What a task makes of rows.

    Args:
        task: Computes tables of whole keys.
        rows: Prepared rows.
        result: The columns that come out.
        settings: Checked options.
    """
    program = task.program
    cut = find_cut(program, settings)
    task = task.in_chunks(cut)
    if cut is not None and cut.last_step:
        # Which time was the last before a chunk is known to no task.
        rows, cut = number_chunks(rows, cut, program.moment), None
    deal = Deal(find_buckets(rows.sparkSession), task.keys, cut, program.moment)
    return compute_blobs(task, rows.mapInArrow(travelling(deal), BLOBS), result, settings)


def compute_blobs(task: TableTask, blobs: DataFrame, result: StructType, settings: Settings) -> DataFrame:
    """What a task makes of rows that were dealt out.

    Args:
        task: Computes tables of whole keys.
        blobs: Rows with the columns of `BLOBS`.
        result: The columns that come out.
        settings: Checked options.
    """
    # Where rows have no time, a key is all that a query asks for.
    of_a_key = 2**62 if task.program.needs.time is None else settings.max_rows_of_a_key
    limits = Limits(settings.rows_at_once, of_a_key)
    compute = ComputeBlobs(task, limits, settings.bytes_in_memory)
    return blobs.repartition(F.col(BUCKET)).mapInArrow(travelling(compute), result)


def find_buckets(spark: SparkSession) -> Buckets:
    """As many as a shuffle has tasks. Where that changes until the query runs, buckets share tasks, and that is all."""
    settings = (spark.conf.get(name, None) for name in _TASKS)
    return Buckets(next((int(found) for found in settings if found and found.isdecimal()), 200))
