"""Streams of files, run until all files are read, and what came out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from trendweave.runners.spark.versions import collect_arrow, read_progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
#: Rows of state that stay when all windows are closed: the one that says whose checkpoint this is.
OWNER = 1


class Files:
    """A folder of Parquet files, one micro-batch each, in the order of their writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = 0
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, events: pa.Table) -> None:
        self.written += 1
        # Written elsewhere and moved, as a stream reads whatever it finds; the file's age is its place in the stream.
        hidden = self.folder.parent / f".{self.folder.name}-{self.written}"
        pq.write_table(events, hidden)
        os.utime(hidden, (self.written, self.written))
        hidden.rename(self.folder / f"{self.written:04}.parquet")

    def stream(self, spark: SparkSession, schema: str) -> DataFrame:
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.folder))


def run_to_the_end(rows: DataFrame, checkpoint: Path, mode: str = "append") -> tuple[pa.Table, StreamingQuery]:
    """All rows that come out while the stream reads what is there, and the finished query with its progress."""
    name = f"rows_{uuid4().hex}"
    query = (
        rows.writeStream.format("memory")
        .queryName(name)
        .outputMode(mode)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
        found = collect_arrow(rows.sparkSession.table(name))
    finally:
        query.stop()
        rows.sparkSession.catalog.dropTempView(name)
    return found, query


def write_to_the_end(rows: DataFrame, folder: Path, checkpoint: Path) -> StreamingQuery:
    """The same with a sink that outlives the process: Parquet files, each row once."""
    query = (
        rows.writeStream.format("parquet")
        .option("path", str(folder))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return query


def counted(query: StreamingQuery, metric: str, name: str = "trendweave") -> int:
    """A count of the metrics, over all micro-batches."""
    every = (read_progress(progress)["observedMetrics"] for progress in query.recentProgress)
    return sum(_count(metrics, name, metric) for metrics in every)


def _count(metrics: dict[str, Any], name: str, metric: str) -> int:
    return metrics[name][metric] if name in metrics else 0
