"""Trends one by one on Spark: the same rows as the reference and the in-process runner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given

import trendweave
from tests.profiles import examples
from tests.reference.query import Query
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import shown_text, trend_rows
from tests.runners.reference_tables import rows_of
from tests.runners.test_trends_against_reference import PLAIN, counted, place_of, places, planned
from tests.spark.comparing import assert_as_local, frame_from, settings
from tests.spark.test_batch_against_reference import frame_of
from trendweave.cli.tables import write_lists_as_text

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def _small_chunks_and_tasks(spark: SparkSession) -> Iterator[None]:
    small = {"sql_execution_arrow_maxRecordsPerBatch": 3, "sql_adaptive_coalescePartitions_enabled": "false"}
    with pytest.MonkeyPatch.context() as patch, settings(spark, rowsAtOnce=4, **small):
        patch.setattr("trendweave.planning.chunks._WITH_KEYS", 1)
        patch.setattr("trendweave.planning.chunks._WITHOUT_KEYS", 1)
        yield


@given(case=queries_and_streams(empty=False, conjunction=False, lists=True))
@examples(12)
def test_random_queries_on_random_streams(spark: SparkSession, case: tuple[Query, list[dict]]) -> None:
    query, events = case
    for returned, complete in (("TRENDS(x, s)", False), ("COMPLETE TRENDS(x, s)", True)):
        result = planned(shown_text(query, returned)).run(frame_of(spark, events))
        assert counted(rows_of(result.toArrow())) == counted(trend_rows(query, events, PLAIN, complete))


@pytest.fixture(scope="module")
def events() -> pa.Table:
    count = 60
    return pa.table(
        {
            "time": pa.array([i * 500_000 for i in range(count)], pa.timestamp("us", "UTC")),
            "type": ["A" if i % 5 else "B" for i in range(count)],
            "k": [i % 7 for i in range(count)],
            "g": ["uv"[i % 7 % 2] for i in range(count)],
            "x": pa.array([i * 37 % 11 for i in range(count)], pa.int32()),
        }
    )


WINDOW = "WITHIN 12 seconds SLIDE 4 seconds"


@pytest.mark.parametrize(
    "query",
    [
        f"RETURN TRENDS(x, A.time) PATTERN SEQ(A+, B?) WHERE [k] GROUP-BY g {WINDOW}",
        f"PATTERN A+ WHERE [k] AND A.x < NEXT(A).x GROUP-BY g {WINDOW}",
        "RETURN EACH g, FIRST(A.time), MAX(A.time), COUNT(A), SUM(A.x), AVG(A.x) PATTERN A+ WHERE [k] GROUP-BY g "
        + WINDOW,
        "RETURN TRENDS PATTERN A{2} WHERE [k] WITHIN 9 seconds",
        "RETURN EACH g, COLLECT_LIST(A.time) AS at, COLLECT_SET(A.x) AS s, A[2].x, A[-2].time AS before, MEDIAN(A.x), "
        f"PERCENTILE(A.x, 0.9) AS high PATTERN A+ WHERE [k] AND A[1].x <= MEDIAN(A.x) GROUP-BY g {WINDOW}",
    ],
)
def test_the_same_rows_columns_and_types_as_in_process(
    spark: SparkSession, tmp_path: Path, events: pa.Table, query: str
) -> None:
    frame = frame_from(spark, events, tmp_path)
    asked = trendweave.query(query)
    found = asked.run(frame).toArrow()
    expected = asked.run(events)
    assert found.column_names == expected.column_names
    assert counted(found.to_pylist()) == counted(expected.to_pylist())
    assert expected.num_rows
    assert asked.schema(frame) == asked.run(frame).schema


def test_lists_are_json_in_csv(spark: SparkSession, tmp_path: Path, events: pa.Table) -> None:
    from trendweave.cli.spark_files import write_rows

    asked = trendweave.query("RETURN EACH COLLECT_LIST(A.x) AS x, COLLECT_SET(A.g) AS g PATTERN A{3} WITHIN 2 seconds")
    write_rows(asked.run(frame_from(spark, events, tmp_path)), str(tmp_path / "out"), "csv")
    found = spark.read.option("header", True).csv(str(tmp_path / "out")).select("x", "g").toArrow()
    assert counted(found.to_pylist()) == counted(write_lists_as_text(asked.run(events)).select(["x", "g"]).to_pylist())
    assert found.num_rows


def test_choices_count_per_window_and_group_across_keys(spark: SparkSession, tmp_path: Path, events: pa.Table) -> None:
    frame = frame_from(spark, events, tmp_path)
    clauses = f"PATTERN A+ WHERE [k] GROUP-BY g {WINDOW}"
    every = trendweave.query(f"RETURN TRENDS {clauses}").run(events).to_pylist()
    wanted = Counter({place: min(3, size) for place, size in places(every).items()})
    for choice in ("LIMIT 3", "LONGEST 3", "SAMPLE 3 SEED 5"):
        found = trendweave.query(f"RETURN TRENDS {clauses} {choice}").run(frame).toArrow().to_pylist()
        assert places(found) == wanted, choice
        assert counted(found) <= counted(every), choice
    longest = trendweave.query(f"RETURN TRENDS {clauses} LONGEST 3").run(frame).toArrow().to_pylist()
    for place in wanted:
        lengths = sorted((row["length"] for row in every if place_of(row) == place), reverse=True)[:3]
        assert sorted((row["length"] for row in longest if place_of(row) == place), reverse=True) == lengths


def test_too_many_trends_are_refused_by_the_task(spark: SparkSession, tmp_path: Path, events: pa.Table) -> None:
    frame = frame_from(spark, events, tmp_path)
    result = trendweave.query("RETURN TRENDS PATTERN A+").run(frame, max_trends=1_000)  # lazy: nothing is refused yet
    with pytest.raises(Exception, match=rf"TW412: (?s:.*)there are {2**48 - 1:,} trends to show"):
        result.count()


def test_aggregates_are_still_what_they_were(spark: SparkSession, tmp_path: Path, events: pa.Table) -> None:
    assert_as_local("RETURN COUNT(*) PATTERN A+ WITHIN 5 seconds SLIDE 5 seconds", frame_from(spark, events, tmp_path),
                    events)  # fmt: skip
