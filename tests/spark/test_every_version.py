"""One query of each kind, in batch and as a stream: what every version of Spark that we take must be able to do.

`make test-versions` runs all of this file with each of them, `make test` a part of it with the newest and the oldest.
What a test is about is the first word of its name: the table of versions has a column for each.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql.types import ArrayType, StructField, StructType, TimestampNTZType, TimestampType

import trendweave
from tests.spark.comparing import assert_same, settings
from tests.streaming.running import ROCKSDB, Files, counted, run_to_the_end, write_to_the_end
from trendweave import operators as ops
from trendweave.errors import ExecutionError
from trendweave.rows.time_parsing import read_time_options
from trendweave.runners.spark import stream_operator, versions
from trendweave.runners.spark.time_parsing import read_times_on_spark
from trendweave.runners.spark.versions import StateInterface, collect_arrow, has_data_sources, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    # Before 4.2 Spark leaves the socket of toArrow to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_TREND = "PATTERN SEQ(A+, B) WHERE [k] AND A.x < NEXT(A).x"
_WINDOW = "WITHIN 20 seconds SLIDE 10 seconds"
_DEFINED = "DEFINE Low AS x < 3, High AS x > 2"
QUERIES = {
    "aggregate": f"RETURN g, COUNT(*), SUM(A.x) {_TREND} AND A.x % 4 < 3 GROUP-BY g {_WINDOW}",
    "trends": f"RETURN TRENDS(x) {_TREND} {_WINDOW}",
    "intervals": f"FROM X PARTITION BY k {_DEFINED} PATTERN Low before; meets; overlaps High WITHIN 30 seconds "
    "RETURN k, AVG(High.x), COUNT(Low)",
    "situated": f"RETURN COUNT(*) {_TREND} AND A DURING Low {_WINDOW} {_DEFINED}",
}
COLUMNS = "time timestamp, type string, k long, g string, x long"
_CHAIN = "FILTER x > 1 | AGGREGATE SUM(x) AS total, COUNT(*) AS events OVER 3 ROWS SLIDE 2 ROWS BY k"


def _events(first: int = 0, count: int = 120) -> pa.Table:
    places = range(first, first + count)
    return pa.table(
        {
            "time": pa.array([1_000_000 * place for place in places], pa.timestamp("us", "UTC")),
            "type": ["B" if place % 4 == 3 else "A" for place in places],
            "k": [place % 3 for place in places],
            "g": ["odd" if place % 3 % 2 else "even" for place in places],
            "x": [place * 7 % 6 for place in places],
        }
    )


def _end() -> pa.Table:
    """An event that no query reads, so late that everything before it is closed."""
    moment = pa.array([10_000_000_000], pa.timestamp("us", "UTC"))
    return pa.table({"time": moment, "type": ["end"], "k": [9], "g": ["end"], "x": pa.array([None], pa.int64())})


def _frame(spark: SparkSession, folder: Path) -> DataFrame:
    pq.write_table(_events(), folder / "events.parquet", row_group_size=40)
    return spark.read.parquet(str(folder / "events.parquet")).repartition(3)


def _files(folder: Path, *, late: bool = False) -> Files:
    files = Files(folder / "events")
    for first in range(0, 120, 60):
        files.write(_events(first, 60))
    files.write(_end())
    if late:
        files.write(_events(0, 7))
    return files


@pytest.mark.parametrize("kind", QUERIES)
def test_batch_gives_the_rows_of_the_local_runner(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    query = trendweave.query(QUERIES[kind])
    expected = query.run(_events())
    assert expected.num_rows

    found = collect_arrow(query.run(_frame(spark, tmp_path)))

    assert_same(expected, found)


@pytest.mark.parametrize(
    "kind", [kind if kind == "aggregate" else pytest.param(kind, marks=pytest.mark.nightly) for kind in QUERIES]
)
def test_stream_gives_the_rows_of_the_local_runner(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    query = trendweave.query(QUERIES[kind])
    files = _files(tmp_path, late=True)

    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=2):
        rows = query.run(files.stream(spark, COLUMNS), watermark="1 second")
        found, finished = run_to_the_end(rows, tmp_path / "checkpoint")

    assert_same(query.run(_events()), found)
    assert counted(finished, "late") > 0


@pytest.mark.nightly
def test_stream_goes_on_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """State is read again from its checkpoint, by way of what this version keeps it in."""
    query = trendweave.query(QUERIES["trends"])
    files = Files(tmp_path / "events")

    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=2):
        for events in (_events(0, 50), _events(50, 70), _end()):
            files.write(events)
            rows = query.run(files.stream(spark, COLUMNS), watermark="1 second")
            write_to_the_end(rows, tmp_path / "rows", tmp_path / "checkpoint")

    assert_same(query.run(_events()), collect_arrow(spark.read.parquet(str(tmp_path / "rows"))))


@pytest.mark.nightly
@pytest.mark.parametrize("interface", StateInterface)
def test_stream_by_every_interface_for_state(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interface: StateInterface
) -> None:
    """Newer versions still have what older ones have alone."""
    files = _files(tmp_path)
    if not hasattr(spark.range(1).groupBy(), interface.value):
        pytest.skip(f"this Spark has no {interface.value}")
    monkeypatch.setattr(stream_operator, "find_state_interface", lambda pieces: interface)
    query = trendweave.query(QUERIES["trends"])

    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=2):
        rows = query.run(files.stream(spark, COLUMNS), watermark="1 second")
        found, _ = run_to_the_end(rows, tmp_path / "checkpoint")

    assert_same(query.run(_events()), found)


@pytest.mark.nightly
def test_stream_shows_early_rows(spark: SparkSession, tmp_path: Path) -> None:
    query = trendweave.query(f"RETURN g, COUNT(*) {_TREND} GROUP-BY g {_WINDOW}")

    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=2):
        rows = query.run(_files(tmp_path).stream(spark, COLUMNS), watermark="1 second", early=True)
        found, _ = run_to_the_end(rows, tmp_path / "checkpoint", "update")

    last = {(row["window_start"], row["g"]): row["count"] for row in found.to_pylist()}
    assert last == {(row["window_start"], row["g"]): row["count"] for row in query.run(_events()).to_pylist()}
    assert found.num_rows > len(last)


def test_workload_gives_the_rows_of_the_local_runner(spark: SparkSession, tmp_path: Path) -> None:
    workload = trendweave.workload({kind: QUERIES[kind] for kind in ("aggregate", "situated")})

    found = collect_arrow(workload.run(_frame(spark, tmp_path)))

    assert_same(workload.run(_events()), found)


@pytest.mark.nightly
def test_workload_on_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    workload = trendweave.workload({kind: QUERIES[kind] for kind in ("aggregate", "situated")})

    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=2):
        rows = workload.run(_files(tmp_path).stream(spark, COLUMNS), watermark="1 second")
        found, _ = run_to_the_end(rows, tmp_path / "checkpoint")

    assert_same(workload.run(_events()), found)


def test_metrics_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    metrics = trendweave.Metrics()

    rows = collect_arrow(trendweave.query(QUERIES["aggregate"]).run(_frame(spark, tmp_path), metrics=metrics))

    assert metrics.get["rows"] == 120
    assert metrics.get["trends"] == sum(rows.column("count").to_pylist())


@pytest.mark.nightly
def test_operators_give_the_rows_of_the_local_runner(spark: SparkSession, tmp_path: Path) -> None:
    expected = ops.pipe(_CHAIN).run(_events())

    found = collect_arrow(ops.pipe(_CHAIN).run(_frame(spark, tmp_path)))

    assert expected.num_rows > 3
    assert_same(expected, found)


@pytest.mark.nightly
def test_files_are_read_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    query = trendweave.query(QUERIES["aggregate"])
    _frame(spark, tmp_path)

    found = collect_arrow(query.run(trendweave.read(spark, str(tmp_path / "events.parquet"))))

    assert_same(query.run(_events()), found)


@pytest.mark.nightly
def test_store_is_filled_and_asked(spark: SparkSession, tmp_path: Path) -> None:
    query = trendweave.query(QUERIES["aggregate"])
    store = trendweave.EventStore.create(tmp_path / "store", _events().schema, type="type", group_rows=40)
    store.append(_frame(spark, tmp_path))

    found = collect_arrow(query.run(store, spark=spark))

    assert_same(query.run(_events()), found)
    assert store.to_spark(spark).count() == 120


@pytest.mark.nightly
def test_store_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    store = trendweave.EventStore.create(tmp_path / "store", _events().schema)
    store.append(_events())
    if not has_data_sources(spark):
        with pytest.raises(ExecutionError, match=r"TW424: follow\(\) needs Spark 4\.0 or newer"):
            store.follow(spark)
        pytest.skip("Spark 3.5 has no sources in Python")

    found, _ = run_to_the_end(store.follow(spark), tmp_path / "checkpoint")

    assert found.num_rows == 120


def test_types_of_columns_are_those_of_the_tasks() -> None:
    """With and without a zone, also inside lists; a type that only some versions have is a struct, or unknown."""
    schema = StructType(
        [
            StructField("zoned", TimestampType()),
            StructField("plain", TimestampNTZType()),
            StructField("many", ArrayType(TimestampType())),
        ]
    )
    zoned = pa.timestamp("us", "UTC")

    found = to_arrow(schema)

    assert found.field("zoned").type == zoned
    assert found.field("plain").type == pa.timestamp("us")
    assert found.field("many").type.value_type == zoned
    if variant := getattr(pyspark.sql.types, "VariantType", None):
        assert pa.types.is_struct(to_arrow(StructType([StructField("v", variant())])).field("v").type)


def test_types_of_times_in_text_are_moments(spark: SparkSession) -> None:
    """With the name of a month and a zone, also where the session's own timestamps have no zone."""
    text = spark.sql("SELECT '10/Oct/2000:13:55:36 -0700' AS time")

    with settings(spark, sql_timestampType="TIMESTAMP_NTZ"):
        read = read_times_on_spark(text, ("time",), read_time_options(None, "%d/%b/%Y:%H:%M:%S %z"))
        found = read.selectExpr("TYPEOF(time)", "UNIX_SECONDS(time)").collect()

    assert [tuple(row) for row in found] == [("timestamp", 971_211_336)]


def test_types_of_versions_that_are_too_old_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions.pyspark, "__version__", "3.4.4")

    with pytest.raises(ExecutionError, match=r"TW424: Spark 3\.5 or newer is needed, and this is Spark 3\.4\.4"):
        versions.check_version()
