"""The runner starts no job of its own, changes no setting, reads no more than it needs, and counts what it drops."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.spark.comparing import settings
from trendweave.datasets import stock
from trendweave.errors import ExecutionError, LanguageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PER_SECTOR = (
    "RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price "
    "AND S.volume > 5000 GROUP-BY sector WITHIN 10 seconds SLIDE 5 seconds"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("stock") / "stock.parquet"
    pq.write_table(stock(500, seed=5), path)
    return str(path)


def test_nothing_runs_before_an_action(spark: SparkSession, file: str, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    mark = str(tmp_path / "ran")

    def marking(price):
        Path(mark).touch()
        return price

    tracker = spark.sparkContext.statusTracker()
    events = spark.read.parquet(file).withColumn("price", F.udf(marking, "double")("price"))
    before = tracker.getJobIdsForGroup(None)
    for query in (PER_SECTOR, "RETURN COUNT(*), AVG(S.price) PATTERN Stock S+ WITHIN 3 seconds"):
        result = trendweave.query(query).run(events)
        assert result.schema.names
        # Further steps are lazy, too.
        result = result.where("count > 1").orderBy("count")
    assert tracker.getJobIdsForGroup(None) == before
    assert not Path(mark).exists()

    assert result.count() > 0

    assert Path(mark).exists()
    assert tracker.getJobIdsForGroup(None) != before


def test_settings_stay_as_they_are(spark: SparkSession, file: str) -> None:
    before = spark.conf.getAll
    trendweave.query(PER_SECTOR).run(spark.read.parquet(file)).collect()
    assert spark.conf.getAll == before


def plan_of(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    frame.explain()
    return capsys.readouterr().out


def test_filters_and_columns_reach_the_file(spark: SparkSession, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with settings(spark, sql_maxMetadataStringLength=1000):
        text = plan_of(trendweave.query(PER_SECTOR).run(spark.read.parquet(file)), capsys)

    pushed = text.split("PushedFilters: ")[1].split("]")[0]
    for condition in ("IsNotNull(time)", "EqualTo(type,Stock)", "GreaterThan(volume,5000)", "IsNotNull(company)"):
        assert condition in pushed
    read = text.split("ReadSchema: struct<")[1].split(">")[0]
    # `volume` and `type` are in filters; `side` and `transaction_id` are in nothing.
    assert {part.split(":")[0] for part in read.split(",")} == {"time", "type", "company", "sector", "price", "volume"}


def test_only_the_needed_part_of_a_struct_is_read(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "nested.parquet")
    pq.write_table(pa.table({"time": [1, 2], "a": [{"b": 1, "c": "x"}, {"b": 2, "c": "y"}]}), path)
    result = trendweave.query("RETURN SUM(S.a.b) AS b PATTERN S+").run(spark.read.parquet(path), type=None)

    assert "ReadSchema: struct<time:bigint,a:struct<b:bigint>>" in plan_of(result, capsys)
    assert [row.b for row in result.collect()] == [6]


def test_rows_are_shuffled_once_per_step(spark: SparkSession, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Groups that are keys need one exchange, groups that span keys a second one for partial aggregates."""
    events = spark.read.parquet(file)
    for query, exchanges in (
        (PER_SECTOR, 2),
        (PER_SECTOR.replace("[company, sector] AND", ""), 1),
        ("RETURN COUNT(*) PATTERN Stock S+ WITHIN 10 seconds", 1),
    ):
        text = plan_of(trendweave.query(query).run(events), capsys)
        assert text.count("Exchange hashpartitioning") == exchanges


def test_a_result_can_be_joined_with_itself_and_cached(spark: SparkSession, file: str) -> None:
    result = trendweave.query(PER_SECTOR).run(spark.read.parquet(file)).cache()
    try:
        rows = result.count()
        assert rows > 0
        other = trendweave.query(PER_SECTOR).run(spark.read.parquet(file))
        keys = ["window_start", "window_end", "sector", "count"]
        assert result.join(other, keys).join(result, keys).count() == rows
    finally:
        result.unpersist()


def test_sql_sees_the_result(spark: SparkSession, file: str) -> None:
    trendweave.query(PER_SECTOR).run(spark.read.parquet(file)).createOrReplaceTempView("falling")
    try:
        found = spark.sql("SELECT sector, SUM(count) AS trends FROM falling GROUP BY sector ORDER BY trends DESC")
        assert found.columns == ["sector", "trends"]
        assert len(found.collect()) == 10
    finally:
        spark.catalog.dropTempView("falling")


EVENTS = [
    *[(1.0, "A"), (2.0, "A"), (3.0, "B"), (4.0, "X"), (5.0, "Y"), (6.0, None), (7.0, None), (8.0, "a")],
    *[(None, "A"), (None, None), (float("nan"), "A"), (float("inf"), "B")],
]


