"""`order_by` on Spark: the rows of this process, whatever brings events together."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.spark.comparing import settings
from tests.streaming.running import ROCKSDB, Files, counted, run_to_the_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COUNTED = "RETURN k, COUNT(*) AS n, SUM(A.x) AS x PATTERN SEQ(A+, NOT C, B) WHERE [k] GROUP-BY k WITHIN 6 s SLIDE 3 s"
LISTED = "RETURN TRENDS(x) PATTERN SEQ(A, B) WHERE [k] SEMANTICS skip-till-next-match WITHIN 4 s"
SITUATED = f"{COUNTED} FROM A DEFINE X AS x > 10".replace("[k]", "[k] AND A DURING X")
WITHOUT_KEYS = "RETURN COUNT(*) AS n PATTERN SEQ(A, B, C) WITHIN 3 s SLIDE 1 s"


def make_events() -> pa.Table:
    """Many events of few times, out of order; numbers are of text, some equal and some NULL."""
    chance = random.Random(7)
    rows = [
        {
            **{"time": chance.randrange(30), "type": chance.choice("ABBC"), "k": chance.randrange(3)},
            **{"x": number, "number": chance.choice([None, "1", "2", "3", "3"])},
        }
        for number in range(120)
    ]
    return pa.Table.from_pylist(rows)


EVENTS = make_events()


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=str)


def here(text: str) -> list[dict[str, Any]]:
    found = rows(trendweave.query(text).run(EVENTS, order_by="number"))
    assert found != rows(trendweave.query(text).run(EVENTS)), "the order makes no difference"
    return found


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(COUNTED, {}, id="counted"),
        pytest.param(LISTED, {}, id="listed"),
        pytest.param(WITHOUT_KEYS, {"chunks": "5 seconds"}, id="chunks of time"),
        pytest.param(SITUATED, {}, id="situations"),
    ],
)
def test_rows_of_dataframes(spark: SparkSession, text: str, options: dict[str, Any]) -> None:
    frame = spark.createDataFrame(EVENTS).repartition(2)
    assert rows(trendweave.query(text).run(frame, order_by="number", **options).toArrow()) == here(text)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(COUNTED, {}, id="counted"),
        pytest.param(LISTED, {"order_by": "number"}, id="listed"),
        pytest.param(WITHOUT_KEYS, {"chunks": "5 seconds"}, id="chunks of time"),
        pytest.param(SITUATED, {}, id="situations"),
        pytest.param("RETURN COUNT(*) PATTERN SEQ(A, Z) WITHIN 6 s SLIDE 3 s", {}, id="nothing found"),
    ],
)
def test_events_of_one_time_are_counted(spark: SparkSession, text: str, options: dict[str, Any]) -> None:
    """Once each, in whatever chunks of time they are, and where there is no row of a result."""
    query, here, there = trendweave.query(text), trendweave.Metrics(), trendweave.Metrics()
    order = {name: value for name, value in options.items() if name == "order_by"}
    query.run(EVENTS, metrics=here, **order)
    query.run(spark.createDataFrame(EVENTS).repartition(2), metrics=there, **options).collect()
    assert there.get["same_time"] == here.get["same_time"] > 0


def test_workloads(spark: SparkSession) -> None:
    """Queries of other keys meet in other places, and none shares with another."""
    workload = trendweave.workload({"counted": COUNTED, "listed": LISTED, "without": WITHOUT_KEYS})
    frame = spark.createDataFrame(EVENTS).repartition(2)
    found = workload.run(frame, order_by="number").toArrow()
    for name, query in workload.items():
        assert rows(workload.rows(found, name)) == here(str(query)), name


def test_stores_that_tasks_read(spark: SparkSession, tmp_path: Path) -> None:
    store = trendweave.EventStore.create(str(tmp_path / "events"), EVENTS.schema, type="type")
    store.append(EVENTS.slice(0, 50))
    store.append(EVENTS.slice(50))
    found = trendweave.query(COUNTED).run(store, spark=spark, order_by="number", using="index")
    assert rows(found.toArrow()) == here(COUNTED)


def test_files_that_tasks_read(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    files = trendweave.read(spark, str(tmp_path / "events.parquet"))
    assert rows(trendweave.query(COUNTED).run(files, order_by="number").toArrow()) == here(COUNTED)


@pytest.mark.nightly
@pytest.mark.parametrize("among_others", [False, True], ids=["alone", "in a workload"])
def test_streams(spark: SparkSession, tmp_path: Path, among_others: bool) -> None:
    """Pieces end between events of one time."""
    in_order = EVENTS.sort_by("time")
    files = Files(tmp_path / "events")
    files.write(in_order.slice(0, 61))
    files.write(in_order.slice(61))
    files.write(pa.Table.from_pylist([{"time": 1000, "type": "D", "k": 9, "x": 0, "number": ""}], EVENTS.schema))
    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=2):
        stream = files.stream(spark, "time long, type string, k long, x long, number string")
        workload = trendweave.workload({"counted": COUNTED, "without": WITHOUT_KEYS})
        asked = workload if among_others else workload["counted"]
        found, run = run_to_the_end(
            asked.run(stream, watermark="5 seconds", order_by="number"), tmp_path / "checkpoint"
        )
    metrics = trendweave.Metrics()
    asked.run(EVENTS, order_by="number", metrics=metrics)
    assert counted(run, "same_time") == metrics.get["same_time"] > 0
    assert rows(workload.rows(found, "counted") if among_others else found) == here(COUNTED)
