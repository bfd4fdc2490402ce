"""Streams that stop after any micro-batch and go on from their checkpoint, and state that does not grow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import trendweave
from tests.runners.reference_tables import table_of
from tests.spark.comparing import assert_same, settings
from tests.streaming.running import OWNER, Files, counted, run_to_the_end, write_to_the_end
from tests.streaming.sample import COLUMNS, QUERY, SLIDING, batches, end, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("encoding", "files_per_run"), [pytest.param("unsaferow", 1, marks=pytest.mark.nightly), ("avro", 2)]
)
def test_stopped_again_and_again(streaming: SparkSession, tmp_path: Path, encoding: str, files_per_run: int) -> None:
    """Each run asks for another number of shuffle partitions; Spark keeps to that of the checkpoint."""
    files = Files(tmp_path / "events")
    tables = [*batches(3), end()]
    partitions = []
    while files.written < len(tables):
        for table in tables[files.written : files.written + files_per_run]:
            files.write(table)
        with settings(
            streaming,
            sql_shuffle_partitions=files.written,
            sql_streaming_stateStore_encodingFormat=encoding,
        ):
            rows = trendweave.query(SLIDING).run(files.stream(streaming, COLUMNS), watermark="5 seconds")
            run = write_to_the_end(rows, tmp_path / "rows", tmp_path / "checkpoint")
        partitions.append(run.lastProgress.stateOperators[0].numShufflePartitions)
        assert counted(run, "late") == 0

    assert_same(expected(SLIDING, batches(3)), streaming.read.parquet(str(tmp_path / "rows")).toArrow())
    assert partitions == [files_per_run] * len(partitions)
    assert run.lastProgress.stateOperators[0].numRowsTotal == OWNER


@pytest.mark.nightly
def test_ever_new_keys_do_not_grow_the_state(streaming: SparkSession, tmp_path: Path) -> None:
    files = Files(tmp_path / "events")
    tables = [table_of([pair for key in range(30) for pair in new_key(number, key)]) for number in range(10)]
    for table in [*tables, end()]:
        files.write(table)
    query = QUERY + "WITHIN 10 seconds SLIDE 5 seconds"

    rows = trendweave.query(query).run(files.stream(streaming, COLUMNS), watermark="5 seconds")
    found, run = run_to_the_end(rows, tmp_path / "checkpoint")

    assert_same(expected(query, tables), found)
    held = [progress.stateOperators[0].numRowsTotal for progress in run.recentProgress]
    assert len(held) >= len(tables)
    assert max(held[4:]) <= max(held[:4]), held
    assert held[-1] == OWNER


def new_key(number: int, key: int) -> list[dict[str, Any]]:
    time = 1_000 + 10 * number + key % 9
    event = {"time": time, "type": "A", "x": key, "y": 0.0, "s": "", "k": 100 * number + key, "g": "all"}
    return [event, event | {"time": time + 1, "type": "B"}]
