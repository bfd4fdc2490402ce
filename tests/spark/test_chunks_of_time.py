"""Keys are cut into chunks of time, and tasks into pieces of a few rows: no window notices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import trendweave
from tests.spark.comparing import assert_as_local, frame_from, settings
from trendweave.datasets import cluster, stock, traffic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

# Q1, Q2 and Q3 of GRETA, Section 1.
Q1 = (
    "RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price "
    "GROUP-BY sector {window}"
)
Q2 = (
    "RETURN mapper, SUM(M.cpu) PATTERN SEQ(Start S, Measurement M+, End E) "
    "WHERE [job, mapper] AND M.load < NEXT(M).load GROUP-BY mapper {window}"
)
Q3 = (
    "RETURN segment, COUNT(*), AVG(P.speed) PATTERN SEQ(NOT Accident A, Position P+) "
    "WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed GROUP-BY segment {window}"
)
WINDOWS = {
    "sliding": ("WITHIN 12 seconds SLIDE 5 seconds", "WITHIN 6 minutes SLIDE 90 seconds"),
    "tumbling": ("WITHIN 7 seconds SLIDE 7 seconds", "WITHIN 4 minutes SLIDE 4 minutes"),
    "moving": ("WITHIN 8 seconds", "WITHIN 3 minutes"),
}


def events_of(name: str) -> pa.Table:
    """About three minutes of stock and cluster events with many ties, and half an hour of traffic."""
    match name:
        case "stock":
            return stock(2_400, seed=1, companies=13, sectors=4, volatility=0.01)
        case "cluster":
            return cluster(2_400, seed=2, jobs=3, mappers=4, rate=16, measurements=6)
    return traffic(2_400, seed=3, segments=12, hours=0.5)


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return {name: events_of(name) for name in ("stock", "cluster", "traffic")}


@pytest.fixture(scope="module")
def frames(
    spark: SparkSession, tables: dict[str, pa.Table], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, DataFrame]:
    return {name: frame_from(spark, table, tmp_path_factory.mktemp(name)) for name, table in tables.items()}


@pytest.fixture(autouse=True)
def _few_rows_at_once(spark: SparkSession) -> Iterator[None]:
    with settings(spark, rowsAtOnce=100, sql_execution_arrow_maxRecordsPerBatch=64):
        yield


@pytest.mark.parametrize("chunks", ["auto", "off", "short"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("query", "name"), [(Q1, "stock"), (Q2, "cluster"), (Q3, "traffic")], ids=["Q1", "Q2", "Q3"])
def test_queries_of_greta(
    query: str, name: str, window: str, chunks: str, frames: dict[str, DataFrame], tables: dict[str, pa.Table]
) -> None:
    text = query.format(window=WINDOWS[window][name == "traffic"])
    if chunks == "short":
        chunks = "6 minutes" if name == "traffic" else "12 seconds"
    with settings(frames[name].sparkSession, chunks=chunks):
        assert_as_local(text, frames[name], tables[name])


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("strategy", ["", "SEMANTICS skip-till-next-match", "SEMANTICS contiguous"])
def test_one_key_and_no_key(
    window: str, strategy: str, frames: dict[str, DataFrame], tables: dict[str, pa.Table]
) -> None:
    frame, table = frames["stock"], tables["stock"]
    length = WINDOWS[window][0]
    one = "RETURN COUNT(*), MAX(S.price) PATTERN Stock S+ WHERE S.price > NEXT(S).price"
    assert_as_local(f"{one} {strategy} {length}", frame, table)
    assert_as_local(
        f"{one} AND [company] {strategy} {length}",
        frame.where("company = 3"),
        table.filter(pa.compute.field("company") == 3),
    )


@pytest.mark.parametrize("window", WINDOWS)
def test_negation_at_both_ends_and_between(
    window: str, frames: dict[str, DataFrame], tables: dict[str, pa.Table]
) -> None:
    # Aggregates of a moving window have no NOT at the end; single trends do.
    returned = "EACH COUNT(M), L.time AS ended" if window == "moving" else "COUNT(*), COUNT(M)"
    query = (
        f"RETURN {returned} PATTERN SEQ(NOT Start S, Measurement M, NOT End E, Measurement L, NOT Start T) "
        f"WHERE [mapper] {WINDOWS[window][0]}"
    )
    assert_as_local(query, frames["cluster"], tables["cluster"])


@pytest.mark.parametrize("window", ["WITHIN 20 seconds SLIDE 10 seconds", "WITHIN 10 seconds SLIDE 10 seconds"])
def test_ties_on_every_border_by_hand(spark: SparkSession, window: str) -> None:
    """Three events on each multiple of ten seconds, and none elsewhere: a window of n times has 4 ** n - 1 trends."""
    frame = spark.range(-300, 300).selectExpr("FLOOR(id / 3) * 10 AS time")
    rows = trendweave.query(f"RETURN COUNT(*) PATTERN S+ {window}").run(frame, type=None).collect()

    times, length = range(-1_000, 1_000, 10), int(window.split()[1])
    inside = {start: sum(start <= time < start + length for time in times) for start in range(-1_020, 1_000, 10)}
    found = {row.window_start: int(row["count"]) for row in rows}
    assert found == {start: 4**n - 1 for start, n in inside.items() if n}


def test_ties_on_every_border_of_moving_windows_by_hand(spark: SparkSession) -> None:
    """Two events each second; the window of five seconds holds ten, of which no two of a second are in one trend."""
    frame = spark.range(400).selectExpr("id DIV 2 AS time")
    rows = trendweave.query("RETURN COUNT(*) PATTERN S+ WITHIN 5 seconds").run(frame, type=None).collect()

    assert {row.time: int(row["count"]) for row in rows} == {time: 3 ** min(time + 1, 5) - 1 for time in range(200)}


def test_one_key_makes_many_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """Chunks of one key are spread over partitions; each knows only its part of the time."""
    from pyspark.sql import functions as F

    frame = spark.range(5_000).selectExpr("id AS time", "1 AS k")
    query = trendweave.query("RETURN k, COUNT(*) PATTERN S+ GROUP-BY k WITHIN 20 seconds SLIDE 10 seconds")
    with settings(spark, sql_shuffle_partitions=4, sql_adaptive_enabled="false"):
        rows = query.run(frame, type=None).withColumn("task", F.spark_partition_id()).collect()
    assert len({row.task for row in rows}) == 4
    assert len({row.window_start for row in rows}) == len(rows) == 501
