"""Results on Spark: the earliest rows are drawn, whatever order a shuffle has left."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import trendweave
from trendweave.showing.results import MOST_ROWS, fetch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_earliest_rows_are_drawn_without_false_gaps(spark: SparkSession) -> None:
    number = MOST_ROWS + 2_000
    backwards = spark.range(number, numPartitions=3).selectExpr(
        f"timestamp_seconds(({number} - id) * 60) AS window_start", "id % 7 AS count"
    )
    fetched = fetch(backwards)
    assert not fetched.whole
    starts = fetched.rows.column("window_start").cast("int64").to_pylist()
    assert starts == [60_000_000 * (place + 1) for place in range(MOST_ROWS)]
    drawn = trendweave.plot(backwards).svg()
    assert len(re.findall("<polyline", drawn)) == 1
    assert "count over time of the first 10,000 rows" in drawn
    shown = trendweave.show(backwards, value="count")
    assert "more than 10,000 rows" in str(shown)
    assert shown.picture is not None
    assert shown.picture.title == "count over time of the first 10,000 rows"


def test_few_rows_and_rows_without_a_time(spark: SparkSession) -> None:
    few = spark.createDataFrame([(2, 5), (1, 3)], "`a``b` INT, count INT")
    assert fetch(few).whole
    assert fetch(few, ["a`b"]).rows.column("a`b").to_pylist() == [1, 2]
