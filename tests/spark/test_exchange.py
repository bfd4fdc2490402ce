"""How rows meet on Spark: what is shuffled, what is counted, and that nothing is left behind."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.spark.comparing import assert_same, frame_from, settings
from trendweave.errors import OptionError
from trendweave.runners.spark import exchange
from trendweave.runners.spark.exchange import ComputeBlobs, Gathered
from trendweave.runners.spark.workers import travelling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PER_GROUP = "RETURN g, COUNT(*), SUM(B.v) PATTERN SEQ(A+, B) WHERE [k, g] GROUP-BY g WITHIN 20 seconds SLIDE 5 seconds"
GIVEN = (
    "FROM INTERVALS PARTITION BY k DEFINE A AT LEAST 2 seconds PATTERN A before B WITHIN 1 minute RETURN k, DURATION(B)"
)
SITUATIONS = "DEFINE Low AS v < 25 RETURN SITUATIONS"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Half of all events have one key."""
    random = np.random.default_rng(3)
    rows = 400
    keys = np.where(random.random(rows) < 0.5, 0, random.integers(0, 30, rows))
    return pa.table(
        {
            "time": pa.array(random.integers(0, 300, rows) * 1_000_000, pa.timestamp("us", "UTC")),
            "type": pa.array(random.choice(["A", "B"], rows)),
            "k": pa.array(keys, mask=random.random(rows) < 0.1),
            "g": pa.array([f"group {key % 3}" for key in keys]),
            "v": pa.array(random.integers(0, 50, rows)),
        }
    )


@pytest.fixture(scope="module")
def events(spark: SparkSession, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return frame_from(spark, table, tmp_path_factory.mktemp("events"))


def test_packed_columns_give_the_rows_of_a_table_and_counts(
    spark: SparkSession, events: DataFrame, table: pa.Table
) -> None:
    query, metrics = trendweave.query(PER_GROUP), trendweave.Metrics()
    with settings(spark, rowsAtOnce=7, sql_shuffle_partitions=5):
        assert_same(query.run(table), query.run(events, metrics=metrics).toArrow())
    assert metrics.get["peak_rows"] > 10


def test_the_option_for_the_shuffle_format_is_deprecated(
    spark: SparkSession, events: DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    query = trendweave.query(PER_GROUP)
    with pytest.warns(DeprecationWarning, match='exchange="rows" has no effect'):
        query.run(events, exchange="rows").explain()
    with settings(spark, exchange="rows"), pytest.warns(DeprecationWarning, match='exchange="rows" has no effect'):
        query.run(events)
    assert "hashpartitioning(bucket" in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        query.run(events, exchange="columns")


def test_given_intervals_meet(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"start": n, "end": n + 3, "name": "AB"[n % 2], "k": n % 3 or None} for n in range(40)]
    table = pa.Table.from_pylist(rows)
    query = trendweave.query(GIVEN)
    expected = query.run(table)
    assert expected.num_rows > 0
    assert_same(expected, query.run(frame_from(spark, table, tmp_path), rows_at_once=3).toArrow())


def test_the_plan_shows_what_is_shuffled(events: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    for query, sorts in ((PER_GROUP, 0), (SITUATIONS, 1)):
        trendweave.query(query).run(events, type=None if query is SITUATIONS else "type").explain()
        text = capsys.readouterr().out
        assert text.count("Sort [") == sorts
        assert ("hashpartitioning(bucket" in text) == (sorts == 0)
    assert "exchange     columns: " in trendweave.query(PER_GROUP).explain()
    assert "exchange     rows: " in trendweave.query(SITUATIONS).explain()


def test_blobs_beyond_memory_wait_in_a_file_inside_spark(
    spark: SparkSession, events: DataFrame, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers leave a file behind that tells whether blobs were written to disk."""

    class Noted(ComputeBlobs):
        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from trendweave.runners.spark import exchange as in_worker

            class Noting(Gathered):
                def __exit__(self, *error: Any) -> None:
                    (tmp_path / ("spilled" if self.has_spilled else "held")).touch()
                    super().__exit__(*error)

            in_worker.Gathered = Noting  # type: ignore[misc]
            try:
                yield from ComputeBlobs.__call__(self, batches)
            finally:
                in_worker.Gathered = Gathered  # type: ignore[misc]

    def sending(task: Any) -> Any:
        return travelling(Noted(task.task, task.limits, task.in_memory) if isinstance(task, ComputeBlobs) else task)

    monkeypatch.setattr(exchange, "travelling", sending)
    query = trendweave.query(PER_GROUP)
    expected = query.run(table)
    for limit, found in ((1, {"spilled"}), (10**9, {"spilled", "held"})):
        with settings(spark, bytesInMemory=limit):
            assert_same(expected, query.run(events).toArrow())
        assert {file.name for file in tmp_path.iterdir()} == found


def test_another_road_is_refused(spark: SparkSession, events: DataFrame) -> None:
    with pytest.raises(OptionError, match="TW408: exchange is one of auto, columns, rows, not colums"):
        trendweave.query(PER_GROUP).run(events, exchange="colums")  # type: ignore[arg-type]
    with settings(spark, exchange="boats"), pytest.raises(OptionError, match="exchange is one of"):
        trendweave.query(PER_GROUP).run(events)
