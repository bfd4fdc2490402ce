"""Spark streams against the reference twin: random queries and streams, cut into micro-batches, shuffled, with late
events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_local_against_reference import planned
from tests.spark.comparing import settings
from tests.streaming.running import ROCKSDB, Files, counted, run_to_the_end
from tests.streaming.test_state_against_reference import END, moved

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = "time long, type string, x long, y double, s string, k long, g string"


@pytest.fixture(scope="module", autouse=True)
def _rocksdb(spark: SparkSession) -> Iterator[None]:
    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, buckets=3):
        yield


@given(case=queries_and_streams(empty=False, windowed=True), data=hs.data())
@examples(4)
def test_random_streams(spark: SparkSession, case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case[0], data.draw(hs.permutations(moved(case[1])))
    delay = data.draw(hs.integers(1, 6))
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), min_size=1, max_size=3)))
    in_time, late, watermark = [], 0, 0
    with TemporaryDirectory() as folder:
        files = Files(Path(folder) / "events")
        for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
            batch = events[low:high]
            files.write(table_of(batch))
            behind = [event for event in batch if event["time"] is not None and event["time"] < watermark]
            late += len(behind)
            in_time += [event for event in batch if event not in behind]
            times = [event["time"] for event in batch if event["time"] is not None]
            watermark = max([watermark, *(time - delay for time in times)])
        files.write(table_of([END]))
        stream = planned(query).run(files.stream(spark, COLUMNS), watermark=f"{delay} seconds")
        found, run = run_to_the_end(stream, Path(folder) / "checkpoint")
    assert_same_rows(rows(query, in_time), rows_of(found), text(query))
    assert counted(run, "late") <= late, "events that can be read as nothing are not counted"
