"""What a user would write instead gives the rows of the query that it is timed against."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from benchmarks import spark_alternatives as instead
from benchmarks.spark_events import sequences
from benchmarks.spark_sessions import check_rows
from benchmarks.workloads.greta_queries import paper_query
from benchmarks.workloads.spark_batch import PAIRS_PER_KEY, PER_KEY
from benchmarks.workloads.spark_instead import FALLING_PAIRS
from trendweave import Query, datasets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.nightly]


@pytest.fixture(scope="module")
def seconds_only() -> pa.Table:
    """Times in whole seconds, so that some events of a key happen at the same time."""
    table = sequences(600, keys=20, seconds=1_800)
    return table.set_column(
        0, "time", table["time"].cast(pa.timestamp("s", "UTC"), safe=False).cast(table.schema[0].type)
    )


@pytest.mark.parametrize("name", ["pairs_by_self_join", "pairs_by_window_function"])
def test_pairs(spark: SparkSession, seconds_only: pa.Table, name: str) -> None:
    compare(spark, PAIRS_PER_KEY, seconds_only, lambda events: getattr(instead, name)(events, "10 minutes"))


@pytest.mark.parametrize("name", ["sequences_by_enumeration", "sequences_by_counting"])
def test_sequences(spark: SparkSession, seconds_only: pa.Table, name: str) -> None:
    compare(spark, PER_KEY, seconds_only, lambda events: getattr(instead, name)(events, "10 minutes"))


def test_falling_pairs_and_trends(spark: SparkSession) -> None:
    stock = datasets.stock(5 * 40, seed=1, companies=5, sectors=2)
    compare(spark, FALLING_PAIRS, stock, lambda events: instead.falling_pairs_by_self_join(events, 600, 10))
    compare(spark, paper_query("greta_q1"), stock, lambda events: instead.falling_trends_by_counting(events, 600, 10))


def compare(spark: SparkSession, query: Query, table: pa.Table, frame: Callable[[DataFrame], DataFrame]) -> None:
    expected = query.run(table, numbers="text")
    check_rows(frame(spark.createDataFrame(table)), expected)
    missing = expected.slice(1)
    with pytest.raises(AssertionError):
        check_rows(frame(spark.createDataFrame(table)), missing)
