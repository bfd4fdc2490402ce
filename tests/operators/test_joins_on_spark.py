"""Windowed joins on Spark: of two DataFrames, of one with sides, of one with itself, and on streams."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.spark.comparing import settings
from tests.streaming.running import ROCKSDB, Files, run_to_the_end
from trendweave import operators as ops
from trendweave.errors import DataError, ExecutionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
MICROSECONDS = pa.timestamp("us", "UTC")


def make_events(seed: int, name: str) -> pa.Table:
    size = 60
    return pa.table(
        {
            "key": pa.array([[0.0, -0.0, None, math.nan, 1.0][number % 5] for number in range(size)]),
            "time": pa.array([(number * number * 37 + seed) % 30 * 1_000_000 for number in range(size)]).cast(
                MICROSECONDS
            ),
            name: pa.array([[0.5, 1.0, None, math.nan][(number * seed) % 4] for number in range(size)]),
            "word": pa.array([[None, "a", "ä", "B"][number % 4] for number in range(size)]),
            "n": pa.array(range(size), pa.int32()),
        }
    )


LEFT, RIGHT = make_events(3, "x"), make_events(5, "y")
CASES = [
    ("left.x <= right.y AND left.n % 7 != right.n % 7", "4 seconds", "6 rows slide 2 rows", ["key"]),
    ("abs(left.x - right.y) < 1 AND left.n % 3 = right.n % 3", "6 seconds slide 2 seconds", "3 seconds", []),
]


def told(rows: pa.Table) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in rows.to_pylist())


@pytest.mark.parametrize(("condition", "left", "right", "keys"), CASES)
def test_two_frames(spark: SparkSession, condition: str, left: str, right: str, keys: list[str]) -> None:
    operator = ops.window_join(condition, left=left, right=right, keys=keys)
    wanted = operator.run(LEFT, RIGHT)
    assert wanted.num_rows > 20

    frames = [spark.createDataFrame(table).repartition(3) for table in (LEFT, RIGHT)]
    found = operator.run(*frames, chunks="40 seconds").toArrow()

    assert found.column_names == wanted.column_names
    assert told(found.cast(wanted.schema)) == told(wanted)


def test_a_frame_with_itself(spark: SparkSession) -> None:
    operator = ops.window_join("left.x < right.x OR left.n = right.n", left="3 rows", right="2 seconds", keys=["key"])

    found = operator.run(spark.createDataFrame(LEFT).repartition(3)).toArrow()

    wanted = operator.run(LEFT)
    assert told(found.cast(wanted.schema)) == told(wanted)


def test_times_with_and_without_a_zone_do_not_meet(spark: SparkSession) -> None:
    operator = ops.window_join(None, left="1 second", right="1 second")
    zoned = spark.createDataFrame(LEFT).select("time", "n")
    naive = zoned.selectExpr("CAST(time AS timestamp_ntz) AS time", "n")

    for sides in ((zoned, naive), (naive, zoned)):
        with pytest.raises(DataError, match=r"time is a timestamp with.* zone on the right") as error:
            operator.run(*sides)
        assert error.value.problems[0].code == "TW305"


def test_a_stream_and_a_table_do_not_meet(spark: SparkSession, tmp_path: Path) -> None:
    operator = ops.window_join(None, left="1 second", right="1 second")
    table = spark.createDataFrame(LEFT)
    stream = Files(tmp_path).stream(spark, table.schema)

    for sides, said in (((stream, table), "the left side"), ((table, stream), "the right side")):
        with pytest.raises(ExecutionError, match=f"TW409: {said} of the join is a stream.*\n.*spark.readStream"):
            operator.run(*sides)


def test_streams(spark: SparkSession, tmp_path: Path) -> None:
    condition, left, right, keys = CASES[0]
    operator: Any = ops.window_join(condition, left=left, right=right, keys=keys)
    frames = []
    for name, table in (("left", LEFT), ("right", RIGHT)):
        files = Files(tmp_path / name)
        ordered = table.sort_by("time")
        for first in range(0, table.num_rows, 30):
            files.write(ordered.slice(first, 30))
        last = ordered.slice(table.num_rows - 1)
        later = pc.add(last.column("time"), pa.scalar(3600, pa.duration("s"))).cast(MICROSECONDS)
        files.write(last.set_column(1, "time", later))
        frames.append(files.stream(spark, spark.createDataFrame(table).schema))

    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB):
        rows = operator.run(*frames, watermark="1 second", buckets=2)
        found, _ = run_to_the_end(rows, tmp_path / "checkpoint")

    wanted = operator.run(LEFT, RIGHT)
    assert told(found.cast(wanted.schema)) == told(wanted)
