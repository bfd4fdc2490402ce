"""Groups that span several keys: tasks give partial aggregates, which are merged exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trendweave
from tests.spark.comparing import assert_as_local, settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

KEYS, EVENTS = 5, 90


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """Keys 0 to 4 with 90 events each; group a has keys 0 and 1, group b has 2, and NULL has 3 and 4. Key 4 has no
    values."""
    return spark.range(KEYS * EVENTS).selectExpr(
        "id DIV 5 AS time",
        "id % 5 AS k",
        "CASE WHEN id % 5 < 2 THEN 'a' WHEN id % 5 = 2 THEN 'b' END AS g",
        "IF(id % 5 = 4, NULL, id % 11 - 5) AS x",
        "IF(id % 5 = 4, NULL, CAST(id % 13 AS DOUBLE) / 4) AS y",
        "IF(id % 5 = 4, NULL, CAST(id AS DECIMAL(12, 2)) / 3) AS d",
        "CASE id % 3 WHEN 0 THEN CAST('NaN' AS FLOAT) WHEN 1 THEN CAST(0.0 AS FLOAT) ELSE CAST(-0.0 AS FLOAT) END AS z",
    )


def test_counts_beyond_64_bits_by_hand(events: DataFrame) -> None:
    """Each key has 2 ** 90 - 1 trends; every event is in half of those that could hold it."""
    found = trendweave.query(
        "RETURN g, COUNT(*), COUNT(S), SUM(S.k), MIN(S.k), AVG(S.k) PATTERN S+ WHERE [k] GROUP-BY g"
    )
    rows = {row.g: row for row in found.run(events, type=None).collect()}

    trends, times = 2**EVENTS - 1, EVENTS * 2 ** (EVENTS - 1)
    assert {g: int(row["count"]) for g, row in rows.items()} == {"a": 2 * trends, "b": trends, None: 2 * trends}
    assert {g: int(row.count_S) for g, row in rows.items()} == {"a": 2 * times, "b": times, None: 2 * times}
    assert {g: int(row.sum_S_k) for g, row in rows.items()} == {"a": times, "b": 2 * times, None: 7 * times}
    assert {g: row.min_S_k for g, row in rows.items()} == {"a": 0, "b": 2, None: 3}
    assert {g: row.avg_S_k for g, row in rows.items()} == {"a": 0.5, "b": 2.0, None: 3.5}


AGGREGATES = (
    "COUNT(*), COUNT(S), SUM(S.x), AVG(S.x), MIN(S.x), MAX(S.x), SUM(S.y), AVG(S.y), MIN(S.y), MAX(S.y), "
    "SUM(S.d), AVG(S.d), MIN(S.d), MAX(S.d), MIN(S.z), MAX(S.z)"
)


@pytest.mark.parametrize("numbers", ["text", "float64"])
@pytest.mark.parametrize("group", ["GROUP-BY g", "GROUP-BY z", "GROUP-BY S.g", ""])
def test_all_aggregates_of_merged_groups(events: DataFrame, group: str, numbers: str) -> None:
    query = f"RETURN {AGGREGATES} PATTERN S+ WHERE [k] {group}"
    with settings(events.sparkSession, rowsAtOnce=100):
        assert_as_local(query, events, events.toArrow(), type=None, numbers=numbers)


@pytest.mark.parametrize("window", ["WITHIN 20 seconds SLIDE 10 seconds", "WITHIN 15 seconds SLIDE 15 seconds"])
def test_windows_and_groups_are_merged_together(events: DataFrame, window: str) -> None:
    query = f"RETURN g, {AGGREGATES} PATTERN S+ WHERE [k] AND S.x < NEXT(S).x GROUP-BY g {window}"
    with settings(events.sparkSession, rowsAtOnce=30, sql_execution_arrow_maxRecordsPerBatch=7):
        assert_as_local(query, events, events.toArrow(), type=None)


def test_merged_averages_that_are_not_finite(spark: SparkSession) -> None:
    values = [
        (1, 1, 1.0),
        (2, 1, float("inf")),
        (1, 2, float("-inf")),
        (1, 3, float("nan")),
        (1, 4, None),
        (1, 5, 1e308),
    ]
    values += [(time, 5, 1e308) for time in range(2, 4)]
    frame = spark.createDataFrame(values, "time long, k long, y double")
    for keys in ("k < 2", "k < 3", "k = 3 OR k = 4", "k = 4", "k IN (1, 5)"):
        some = frame.where(keys)
        query = "RETURN AVG(S.y), MIN(S.y), MAX(S.y) PATTERN S+ WHERE [k]"
        assert_as_local(query, some, some.toArrow(), type=None)


def test_conjunctions_count_pairs_within_keys_and_add_them_up(spark: SparkSession) -> None:
    frame = spark.range(60).selectExpr("id AS time", "IF(id % 3 = 0, 'A', 'B') AS type", "id % 4 AS k", "id % 2 AS g")
    for window in ("", "WITHIN 20 seconds SLIDE 5 seconds"):
        query = f"RETURN g, COUNT(*) PATTERN A+ AND B+ WHERE [k, g] GROUP-BY g {window}"
        assert_as_local(query, frame, frame.toArrow(), numbers="text")


def test_partial_sums_cancel_exactly(spark: SparkSession) -> None:
    # Sums near 2 ** 63 of either sign: one more bit than 64 is needed on the way, none at the end.
    big = 2**63 - 1
    rows = [(1, 1, big), (1, 2, big), (1, 3, -big), (1, 4, -big), (1, 5, 7)]
    frame = spark.createDataFrame(rows, "time long, k long, x long")
    (row,) = (
        trendweave.query("RETURN SUM(S.x) AS x PATTERN S+ WHERE [k]").run(frame, type=None, numbers="int64").collect()
    )
    assert row.x == 7
