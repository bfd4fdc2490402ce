"""Interval queries on Spark give the rows of the local runner, in tasks by partition and by chunks of time."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import trendweave
from tests.reference.comparer import assert_same_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

DEFINED = "DEFINE A AS a > 1 AT LEAST 2 seconds, B AS b > 2, C AS c = 1 AND b >= 1"
PATTERN = "PATTERN A before; overlaps; meets B AND B overlaps; before; contains; starts C WITHIN 20 seconds"
BACK = "DEFINE A AS a > PREV(a), B AS b > 2 PATTERN A overlaps; before; during B WITHIN 20 seconds"
QUERIES = {
    "partitioned": f"FROM X PARTITION BY k {DEFINED} {PATTERN} RETURN k, FIRST(A.s), AVG(B.b), COUNT(C), DURATION(A)",
    "two keys": f"FROM X PARTITION BY k, g {DEFINED} {PATTERN} RETURN g, k, MAX(A.s), SUM(B.a)",
    "at the end": f"FROM X PARTITION BY k {DEFINED} {PATTERN} DETECT AT END RETURN LAST(B.b)",
    "looking back": f"FROM X PARTITION BY k {BACK} RETURN k, MIN(A.b)",
    "counts of groups": f"FROM X PARTITION BY k, g {DEFINED} {PATTERN} RETURN k, COUNT(*) AS n EVERY 5 seconds",
    "counts": f"FROM X PARTITION BY k {DEFINED} {PATTERN} RETURN COUNT(*) EVERY 20 seconds",
    "situations": f"FROM X PARTITION BY k {DEFINED} RETURN SITUATIONS",
    "chunks": f"FROM X {DEFINED} {PATTERN} RETURN FIRST(A.s), AVG(B.b), COUNT(C)",
    "chunks at the end": f"FROM X {DEFINED} {PATTERN} DETECT AT END RETURN LAST(B.b)",
    "chunks looking back": f"FROM X {BACK} RETURN MIN(A.b)",
    "counts of chunks": f"FROM X {DEFINED} {PATTERN} RETURN COUNT(*) EVERY 5 seconds",
    "no window": f"FROM X {DEFINED} PATTERN A starts B AND B contains C RETURN COUNT(A)",
    "situations of pieces": f"FROM X {DEFINED} RETURN SITUATIONS",
    "ended situations of pieces": f"FROM X {DEFINED} DETECT AT END RETURN SITUATIONS",
    "situations looking back": "FROM X DEFINE A AS a > PREV(a) RETURN SITUATIONS",
}


def table(rows: int = 700, span: int = 1500, seed: int = 3) -> pa.Table:
    """Ties, NULLs, NaN, gaps that are longer than a chunk of 180 seconds, times before 1970."""
    draw = random.Random(seed)
    times = [draw.randrange(-300, span) for _ in range(rows)]
    times = [time + 1000 if time > 700 else time for time in times]
    return pa.table(
        {
            "time": pa.array([None if draw.random() < 0.01 else time for time in times], pa.int64()),
            "k": [draw.choice(["x", "y", None]) for _ in range(rows)],
            "g": [draw.choice([1, 2]) for _ in range(rows)],
            "a": [draw.choice([0, 2, 2, 3, None]) for _ in range(rows)],
            "b": [draw.choice([0.5, 1.0, 2.5, 3.0, float("nan")]) for _ in range(rows)],
            "c": [draw.choice([0, 1, 1]) for _ in range(rows)],
            "s": [draw.choice(["p", "q", None]) for _ in range(rows)],
        }
    )


def frame(spark: SparkSession, events: pa.Table) -> DataFrame:
    return spark.createDataFrame(events).repartition(3)


def rows_of(result: DataFrame) -> list[dict[str, Any]]:
    return result.toArrow().to_pylist()


@pytest.mark.parametrize("name", QUERIES)
def test_spark_gives_the_rows_of_the_local_runner(spark: SparkSession, name: str) -> None:
    events = table()
    query = trendweave.query(QUERIES[name])
    result = query.run(frame(spark, events))
    expected = query.run(events)
    assert expected.num_rows > 0
    assert result.schema.names == expected.schema.names
    assert_same_rows(expected.to_pylist(), rows_of(result), context=QUERIES[name])


def test_times_as_timestamps(spark: SparkSession) -> None:
    events = table()
    moments = events.column("time").cast(pa.timestamp("s")).cast(pa.timestamp("us", "UTC"))
    events = events.set_column(0, "time", moments)
    for name in ("partitioned", "chunks", "situations of pieces"):
        query = trendweave.query(QUERIES[name])
        assert_same_rows(query.run(events).to_pylist(), rows_of(query.run(frame(spark, events))))


def test_given_intervals(spark: SparkSession) -> None:
    events = table()
    situations = trendweave.query(QUERIES["situations"]).run(events)
    text = f"FROM INTERVALS PARTITION BY k DEFINE A AT LEAST 2 seconds {PATTERN} RETURN k, DURATION(B)"
    query = trendweave.query(text)
    expected = query.run(situations)
    assert expected.num_rows > 0
    assert_same_rows(expected.to_pylist(), rows_of(query.run(frame(spark, situations))))


def test_only_events_of_the_type_count(spark: SparkSession) -> None:
    from pyspark.sql import Observation

    events = table()
    kinds = [("X", "X", "Y", None)[i % 4] for i in range(events.num_rows)]
    events = events.append_column("type", pa.array(kinds, pa.string()))
    query = trendweave.query(QUERIES["partitioned"])
    seen = Observation()
    result = query.run(frame(spark, events), type="type", observation=seen)
    assert_same_rows(query.run(events, type="type").to_pylist(), rows_of(result))
    assert seen.get["rows"] == events.num_rows
    assert seen.get["other_type"] > 0


def test_the_schema_is_known_without_a_job(spark: SparkSession) -> None:
    query = trendweave.query(QUERIES["partitioned"])
    schema = query.schema(frame(spark, table()))
    assert schema.names == query.schema(table()).names


def test_trends_of_events_that_lie_in_situations(spark: SparkSession) -> None:
    events = table()
    kinds = [("E", "E", "F")[i % 3] for i in range(events.num_rows)]
    events = events.append_column("type", pa.array(kinds, pa.string()))
    for keys in ("[g] AND ", ""):
        query = trendweave.query(
            f"RETURN COUNT(*), MAX(S.b) PATTERN E S+ WHERE {keys}S DURING X AND S.b < NEXT(S).b "
            "WITHIN 60 seconds SLIDE 30 seconds FROM E DEFINE X AS a > 1 AT LEAST 2 seconds"
        )
        expected = query.run(events)
        assert expected.num_rows > 0
        assert_same_rows(expected.to_pylist(), rows_of(query.run(frame(spark, events))))
