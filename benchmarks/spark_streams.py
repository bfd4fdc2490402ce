"""Streams of files for benchmarks: one file a micro-batch, run to their end, and how long each micro-batch took."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
#: Micro-batches at the beginning that are not timed: workers start, and the first windows fill.
WARM_UP = 3


@dataclass(frozen=True, slots=True)
class StreamRun:
    """Seconds of each timed micro-batch, late events, and what the state holds at the end.

    Attributes:
        batches: Seconds.
        late: Events.
        waiting: Events that wait.
        waiting_bytes: Of them.
        carried_bytes: Of what events were folded into.
    """

    batches: list[float]
    late: int
    waiting: int = 0
    waiting_bytes: int = 0
    carried_bytes: int = 0

    @property
    def state_bytes(self) -> int:
        return self.waiting_bytes + self.carried_bytes


def write_stream(table: pa.Table, folder: Path, rows: int) -> Path:
    """The table cut into files of so many rows; a stream reads them by their age."""
    folder.mkdir(parents=True)
    for number, low in enumerate(range(0, table.num_rows, rows)):
        path = folder / f"{number:05}.parquet"
        pq.write_table(table.slice(low, rows), path)
        os.utime(path, (number + 1, number + 1))
    return folder


def read_stream(spark: SparkSession, folder: Path, columns: list[str]) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return stream.select(*columns)


def copied(events: DataFrame) -> DataFrame:
    """The floor: a stateless pass through Python that copies."""
    return events.mapInArrow(_copy, events.schema)


def _copy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def run(rows: DataFrame, checkpoint: Path, keep: bool = False, folded: bool = False) -> StreamRun:
    """Run to the end of the files, with rows going nowhere. `folded`: whether the query folds events."""
    query = (
        rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    progress = [step for step in query.recentProgress if step.numInputRows]
    late = sum(step.observedMetrics["trendweave"]["late"] for step in progress if "trendweave" in step.observedMetrics)
    spark, held = rows.sparkSession, []
    if query.recentProgress[-1].stateOperators:
        held = _sums(spark, checkpoint, "pieces", "user_map_value.rows", "LENGTH(user_map_value.payload)")
        held += _sums(spark, checkpoint, "tables", "LENGTH(user_map_value.content)") if folded else []
    if not keep:
        shutil.rmtree(checkpoint)
    return StreamRun([step.durationMs["triggerExecution"] / 1e3 for step in progress[WARM_UP:]], late, *held)


def _sums(spark: SparkSession, checkpoint: Path, variable: str, *values: str) -> list[int]:
    """Sums over all values of a variable in the state, read from the checkpoint."""
    state = spark.read.format("statestore").option("path", str(checkpoint)).option("stateVarName", variable).load()
    found = state.selectExpr(*(f"SUM({value})" for value in values)).first()
    return [value or 0 for value in found]
