"""Workers and drivers that are killed in the middle of micro-batches: in the end every row is there, and none twice."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import trendweave
from tests.spark.comparing import assert_same
from tests.streaming.another_driver import Job
from tests.streaming.kafka_setup import connector_jars
from tests.streaming.killing import driver, kill_between_rows_and_commit, kill_in_a_batch, numbers
from tests.streaming.running import Files
from tests.streaming.sample import FOLDED, SLIDING, batches, end, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COUNT = 6
EVENTS_OF_A_BATCH = 40
LOST = "Lost task"


@pytest.mark.nightly
@pytest.mark.parametrize("text", [SLIDING, FOLDED], ids=["rows that wait", "folded rows"])
def test_files_to_files_with_killed_workers_and_drivers(streaming: SparkSession, tmp_path: Path, text: str) -> None:
    files = Files(tmp_path / "events")
    for table in [*batches(COUNT), end()]:
        files.write(table)
    job = Job(str(files.folder), str(tmp_path / "rows"), str(tmp_path / "checkpoint"), EVENTS_OF_A_BATCH, query=text)

    with driver(replace(job, pause=0.3), tmp_path / "log-1") as running:
        running.wait(lambda: (running.under_way() or 0) >= 1)
        for _ in range(8):  # a worker that has nothing to do yet is not missed
            time.sleep(0.2)
            running.kill_workers()
            if LOST in running.said():
                break
        assert LOST in running.said(), "no task noticed that its worker was gone"
        assert "Python worker exited unexpectedly" in running.said()
        running.wait(lambda: (running.under_way() or 0) >= 2)
        running.kill()
    assert max(numbers(Path(job.checkpoint) / "commits")) < COUNT
    kill_between_rows_and_commit(job, tmp_path / "log-2")
    assert max(numbers(Path(job.checkpoint) / "commits")) < COUNT
    job.run(streaming)

    assert_same(expected(text, batches(COUNT)), streaming.read.parquet(job.rows).toArrow())


@pytest.fixture(scope="module")
def topic(kafka_servers: str, spark: SparkSession) -> str:
    """Of two partitions, in each the same number of events of every batch."""
    for table in [*batches(COUNT), end()]:
        rows = [(number % 2, json.dumps(event)) for number, event in enumerate(table.to_pylist())]
        frame = spark.createDataFrame(rows, "partition int, value string").coalesce(1)
        frame.write.format("kafka").option("kafka.bootstrap.servers", kafka_servers).option("topic", "events").save()
    return "events"


@pytest.mark.parametrize("in_a_batch", [pytest.param(True, marks=pytest.mark.nightly), False])
def test_kafka_to_files_with_killed_drivers(
    streaming: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, in_a_batch: bool
) -> None:
    """One is killed when rows are written and the batch is not, which is the worst moment; at night one before it."""
    folders = str(tmp_path / "rows"), str(tmp_path / "checkpoint")
    job = Job(topic, *folders, EVENTS_OF_A_BATCH, kafka_servers, tuple(connector_jars()))

    if in_a_batch:
        kill_in_a_batch(job, tmp_path / "log-1", batch=2)
    kill_between_rows_and_commit(job, tmp_path / "log-2")
    assert max(numbers(Path(job.checkpoint) / "commits"), default=-1) < COUNT  # none, if it was the first batch
    job.run(streaming)

    assert_same(expected(SLIDING, batches(COUNT)), streaming.read.parquet(job.rows).toArrow())


def test_kafka_to_kafka(streaming: SparkSession, kafka_servers: str, topic: str, tmp_path: Path) -> None:
    job = Job(topic, "", "", 4 * EVENTS_OF_A_BATCH, kafka_servers)
    rows = trendweave.query(SLIDING).run(job.topic(streaming), watermark="5 seconds")
    query = (
        rows.selectExpr("g AS key", "to_json(struct(*)) AS value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka_servers)
        .option("topic", "trends")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()

    records = (
        streaming.read.format("kafka")
        .option("kafka.bootstrap.servers", kafka_servers)
        .option("subscribe", "trends")
        .load()
    )
    columns = "window_start long, window_end long, g string, count decimal(38,0), sum_A_x decimal(38,0)"
    found = records.selectExpr(f"from_json(CAST(value AS STRING), '{columns}') AS row").select("row.*")
    assert_same(expected(SLIDING, batches(COUNT)), found.toArrow())
