"""Spark batch against the reference twin and the in-process runner, on random queries and streams.

Chunks of time and tasks are small, so that windows cross chunks, keys cross tasks, and times tie at the borders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.runners.reference_tables import SCHEMA, rows_of
from tests.runners.test_local_against_reference import planned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

COLUMNS = "time long, type string, x long, y double, s string, k long, g string"


def frame_of(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    listed = [tuple(event.get(name) for name in SCHEMA.names) for event in events]
    return spark.createDataFrame(listed, COLUMNS)


@given(case=queries_and_streams(empty=False))
@examples(30)
def test_random_queries_on_random_streams(spark: SparkSession, case: tuple[Query, list[dict]]) -> None:
    query, events = case
    result = planned(query).run(frame_of(spark, events))
    assert_same_rows(rows(query, events), rows_of(result.toArrow()), text(query))
