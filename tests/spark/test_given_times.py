"""`time_unit` and `time_format` on Spark: as in this process, whatever the session's settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import trendweave
from tests.rows.test_given_times import TEXTS
from tests.runners.test_given_times import QUERY, TYPES, expected, in_floats, in_millis, in_text
from tests.spark.comparing import settings
from trendweave import operators
from trendweave.errors import DataError
from trendweave.rows.time_parsing import read_format, read_texts, read_time_options
from trendweave.runners.spark.time_parsing import read_times_on_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def moments(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted(frame.toArrow().to_pylist(), key=str)


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=str)


@pytest.mark.parametrize(("ansi", "kind"), [("true", "TIMESTAMP_NTZ"), ("false", "TIMESTAMP_LTZ")])
def test_texts_are_read_as_in_this_process(spark: SparkSession, ansi: str, kind: str) -> None:
    from pyspark.sql import functions as F

    texts = sorted({text for _, text, _ in TEXTS})
    formats = {str(number): one for number, one in enumerate(sorted({written for written, _, _ in TEXTS}))}
    copies = [F.col("text").alias(name) for name in formats]
    frame = spark.createDataFrame([(text,) for text in texts], "text string").coalesce(1).select("text", *copies)

    with settings(spark, sql_ansi_enabled=ansi, sql_timestampType=kind, sql_session_timeZone="America/Los_Angeles"):
        for name, one in formats.items():
            frame = read_times_on_spark(frame, (name,), read_time_options(None, one))
        found = frame.select("text", *(F.unix_micros(F.col(name)).alias(name) for name in formats)).toArrow()

    assert {frame.schema[name].dataType.simpleString() for name in formats} == {"timestamp"}
    assert found.column("text").to_pylist() == texts
    for name, one in formats.items():
        wanted = read_texts(pa.chunked_array([[*texts, None]]), read_format(one)).cast(pa.int64()).to_pylist()[:-1]
        assert dict(zip(texts, found.column(name).to_pylist(), strict=True)) == dict(zip(texts, wanted, strict=True))


@pytest.mark.parametrize("given", [in_millis, in_floats, in_text])
def test_rows_of_dataframes(spark: SparkSession, given: Any) -> None:
    events, options = given()
    frame = spark.createDataFrame(events)

    found = QUERY.run(frame, **options)

    assert QUERY.schema(frame, **options) == found.schema
    assert found.schema["window_start"].dataType.simpleString() == "timestamp"
    assert moments(found) == rows(QUERY.run(expected()))


def test_rows_of_operators_and_joins(spark: SparkSession) -> None:
    events, options = in_millis()
    frame = spark.createDataFrame(events)
    pairs = operators.window_join("left.type < right.type", left="1 minute", right="1 minute")

    assert moments(operators.filter("type = 'B'").run(frame, **options)) == rows(
        operators.filter("type = 'B'").run(expected())
    )
    assert moments(pairs.run(frame, frame, **options)) == rows(pairs.run(expected(), expected()))


def test_files_that_tasks_read(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    events, options = in_millis()
    pq.write_table(events, tmp_path / "events.parquet")

    found = QUERY.run(trendweave.read(spark, str(tmp_path)), **options)

    assert moments(found) == rows(QUERY.run(expected()))


def test_streams(spark: SparkSession, tmp_path: Path) -> None:
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    stream = spark.readStream.schema("time long, type string").json(str(tmp_path))

    with settings(spark, sql_streaming_stateStore_providerClass=provider):
        found = QUERY.run(stream, time_unit="ms", watermark="1 minute")

    assert found.isStreaming
    assert found.schema["window_start"].dataType.simpleString() == "timestamp"


def test_what_spark_cannot_hold_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame(in_millis()[0])

    with pytest.raises(DataError, match="whole microseconds"):
        QUERY.run(frame, time_unit="ns")
    with pytest.raises(DataError, match="give time_unit for numbers since 1970"):
        QUERY.run(frame, time_format="iso")
    with pytest.raises(DataError, match="give time_format instead"):
        QUERY.run(frame.selectExpr("CAST(time AS STRING) AS time", "type"), time_unit="ms")
    with pytest.raises(DataError, match="hint: cast it to a whole number"):
        QUERY.run(frame.selectExpr("CAST(time AS DECIMAL(20)) AS time", "type"), time_unit="ms")


def test_dates_timestamps_and_whole_numbers(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT DATE '2024-05-06' AS day, TIMESTAMP_NTZ '2024-05-06 14:00:00' AS clock, "
        "TIMESTAMP_LTZ '2024-05-06 14:00:00Z' AS moment, 20240506140000 AS number"
    )

    with settings(spark, sql_timestampType="TIMESTAMP_NTZ", sql_session_timeZone="America/Los_Angeles"):
        read = read_times_on_spark(frame, ("day", "clock", "moment"), read_time_options(None, "iso"))
        read = read_times_on_spark(read, ("number",), read_time_options(None, "%Y%m%d%H%M%S"))
        found = read.selectExpr(
            *("UNIX_SECONDS(day)", "TYPEOF(day)", "CAST(clock AS STRING)", "UNIX_SECONDS(moment)"),
            *("UNIX_SECONDS(number)", "TYPEOF(number)"),
        ).collect()

    assert [tuple(row) for row in found] == [
        (1_714_953_600, "timestamp", "2024-05-06 14:00:00", 1_715_004_000, 1_715_004_000, "timestamp")
    ]
    with pytest.raises(DataError, match="begin time_format with %Y"):
        read_times_on_spark(frame, ("number",), read_time_options(None, "%d%m%Y"))


def test_a_store_takes_dataframes(spark: SparkSession, tmp_path: Path) -> None:
    events, options = in_text()
    store = trendweave.EventStore.create(tmp_path / "store", events.schema, type="type", **options)
    store.append(spark.createDataFrame(events), **options)

    assert rows(QUERY.run(store)) == rows(QUERY.run(expected()))
    assert len(TYPES) == store.describe().rows
