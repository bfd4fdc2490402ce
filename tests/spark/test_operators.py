"""Operators on Spark DataFrames give the rows of this process; what Spark SQL does itself is handed to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.operators.samples import CHAINS, make_events
from tests.reference.comparer import assert_same_rows
from trendweave import operators as ops

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", ["filter", "windows of rows", "two windows", "join", "windows and a match"])
def test_spark_gives_the_rows_of_this_process(spark: SparkSession, name: str) -> None:
    events = make_events(moments=name == "two windows")
    chain = ops.pipe(CHAINS[name])
    frame = spark.createDataFrame(events).repartition(3)
    expected = chain.run(events)

    found = chain.run(frame)

    assert expected.num_rows > 3
    assert found.schema.simpleString() == chain.schema(frame).simpleString()
    assert found.schema.names == expected.schema.names
    assert_same_rows(expected.to_pylist(), found.toArrow().to_pylist(), context=CHAINS[name])


def test_a_filter_is_spark_sql_alone(spark: SparkSession) -> None:
    frame = spark.range(20).selectExpr("id AS time", "id * 1.0D AS heat")

    plan = ops.filter("heat > 1").run(frame)._jdf.queryExecution().executedPlan().toString()

    assert "Filter" in plan
    assert "Python" not in plan


def test_files_and_stores_are_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    events, chain = make_events(100), ops.pipe(CHAINS["windows of rows"])
    pq.write_table(events, tmp_path / "events.parquet")
    store = trendweave.EventStore.create(tmp_path / "store", events.schema, group_rows=20)
    store.append(events)
    inside = events.filter(pc.less(events.column("time"), 100))

    of_files = chain.run(trendweave.read(spark, str(tmp_path / "events.parquet"))).toArrow()
    of_store = chain.run(store, spark=spark, between=(-1000, 100)).toArrow()

    assert_same_rows(chain.run(events).to_pylist(), of_files.to_pylist(), context="files")
    assert_same_rows(chain.run(inside).to_pylist(), of_store.to_pylist(), context="a store")


def test_operators_with_the_same_keys_share_tasks(spark: SparkSession) -> None:
    frame = spark.range(20).selectExpr("id AS time", "id % 3 AS k", "id % 2 AS g", "id * 1.0D AS heat")
    means = "AGGREGATE AVG(heat) AS heat OVER 2 ROWS BY k"
    same = ops.pipe(f"{means} | FILTER heat > 1 | {means}")
    others = ops.pipe(f"AGGREGATE AVG(heat) AS heat OVER 2 ROWS BY k, g | FILTER heat > 1 | {means}")

    tasks = [
        chain.run(frame)._jdf.queryExecution().executedPlan().toString().count("Exchange hashpartitioning")
        for chain in (same, others)
    ]

    assert tasks == [1, 2]
    assert_same_rows(same.run(frame.toArrow()).to_pylist(), same.run(frame).toArrow().to_pylist(), context=str(same))
