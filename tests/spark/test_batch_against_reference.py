"""Spark batch against the reference twin, on random queries and streams.

Chunks of time and tasks are as small as they can be, so that windows cross chunks, keys cross tasks, and times tie at
the borders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from pyspark.sql import functions as F

from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.runners.reference_tables import SCHEMA, rows_of
from tests.runners.test_local_against_reference import planned
from tests.spark.comparing import settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

COLUMNS = "time long, type string, x long, y double, s string, k long, g string"


@pytest.fixture(scope="module", autouse=True)
def _small_chunks_and_tasks(spark: SparkSession) -> Iterator[None]:
    small = {"sql_execution_arrow_maxRecordsPerBatch": 3, "sql_adaptive_coalescePartitions_enabled": "false"}
    with pytest.MonkeyPatch.context() as patch, settings(spark, rowsAtOnce=4, **small):
        patch.setattr("trendweave.planning.chunks._WITH_KEYS", 1)
        patch.setattr("trendweave.planning.chunks._WITHOUT_KEYS", 1)
        yield


def frame_of(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    listed = [tuple(event.get(name) for name in SCHEMA.names) for event in events]
    return spark.createDataFrame(listed, COLUMNS)


@given(case=queries_and_streams(empty=False), timestamps=hs.sampled_from(["", "timestamp", "timestamp_ntz"]))
@examples(18)
def test_random_queries_on_random_streams(spark: SparkSession, case: tuple[Query, list[dict]], timestamps: str) -> None:
    """Times are whole seconds, as numbers or as timestamps: a chunk and a timestamp travel as one number."""
    query, events = case
    frame = frame_of(spark, events)
    if timestamps:
        frame = frame.withColumn("time", F.timestamp_seconds("time").cast(timestamps))
    result = planned(query).run(frame).toArrow()
    assert_same_rows(rows(query, events), rows_of(in_seconds(result)), text(query))


def in_seconds(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            seconds = pc.divide(table.column(place).cast(pa.int64()), 1_000_000)
            table = table.set_column(place, field.name, seconds)
    return table
