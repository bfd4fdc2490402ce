"""Which rows have a time: one meaning in the house, and its twin in Spark SQL."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from trendweave.events import schema_of
from trendweave.rows.dropped import split_late
from trendweave.rows.times import has_time, keep_rows_with_time, time_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = {
    "double": pa.array([1.5, None, math.nan, math.inf, -math.inf, 0.0, -2.0], pa.float64()),
    "float": pa.array([1.5, None, math.nan, math.inf, -math.inf, 0.0, -2.0], pa.float32()),
    "bigint": pa.array([1, None, 0, -1], pa.int64()),
    "timestamp_ntz": pa.array([datetime(2020, 1, 1), None], pa.timestamp("us")),
}
ANSWERS = {
    "double": [True, False, False, False, False, True, True],
    "float": [True, False, False, False, False, True, True],
    "bigint": [True, False, True, True],
    "timestamp_ntz": [True, False],
}


@pytest.mark.parametrize("kind", list(TIMES))
def test_only_finite_times_are_times(kind: str) -> None:
    events = pa.table({"time": TIMES[kind], "row": range(len(ANSWERS[kind]))})

    assert has_time(events.column("time")).to_pylist() == ANSWERS[kind]
    kept, missing = keep_rows_with_time(events, "time")
    assert kept.column("row").to_pylist() == [row for row, known in enumerate(ANSWERS[kind]) if known]
    assert missing == ANSWERS[kind].count(False)


@pytest.mark.spark
@pytest.mark.parametrize("kind", list(TIMES))
def test_spark_sql_means_the_same(spark: SparkSession, kind: str) -> None:
    from trendweave.runners.spark.prepare import has_time as has_time_in_sql

    frame = spark.createDataFrame([(value,) for value in TIMES[kind].to_pylist()], f"time {kind}")
    answers: list[Any] = frame.selectExpr(f"{has_time_in_sql('time', schema_of(frame))} AS known").collect()

    assert [row["known"] for row in answers] == ANSWERS[kind]


def test_late_is_what_is_an_event_before_the_watermark() -> None:
    events = pa.table({"time": [1.0, 2.0, 1.0, None, math.nan, 5.0], "type": ["A", "A", None, "A", "A", None]})

    kept, late = split_late(events, "time", "type", time_type(pa.float64()), 2_000_000)

    assert late == 1
    assert kept.column("time").to_pylist()[:2] == [2.0, 1.0]
    assert kept.num_rows == 5
    assert split_late(events, "time", None, time_type(pa.float64()), 2_000_000)[1] == 2
