"""One query of each kind, in batch and as a stream: what every version of Spark that we take must be able to do.

`make test-spark SPARK=4.0` runs this file with another version; what such a version lacks shows here first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import GroupedData
from pyspark.sql.pandas.group_ops import PandasGroupedOpsMixin
from pyspark.sql.types import ArrayType, StructField, StructType, TimestampNTZType, TimestampType, VariantType

import trendweave
from tests.spark.comparing import assert_same, settings
from tests.streaming.running import ROCKSDB, Files, run_to_the_end
from trendweave.errors import ExecutionError
from trendweave.runners.spark.arrow_types import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    # Before 4.2 Spark leaves the socket of toArrow to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_STREAMS = hasattr(GroupedData, "transformWithState")

_TREND = "PATTERN SEQ(A+, B) WHERE [k] AND A.x < NEXT(A).x"
_WINDOW = "WITHIN 20 seconds SLIDE 10 seconds"
_DEFINED = "DEFINE Low AS x < 3, High AS x > 2"
QUERIES = {
    "aggregate": f"RETURN g, COUNT(*), SUM(A.x) {_TREND} GROUP-BY g {_WINDOW}",
    "trends": f"RETURN TRENDS(x) {_TREND} {_WINDOW}",
    "intervals": f"FROM X PARTITION BY k {_DEFINED} PATTERN Low before; meets; overlaps High WITHIN 30 seconds "
    "RETURN k, AVG(High.x), COUNT(Low)",
    "situated": f"RETURN COUNT(*) {_TREND} AND A DURING Low {_WINDOW} {_DEFINED}",
}
COLUMNS = "time timestamp, type string, k long, g string, x long"


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


@pytest.mark.parametrize("kind", QUERIES)
def test_batch_gives_the_rows_of_the_local_runner(spark: SparkSession, kind: str) -> None:
    query = trendweave.query(QUERIES[kind])
    expected = query.run(_events())
    assert expected.num_rows

    frame = spark.createDataFrame(_events().to_pandas(), COLUMNS).repartition(3)

    assert_same(expected, query.run(frame).toArrow())


@pytest.mark.skipif(not _STREAMS, reason="Spark 4.0 has no streams of rows")
@pytest.mark.parametrize("kind", QUERIES)
def test_stream_gives_the_rows_of_the_local_runner(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    query = trendweave.query(QUERIES[kind])
    files = Files(tmp_path / "events")
    for first in range(0, 120, 60):
        files.write(_events(first, 60))
    files.write(_end())

    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=2):
        rows = query.run(files.stream(spark, COLUMNS), watermark="1 second")
        found, _ = run_to_the_end(rows, tmp_path / "checkpoint")

    assert_same(query.run(_events()), found)


@pytest.mark.parametrize("kind", QUERIES)
def test_a_spark_without_streams_of_rows_is_told(
    spark: SparkSession, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if _STREAMS:
        monkeypatch.delattr(PandasGroupedOpsMixin, "transformWithState")
    files = Files(tmp_path / "events")

    with (
        settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB),
        pytest.raises(ExecutionError, match=r"TW409: streams need Spark 4\.1 or newer, and this is Spark 4"),
    ):
        trendweave.query(QUERIES[kind]).run(files.stream(spark, COLUMNS), watermark="1 second")


def test_types_of_columns_are_those_of_the_tasks() -> None:
    """With and without a zone, also inside lists; a type that only some versions can hand on is refused or a struct."""
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
    assert pa.types.is_struct(to_arrow(StructType([StructField("v", VariantType())])).field("v").type)
