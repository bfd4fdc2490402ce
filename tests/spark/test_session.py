"""The Spark session of the tests starts, and Arrow batches go through Python workers and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

import trendweave
from trendweave.planning.show.explain import explain_text

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_session_is_local_and_counts(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.range(3).count() == 3


def test_map_in_arrow_round_trip(spark: SparkSession) -> None:
    # Defined here so that Spark ships the function itself; a worker need not be able to import this file.
    def double(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        import pyarrow.compute

        for batch in batches:
            doubled = pyarrow.compute.multiply(batch.column("price"), 2)
            yield pyarrow.RecordBatch.from_arrays([batch.column("type"), doubled], names=["type", "price"])

    events = spark.createDataFrame([("a", 1), ("b", 2), ("c", None)], "type string, price long")

    rows = events.mapInArrow(double, "type string, price long").collect()

    assert sorted(tuple(row) for row in rows) == [("a", 2), ("b", 4), ("c", None)]


def test_a_plan_travels_to_a_worker(spark: SparkSession) -> None:
    plan = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A+, NOT N, B) WHERE A.x < NEXT(A).x WITHIN 1 hour").plan

    def describe(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        from trendweave.planning.show.explain import explain_text

        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"text": [explain_text(plan)]})

    (row,) = spark.range(1).coalesce(1).mapInArrow(describe, "text string").collect()

    assert row.text == explain_text(plan)
