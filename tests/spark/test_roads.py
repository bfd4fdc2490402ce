"""Packed columns in a batch give the rows of the reference twin, whatever the number of buckets and whether adaptive
execution joins them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from pyspark.sql import functions as F

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.runners.reference_tables import rows_of
from tests.runners.test_local_against_reference import planned
from tests.spark.comparing import settings
from tests.spark.test_batch_against_reference import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def _small_chunks_and_tasks(spark: SparkSession) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trendweave.planning.chunks._WITH_KEYS", 1)
        patch.setattr("trendweave.planning.chunks._WITHOUT_KEYS", 1)
        with settings(spark, rowsAtOnce=4, sql_execution_arrow_maxRecordsPerBatch=3):
            yield


@pytest.mark.usefixtures("_small_chunks_and_tasks")
def test_random_queries_on_random_streams(spark: SparkSession) -> None:
    @given(case=queries_and_streams(empty=False), tasks=hs.sampled_from([1, 2, 5]), joins=hs.booleans())
    @examples(5)
    def in_buckets(case: tuple[Query, list[dict]], tasks: int, joins: bool) -> None:
        query, events = case
        adaptive = {"sql_adaptive_coalescePartitions_enabled": joins, "sql_shuffle_partitions": tasks}
        with settings(spark, **adaptive):
            found = planned(query).run(frame_of(spark, events)).toArrow()
        assert_same_rows(rows(query, events), rows_of(found), text(query))

    in_buckets()


@pytest.mark.nightly
def test_ten_million_keys(spark: SparkSession) -> None:
    # Each key has a b a b, one second apart: SEQ(A+, B) has (a1, b2), (a1, b4), (a3, b4), (a1, a3, b4).
    keys = 10_000_000
    events = spark.range(4 * keys).select(
        (F.col("id") % keys).alias("k"),
        (F.col("id") / keys).cast("long").alias("time"),
        F.when((F.col("id") / keys).cast("long") % 2 == 0, "A").otherwise("B").alias("type"),
    )
    query = "RETURN k, COUNT(*) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k WITHIN 10 s SLIDE 10 s"
    with settings(spark, sql_shuffle_partitions=16):
        found = trendweave.query(query).run(events)
        told = found.agg(
            F.count("*"), F.min("count"), F.max("count"), F.min("k"), F.max("k"), F.sum("k").cast("long")
        ).first()
    assert tuple(map(int, told)) == (keys, 4, 4, 0, keys - 1, keys * (keys - 1) // 2)
