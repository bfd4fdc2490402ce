"""The same answers by the tasks of Spark, DataFrames that are appended, and streams that come once."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.operators.running import assert_tables
from tests.spark.comparing import settings
from trendweave.errors import DataError, OptionError
from trendweave.store.event_store import EventStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

F = pytest.importorskip("pyspark.sql.functions")

pytestmark = pytest.mark.spark


def test_same_rows_as_in_this_process(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trendweave.store.spark.aggregate._ROWS", 700)  # several tasks
    generator = np.random.default_rng(3)
    for number in range(3):
        times = np.sort(generator.integers(0, 10**8, 1000)) if number else generator.integers(0, 10**8, 1000)
        table = pa.table({"time": pa.array(times, pa.timestamp("us")), "x": generator.normal(size=1000) * 1e10,
                          "k": generator.integers(-(2**62), 2**62, 1000)})  # fmt: skip
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=100)
        if number < 2:
            store = EventStore.over(tmp_path).build_index(events_per_block=20)
    store = EventStore.over(tmp_path)
    choose = random.Random(5)
    for using in ("index", "replay"):
        for _ in range(3):
            slide = choose.randrange(10**5, 10**7)
            windows = f"{slide + choose.randrange(0, 10**7)} microseconds", f"{slide} microseconds"
            question = ("COUNT(*), SUM(x), AVG(k), MIN(x), MAX(k)", *windows, (datetime(1970, 1, 1, 0, 0, 7), None))
            expected = store.aggregate(*question, using=using)
            assert_tables(store.aggregate(*question, using=using, spark=spark), expected)
            assert expected.num_rows > 3


def test_what_spark_wrote(spark: SparkSession, tmp_path: Path) -> None:
    """In folders of a column, with times as Spark writes them by default and as it used to."""
    frame = spark.range(0, 300, 1, 2).selectExpr(
        "timestamp_micros(1704067200000000 + id * 600000000) AS time", "concat('shop ', id % 3) AS shop", "id / 3D AS x"
    )
    for number, kind in enumerate(("TIMESTAMP_MICROS", "INT96")):
        folder = tmp_path / str(number)
        with settings(spark, sql_parquet_outputTimestampType=kind):
            frame.write.partitionBy("shop").parquet(str(folder))
        store = EventStore.over(folder).build_index()
        expected = frame.selectExpr("count(*)", "max(x)", "min(x)").collect()[0]
        found = store.aggregate("COUNT(*), MAX(x), MIN(x)", using="index").to_pylist()[0]
        assert tuple(found.values())[2:] == tuple(expected)
        days = store.aggregate("COUNT(*)", "1 day", "1 day", by="shop", using="index")
        told = frame.groupBy("shop", F.to_date("time").alias("day")).count().collect()
        assert {(row["shop"], row["window_start"].date(), row["count"]) for row in days.to_pylist()} == {
            (row["shop"], row["day"], row["count"]) for row in told
        }


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_plain_frame_of_the_files_that_matter(spark: SparkSession, tmp_path: Path, zone: str | None) -> None:
    schema = pa.schema({"time": pa.timestamp("us", zone), "x": pa.float64(), "name": pa.string()})
    for day in range(4):
        times = [None if hour == 23 else datetime(2024, 1, 1 + day, hour) for hour in range(24)]
        values = [float("nan") if hour == 5 else None if hour == 6 else 24.0 * day + hour for hour in range(24)]
        table = pa.table({"time": times, "x": values, "name": [f"day {day}"] * 24}, schema=schema)
        pq.write_table(table, tmp_path / f"[{day}].parquet")
    store = EventStore.over(tmp_path).build_index()

    assert store.to_spark(spark).count() == 96
    two_days = store.to_spark(spark, ["x"], between=("2024-01-02", "2024-01-04"))
    assert two_days.columns == ["x"]
    assert two_days.count() == 46
    assert len(two_days.inputFiles()) == 2
    high = store.to_spark(spark, where=[("x", ">=", 90.0), ("name", "<>", "day 0")])
    assert sorted(row["x"] for row in high.collect() if row["x"] == row["x"]) == [90, 91, 92, 93, 94, 95]
    assert high.count() == 6 + 3, "NaN is above all numbers"
    assert store.to_spark(spark, where=[("name", "=", "nobody")], between=("2024-01-01", None)).count() == 0
    assert store.to_spark(spark, where=[("x", "=", 23.0)]).count() == 1, "a row without a time"
    with pytest.raises(DataError, match="no column y"):
        store.to_spark(spark, ["y"])
    with pytest.raises(OptionError, match="cannot be compared by '!='"):
        store.to_spark(spark, where=[("x", "!=", 3)])


def test_frames_are_appended_whole(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema({"time": pa.timestamp("us", "UTC"), "company": pa.string(), "price": pa.float64()})
    store = EventStore.create(tmp_path, schema, keys=["company"], buckets=3)
    frame = spark.range(0, 100, 1, 4).selectExpr(
        "timestamp_micros(id * 1000) AS time", "concat('company ', id % 7) AS company", "id / 4D AS price"
    )

    assert store.append(frame) == 100

    assert store.aggregate("COUNT(*), SUM(price)").to_pylist()[0]["sum_price"] == 99 * 100 / 8
    assert {file.bucket[1] for file in store.files if file.bucket} == {3}
    assert spark.read.parquet(str(tmp_path)).count() == 100, "Spark reads the same files"
    with pytest.raises(DataError):
        store.append(frame.selectExpr("time", "company", "true AS price"))


def test_columns_of_frames_that_do_not_fit(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    schema = pa.schema({"time": pa.timestamp("us", "UTC"), "type": pa.string(), "price": pa.float64()})
    store = EventStore.create(tmp_path, schema)
    frame = spark.range(0, 9, 1, 2).selectExpr(
        "timestamp_micros(if(id < 2, NULL, id)) AS time", "if(id < 5, NULL, 'A') AS type", "1L AS volume"
    )
    with pytest.raises(DataError, match=r"TW301: the store has no column prices(.|\n)*did you mean price"):
        store.append(frame.withColumnRenamed("volume", "prices"))

    assert store.append(frame) == 9
    assert [message for message in caplog.messages if "column" in message or "rows" in message] == [
        "the events have no column price, which is NULL in the store",
        "the column volume of the events is new in the store, and NULL in earlier ones",
        "of 9 rows, 2 have no time and 3 no type: they are stored, and queries drop them",
    ]


def test_a_stream_comes_once(spark: SparkSession, tmp_path: Path) -> None:
    first = datetime(2024, 1, 1)
    source = tmp_path / "source"
    source.mkdir()
    schema = pa.schema({"time": pa.timestamp("us", "UTC"), "x": pa.int64()})
    store = EventStore.create(tmp_path / "store", schema)
    frame = spark.readStream.schema("time TIMESTAMP, x LONG").option("maxFilesPerTrigger", 1).parquet(str(source))
    seen: list[int] = []

    def twice(batch: object, number: int) -> None:
        """A batch that Spark hands over again, as after a failure between the append and the end of the batch."""
        for _ in range(2):
            store.sink("numbers")(batch, number)
        seen.append(number)

    for run in range(2):
        for number in range(2):
            times = pa.array([first + timedelta(seconds=10 * run + number)], schema.field("time").type)
            pq.write_table(pa.table({"time": times, "x": [2 * run + number]}), source / f"{run}-{number}.parquet")
        query = (
            frame.writeStream.foreachBatch(twice)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)

    assert len(seen) == 4
    assert sorted(EventStore.open(tmp_path / "store").read(columns=["x"]).column("x").to_pylist()) == [0, 1, 2, 3]


def test_a_store_is_followed_as_it_grows(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema({"time": pa.timestamp("us"), "x": pa.int64()})
    store = EventStore.create(tmp_path / "store", schema)
    seen: list[list[int]] = []

    def events(*numbers: int) -> pa.Table:
        return pa.table({"time": numbers, "x": numbers}).cast(schema)

    def run() -> None:
        query = (
            store.follow(spark)
            .writeStream.foreachBatch(lambda batch, _: seen.append(sorted(row["x"] for row in batch.collect())))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    store.append(events(1, 2))
    store.append(events(3))
    run()
    store.append(events(4))
    store.append(events(5))
    store.compact()
    pq.write_table(events(6), tmp_path / "store" / "of_somebody_else.parquet")
    run()
    store.compact()
    run()

    assert sorted(number for batch in seen for number in batch) == [1, 2, 3, 4, 5, 6]
