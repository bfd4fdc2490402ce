"""A program on Parquet files whose tasks read them: the driver knows files and columns, and no row passes the JVM
before it is packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from trendweave.programs.program import Program, Scope
from trendweave.rows.dropped import COUNTS
from trendweave.runners.metrics import Metrics
from trendweave.runners.options import Settings
from trendweave.runners.spark.batch import merge_parts, run_batch
from trendweave.runners.spark.chunks import find_cut
from trendweave.runners.spark.exchange.blobs import BLOBS, BUCKET
from trendweave.runners.spark.exchange.deal import Deal
from trendweave.runners.spark.exchange.road import compute_blobs, find_buckets, is_sorted_by_time
from trendweave.runners.spark.metrics import count_results, observe_rows
from trendweave.runners.spark.prepare import in_plain_strings
from trendweave.runners.spark.reading.bounds import Bounds
from trendweave.runners.spark.reading.events import ParquetEvents
from trendweave.runners.spark.reading.files import File
from trendweave.runners.spark.reading.folders import add_folders, read_folders
from trendweave.runners.spark.reading.needed import may_be_taken
from trendweave.runners.spark.reading.pieces import bytes_of_a_task, deal_pieces
from trendweave.runners.spark.reading.read_task import ReadTask
from trendweave.runners.spark.schema import result_type
from trendweave.runners.spark.sessions.travelling import travelling
from trendweave.runners.spark.table_task import TableTask

#: Settings of a session that change which values Spark reads, and those under which tasks read the same.
_PLAIN = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}


def run_files(program: Program, events: ParquetEvents, settings: Settings) -> DataFrame:
    """The rows of a program. Nothing runs before an action on the result does.

    Args:
        program: Bound to the columns of the events.
        events: The files.
        settings: Checked options.
    """
    plain = in_plain_strings(events.to_spark())
    if why_spark_reads(program, events, settings) is not None:
        return run_batch(program, plain, settings)
    metrics = settings.observation if isinstance(settings.observation, Metrics) else None
    program.count_what_is_planned()
    observation = settings.observation if metrics is None else observe_rows(metrics)
    cut = find_cut(program, settings)
    in_parts = program.partials() is not None
    task = TableTask(program, Scope(counted=metrics is not None), in_parts, device=settings.device)
    task = replace(task.in_chunks(cut), adopts=False)
    deal = Deal(find_buckets(events.sparkSession), task.keys, cut, program.moment)
    blobs = _read(program, events, deal, observation)
    result = result_type(program, plain.schema)
    found = merge_parts(task, result, lambda shown: compute_blobs(task, blobs, shown, settings))
    return found if metrics is None else count_results(metrics, found, program.metrics is not None)


def _read(program: Program, events: ParquetEvents, deal: Deal, observation: Observation | None) -> DataFrame:
    """The blobs that tasks make of files, counted as they pass."""
    spark = events.sparkSession
    files = events.files if observation is not None else _find_needed(program, events.files)
    tasks = deal_pieces(files, bytes_of_a_task(lambda name: spark.conf.get(name, None)))
    task = ReadTask(program, program.events, tasks, deal, counted=observation is not None)
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    if observation is None:
        return numbers.mapInArrow(travelling(task), BLOBS)
    blobs = numbers.mapInArrow(travelling(task), f"{BLOBS}, {', '.join(f'{name} LONG' for name in COUNTS.values())}")
    counts = [F.coalesce(F.sum(column), F.lit(0)).alias(name) for name, column in COUNTS.items()]
    return blobs.observe(observation, *counts).where(F.col(BUCKET).isNotNull()).drop(*COUNTS.values())


def _find_needed(program: Program, files: Sequence[File]) -> list[File]:
    """Files whose folders do not tell that no row of them is needed."""
    one_row = Bounds(1)
    values = (read_folders(file, program.events) for file in files)
    return [
        file
        for file, own in zip(files, values, strict=True)
        if not own or may_be_taken(program.needs, add_folders(one_row, own))
    ]


def why_spark_reads(program: Program, events: ParquetEvents, settings: Settings) -> str | None:
    """Why Spark reads the files, and not tasks; None where tasks do.

    Args:
        program: What runs.
        events: The files.
        settings: Checked options.
    """
    if is_sorted_by_time(program):
        return "rows are sorted by Spark"
    if program.needs.time is None:
        return "rows have no single time"
    cut = find_cut(program, settings)
    if cut is not None and cut.last_step:
        return "the last time before a chunk is known to no task"
    for name in program.needs.read:
        if not _is_readable(program.events.field(name).type):
            return f"the column {name} is of a type that Arrow lacks"
    folders = {name.lower() for file in events.files for name, _ in file.folders}
    for name in program.needs.read:
        kind = program.events.field(name).type
        if name.lower() in folders and pa.types.is_timestamp(kind):
            return f"the folders of {name} are times, in the zone of the session"
    read = events.sparkSession.conf.get
    for name, value in _PLAIN.items():
        if (read(name, value) or value).lower() != value.lower():
            return f"the session says {name}={read(name)}"
    return None


def _is_readable(kind: pa.DataType) -> bool:
    return not pa.types.is_null(kind) and all(_is_readable(kind.field(place).type) for place in range(kind.num_fields))
