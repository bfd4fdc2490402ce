"""The set-up for Kafka works: what Spark writes to a topic comes back, as a batch and as a stream.

By day `test_kills` shows that, too: it writes events to a topic and rows to another, and reads both.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

ROWS = 1_000
EXPECTED = [(number, number * number) for number in range(ROWS)]


@pytest.fixture(scope="module")
def topic(kafka_servers: str, spark: SparkSession) -> str:
    name = "round-trip"
    rows = spark.range(ROWS).selectExpr("CAST(id AS STRING) AS key", "CAST(id * id AS STRING) AS value")
    rows.write.format("kafka").option("kafka.bootstrap.servers", kafka_servers).option("topic", name).save()
    return name


def pairs(records: DataFrame) -> list[tuple[int, int]]:
    rows = records.selectExpr("CAST(CAST(key AS STRING) AS LONG) AS k", "CAST(CAST(value AS STRING) AS LONG) AS v")
    return sorted((row.k, row.v) for row in rows.collect())


def test_a_batch_reads_what_was_written(kafka_servers: str, spark: SparkSession, topic: str) -> None:
    records = (
        spark.read.format("kafka").option("kafka.bootstrap.servers", kafka_servers).option("subscribe", topic).load()
    )

    assert pairs(records) == EXPECTED


def test_a_stream_reads_what_was_written(kafka_servers: str, spark: SparkSession, topic: str, tmp_path: Path) -> None:
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", ROWS // 2)  # several micro-batches, so that offsets are kept between them
        .load()
    )
    written, checkpoint = str(tmp_path / "rows"), str(tmp_path / "checkpoint")
    stream = (
        records.writeStream.format("parquet")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(written)
    )
    try:
        assert stream.awaitTermination(120)
    finally:
        stream.stop()

    assert pairs(spark.read.parquet(written)) == EXPECTED
    assert len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) > 1
