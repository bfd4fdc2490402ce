"""Devices in tasks of Spark: threads where they are asked for, by an argument or by the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.spark.comparing import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ROWS = 160_000
_DRAW = np.random.default_rng(3)
EVENTS = pa.table(
    {
        "time": pa.array(_DRAW.integers(0, 5_000, ROWS) * 1_000_000, pa.timestamp("us", "UTC")),
        "type": pa.array(_DRAW.choice(["A", "B"], ROWS)),
        "k": _DRAW.integers(0, 300, ROWS),
        "v": _DRAW.integers(0, 100, ROWS),
    }
)
QUERY = "RETURN k, COUNT(*), MAX(B.v) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN 10 minutes SLIDE 5 minutes"


def test_tasks_use_threads_where_they_are_asked_for(spark: SparkSession) -> None:
    query = trendweave.query(QUERY)
    frame = spark.createDataFrame(EVENTS).coalesce(1)
    wanted = sorted(query.run(EVENTS).to_pylist(), key=repr)
    with settings(spark, device="threads", sql_shuffle_partitions="1"):
        found = query.run(frame).toArrow()
    assert sorted(found.cast(query.schema(EVENTS)).to_pylist(), key=repr) == wanted
