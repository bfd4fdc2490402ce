"""Operators on Spark DataFrames against the slow twin: few random cases, as a job costs far more than a case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.operators.running import as_events, assert_rows_in_any_order
from tests.operators.strategies import Clock, Stream, clocks_of_spark
from tests.operators.test_random_chains import cases as chains
from tests.operators.test_random_joins import Join
from tests.operators.test_random_joins import pairs as joins
from tests.operators.test_random_windows import Case
from tests.operators.test_random_windows import cases as windows
from tests.profiles import examples
from tests.reference.operators.events import Event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

#: A failure is not made smaller here: tests in this process do that in no time. Cases without rows, which are left out,
#: cost next to nothing beside a job, and how many there are is a matter of chance.
few = settings(
    examples(3),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def frame(spark: SparkSession, table: pa.Table, folder: Path, name: str = "events") -> DataFrame:
    """In several parts that have nothing to do with time or key."""
    pq.write_table(table, folder / f"{name}.parquet", row_group_size=max(1, table.num_rows // 2))
    return spark.read.parquet(str(folder / f"{name}.parquet")).repartition(2)


def assert_found(found: DataFrame, clock: Clock, expected: list[Event]) -> None:
    """Rows of a DataFrame have no order."""
    assert_rows_in_any_order(as_events(found.toArrow(), clock), expected)


@few
@given(windows(most=30, of=clocks_of_spark).filter(lambda case: case.expected))
def test_windows(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    found = case.operator.run(frame(spark, case.stream.table, tmp_path))
    assert_found(found, case.stream.clock, case.expected)


@few
@given(joins(most=20, of=clocks_of_spark).filter(lambda case: case[0].expected(*case[1:])))
def test_joins(spark: SparkSession, tmp_path: Path, case: tuple[Join, Stream, Stream]) -> None:
    join, left, right = case
    found = join.operator.run(frame(spark, left.table, tmp_path, "left"), frame(spark, right.table, tmp_path, "right"))
    assert_found(found, left.clock, join.expected(left, right))


@few
@given(chains(of=clocks_of_spark).filter(lambda case: case[2]))
def test_chains(spark: SparkSession, tmp_path: Path, case: tuple[Stream, Any, list[Event], list[str]]) -> None:
    stream, operator, expected, columns = case
    found = operator.run(frame(spark, stream.table, tmp_path))
    assert found.columns == columns
    assert_found(found, stream.clock, expected)
