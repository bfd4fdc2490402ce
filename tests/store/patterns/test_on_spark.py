"""Queries on stores by Spark's tasks: the rows of a run in this process, with and without buckets and indexes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.reference.comparer import assert_same_rows
from tests.runners.reference_tables import rows_of
from trendweave.runners.spark.blobs import Buckets
from trendweave.store.event_store import EventStore
from trendweave.store.spark import queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

QUERIES = (
    "RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE [k] AND a.x > 95 WITHIN 6 seconds SLIDE 2 seconds",
    "RETURN k, COUNT(*), SUM(a.x) PATTERN SEQ(A a+, C c) WHERE [k] AND c.x < 5 GROUP-BY k "
    "WITHIN 8 seconds SLIDE 8 seconds",
    "RETURN COUNT(*) PATTERN SEQ(NOT C c, A a, B b) WHERE a.x >= 97 WITHIN 6 seconds SLIDE 3 seconds",
    "RETURN COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS contiguous WHERE a.x > 80 WITHIN 5 seconds",
    "RETURN TRENDS(x) PATTERN SEQ(A a, B b) SEMANTICS skip-till-next-match WHERE [k] AND a.x > 97 WITHIN 9 seconds",
    "RETURN COUNT(*) PATTERN SEQ(A a, C c) WHERE a.x > 99 AND c.x < 1",
    "RETURN COUNT(*) PATTERN B b+ WHERE [k] AND b.x > 90 WITHIN SESSION 3 seconds",
)


def events() -> pa.Table:
    """Three hundred times, one pause among them, in milliseconds without a zone."""
    random = np.random.default_rng(7)
    seconds = np.sort(random.integers(0, 2_000, 600))
    seconds[300:] += 5_000
    return pa.table(
        {
            "time": pa.array(seconds * 1_000, pa.timestamp("ms")),
            "type": pa.array(random.choice(["A", "B", "C"], 600)),
            "x": pa.array(random.integers(0, 100, 600)),
            "k": pa.array(random.integers(0, 9, 600)),
        }
    )


def write(folder: Path, bucketed: bool) -> EventStore:
    table = events()
    for number in range(3):
        kept = np.asarray(table.column("k")) % 3 == number
        own = table.filter(pa.array(kept)) if bucketed else table.slice(number * 200, 200)
        name = f"bucket-{number}-of-3-0" if bucketed else f"part-{number}"
        pq.write_table(own, folder / f"{name}.parquet", row_group_size=16)
    return EventStore.over(folder, type="type", keys=["k"]).build_index(["x"])


def as_arrow(frame: DataFrame) -> pa.Table:
    return frame.toArrow()


@pytest.mark.parametrize("bucketed", [False, True])
def test_rows_are_those_of_this_process(spark: SparkSession, tmp_path: Path, bucketed: bool) -> None:
    store = write(tmp_path, bucketed)
    for text in QUERIES:
        query = trendweave.query(text)
        expected = plain(query.run(store.read()))
        for using in ("index", "replay"):
            found = plain(as_arrow(query.run(store, spark=spark, using=using)))
            assert_same_rows(expected, found, f"{using}: {text}")


def test_part_of_the_time_and_a_workload(spark: SparkSession, tmp_path: Path) -> None:
    store = write(tmp_path, bucketed=True)
    between = ("1970-01-01T00:10:00", "1970-01-01T02:00:00")
    workload = trendweave.workload(QUERIES[:3])
    for using in ("index", "replay"):
        expected = workload.run(store, between=between, using=using)
        metrics = trendweave.Metrics()
        found = as_arrow(workload.run(store, between=between, spark=spark, using=using, metrics=metrics))
        assert_same_rows(plain(expected), plain(found), using)
        assert metrics.get["row_groups_read"] > 0


def test_rows_are_shuffled_only_where_they_must_be(spark: SparkSession, tmp_path: Path) -> None:
    for bucketed in (False, True):
        folder = tmp_path / str(bucketed)
        folder.mkdir()
        store = write(folder, bucketed)
        grouped = trendweave.query(QUERIES[1]).run(store, spark=spark, using="replay")
        assert ("Exchange" in shown(grouped)) != bucketed


def test_small_tasks_cut_time_where_no_window_lies_across(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "BYTES_OF_A_TASK", 1)
    store = write(tmp_path, bucketed=False)
    query = trendweave.query(QUERIES[2])
    monkeypatch.setattr(queries, "find_buckets", lambda session: Buckets(100))
    frame = query.run(store, spark=spark, using="index")
    assert frame.rdd.getNumPartitions() > 3
    assert_same_rows(plain(query.run(store.read())), plain(as_arrow(frame)))


def test_what_tasks_cannot_bring_together(spark: SparkSession, tmp_path: Path) -> None:
    store = write(tmp_path, bucketed=False)
    query = trendweave.query("FROM A DEFINE X AS x > 50 RETURN SITUATIONS")
    assert query.run(store).num_rows
    with pytest.raises(trendweave.errors.ExecutionError, match="cannot be shuffled"):
        query.run(store, spark=spark)


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with times as they are, whatever their unit and zone."""
    return [{name: _plain(value) for name, value in row.items()} for row in rows_of(table)]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


def shown(frame: DataFrame) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