@pytest.mark.parametrize("clauses", ["", "WITHIN 4 seconds SLIDE 1 second", "WITHIN 4 seconds"])
def test_dropped_rows_are_observed(spark: SparkSession, clauses: str) -> None:
    from pyspark.sql import Observation

    observation = Observation("events")
    frame = spark.createDataFrame(EVENTS, "time double, type string")
    query = trendweave.query(f"RETURN COUNT(*) PATTERN SEQ(A+, B) {clauses}")

    # Two partitions and copies for chunks of time: each row is counted once all the same.
    query.run(frame.repartition(2), observation=observation).collect()

    assert observation.get == {"rows": 12, "null_time": 4, "null_type": 2, "other_type": 3}


def test_the_same_counts_as_in_process(spark: SparkSession) -> None:
    import json

    from pyspark.sql import Observation

    observation = Observation()
    frame = spark.createDataFrame(EVENTS, "time double, type string")
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A+, B)")
    query.run(frame, observation=observation).collect()

    local = query.run(frame.toArrow())
    assert observation.get == json.loads(local.schema.metadata[b"trendweave.metrics"])


def test_without_types_nothing_is_dropped_for_them(spark: SparkSession) -> None:
    from pyspark.sql import Observation

    observation = Observation()
    frame = spark.createDataFrame(EVENTS, "time double, type string")
    trendweave.query("RETURN COUNT(*) PATTERN S+").run(frame, type=None, observation=observation).collect()
    assert observation.get == {"rows": 12, "null_time": 4, "null_type": 0, "other_type": 0}


@pytest.mark.parametrize("window", ["WITHIN 4 seconds SLIDE 4 seconds", ""])
@pytest.mark.parametrize("group", ["k", "g"])
def test_metrics_count_trends_and_the_largest_key(spark: SparkSession, window: str, group: str) -> None:
    # Keys 0, 1 and 2 have 8, 4 and 2 events; all of it lies in one window.
    rows = [(time % 4, "A", k, k // 2) for k, count in enumerate((8, 4, 2)) for time in range(count)]
    frame = spark.createDataFrame(rows, "time long, type string, k int, g int").repartition(3)
    query = trendweave.query(f"RETURN {group}, COUNT(*) PATTERN A+ WHERE [k, g] GROUP-BY {group} {window}")
    metrics = trendweave.Metrics()

    found = query.run(frame, observation=metrics)

    counts = [int(row["count"]) for row in found.collect()]
    assert found.columns[-2:] == [group, "count"]
    assert metrics.get == {
        **{"rows": 14, "null_time": 0, "null_type": 0, "other_type": 0},
        **{"trends": float(sum(counts)), "peak_rows": 8, "same_time": 8},
    }


def test_metrics_of_counts_beyond_any_float(spark: SparkSession) -> None:
    frame = spark.range(1_100).selectExpr("id AS time", "'A' AS type")
    metrics = trendweave.Metrics()
    trendweave.query("RETURN COUNT(*) PATTERN A+").run(frame, observation=metrics, numbers="text").collect()
    assert metrics.get["trends"] == float("inf")


def test_arguments_win_over_settings(spark: SparkSession) -> None:
    frame = spark.range(30).selectExpr("id AS time", "'A' AS type")
    query = trendweave.query("RETURN COUNT(*) PATTERN A+")
    with settings(spark, numbers="text", maxRowsOfAKey=10), pytest.raises(Exception, match="TW405"):
        query.run(frame).collect()
    with settings(spark, numbers="text", maxRowsOfAKey=10):
        (row,) = query.run(frame, numbers="int64", max_rows_of_a_key=30).collect()
    assert row["count"] == 2**30 - 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"chunk": "1 hour"}, TypeError, "max_rows_of_a_key, bytes_in_memory, not chunk"),
        ({"chunks": "1 hour later"}, LanguageError, "TW106: chunks: '1 hour later' is not a duration"),
        ({"chunks": "5"}, LanguageError, "TW106: chunks: a duration needs a unit"),
        ({"chunks": "8 seconds"}, ExecutionError, "TW407: chunks of 8 seconds are shorter"),
        ({"rows_at_once": 0}, ExecutionError, "TW408: rows_at_once is '0'"),
        ({"max_rows_of_a_key": "many"}, ExecutionError, "TW408: max_rows_of_a_key is 'many'"),
    ],
)
def test_options_that_make_no_sense(
    spark: SparkSession, options: dict[str, str], error: type[Exception], message: str
) -> None:
    frame = spark.range(3).selectExpr("id AS time", "'A' AS type")
    query = trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN 10 s SLIDE 1 s")
    with pytest.raises(error, match=re.escape(message)):
        query.run(frame, **options)


def test_only_spark_takes_the_options_of_spark() -> None:
    events = pa.table({"time": [1], "type": ["A"]})
    with pytest.raises(TypeError, match="only Spark DataFrames take the options chunks"):
        trendweave.query("RETURN COUNT(*) PATTERN A+").run(events, chunks="off")


def test_an_observation_leaves_the_rows_alone(spark: SparkSession, file: str) -> None:
    from pyspark.sql import Observation

    events = spark.read.parquet(file)
    with settings(spark, rowsAtOnce=50):
        plain = trendweave.query(PER_SECTOR).run(events).collect()
        observed = trendweave.query(PER_SECTOR).run(events, observation=Observation()).collect()
    assert sorted(plain) == sorted(observed)
