"""A script: a stream in a driver process of its own, which tests kill. The one argument is JSON, see `Job`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import trendweave
from tests.streaming.running import ROCKSDB, write_to_the_end
from tests.streaming.sample import COLUMNS, SLIDING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Job:
    """From a folder of files, or from a Kafka topic where servers are named, to Parquet files.

    `pause` are seconds for which a Python worker sleeps in each micro-batch, so that there is time to kill it. With
    `rules` it is a stream of a workload, else of the query.
    """

    source: str
    rows: str
    checkpoint: str
    events_at_once: int
    servers: str | None = None
    jars: tuple[str, ...] = ()
    pause: float = 0
    rules: dict[str, str] | None = None
    query: str = SLIDING

    def argument(self) -> str:
        return json.dumps(asdict(self))

    def run(self, spark: SparkSession) -> None:
        """Until everything that is there is read, in small micro-batches."""
        events = self._files(spark) if self.servers is None else self.topic(spark)
        if self.pause:
            events = events.mapInArrow(self._paused, events.schema)
        asked = trendweave.query(self.query) if self.rules is None else trendweave.workload(self.rules)
        rows = asked.run(events, watermark="5 seconds", buckets=3)
        write_to_the_end(rows, Path(self.rows), Path(self.checkpoint))

    def _files(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(self.source)

    def topic(self, spark: SparkSession) -> DataFrame:
        records = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.servers)
            .option("subscribe", self.source)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", self.events_at_once)
            .load()
        )
        return records.selectExpr(f"from_json(CAST(value AS STRING), '{COLUMNS}') AS event").select("event.*")

    def _paused(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(self.pause)
            yield batch


def session(job: Job) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2,9]")  # a task whose worker dies is tried again
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    )
    return builder.config("spark.jars", ",".join(job.jars)).getOrCreate()


def main(argument: str) -> None:
    job = Job(**json.loads(argument))
    job.run(session(job))


if __name__ == "__main__":
    main(sys.argv[1])
