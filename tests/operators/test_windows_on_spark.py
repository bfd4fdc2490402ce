"""Windowed aggregation on Spark: in tasks, on streams and in Spark SQL, the rows of one table."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.spark.comparing import settings
from tests.streaming.running import ROCKSDB, Files, run_to_the_end
from trendweave import operators as ops
from trendweave.language.operator_texts import read_outputs
from trendweave.planning.operator_plans import AggregatePlan, RowCount, TimeSpan
from trendweave.programs.operators.windows.program import WindowAggregates, bind_windows
from trendweave.runners.local import run_local
from trendweave.runners.options import Settings
from trendweave.runners.spark import operators as on_dataframes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SECOND = 10**9
EVERYTHING = "COUNT(*), SUM(x), AVG(x), MIN(y), MAX(y), SUM(y), AVG(y), MIN(s), MAX(b), SUM(d), SUM(x) / COUNT(*) AS r"
EVERYTHING += ", SUM(CASE WHEN b THEN d ELSE 0 END) AS c, MAX(UPPER(s)), COUNT(i % 3), AVG(i * 2) AS t, MIN(-d) AS n"
PLAIN = "COUNT(*), COUNT(y), SUM(x), SUM(i), SUM(d), MIN(y), MAX(y), MIN(f), MIN(s), MAX(b), MAX(time), MIN(x)"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    floats = [0.1, -0.0, None, math.nan, 1e300, -1e300, math.inf, 0.3, -2.5, 5e-324, None, 0.0]
    size = 60
    return pa.table(
        {
            "time": pa.array([(number * number * 37_000_003) % 30_000_000 - 9_000_000 for number in range(size)])
            .cast(pa.timestamp("us"))
            .cast(pa.timestamp("us", "UTC")),
            "key": pa.array([[0.0, -0.0, None, math.nan, 1.0][number % 5] for number in range(size)]),
            "x": pa.array([None if number % 7 == 0 else (-1) ** number * (2**62 + number) for number in range(size)]),
            "i": pa.array([number - 30 for number in range(size)], pa.int32()),
            "y": pa.array([floats[number % 12] for number in range(size)], pa.float64()),
            "f": pa.array([[-0.0, 1.5, None, math.nan][number % 4] for number in range(size)], pa.float32()),
            "s": pa.array([[None, "a", "ä", "B"][number % 4] for number in range(size)]),
            "b": pa.array([[None, True, False][number % 3] for number in range(size)]),
            "d": pa.array([Decimal(number - 7) / 4 for number in range(size)], pa.decimal128(18, 2)),
        }
    )


def bind(table: pa.Table, outputs: str, window: RowCount | TimeSpan, keys: tuple[str, ...]) -> WindowAggregates:
    plan = AggregatePlan(read_outputs(outputs), window, keys, (), outputs)
    return bind_windows(plan, table.schema, "time", "decimal")


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table).repartition(3)


def told(rows: pa.Table) -> list[str]:
    """Rows in any order; floats to nine digits, as hosts add them in another order."""
    plain = [
        [f"{value:.9g}" if isinstance(value, float) else value for value in row.values()] for row in rows.to_pylist()
    ]
    return sorted(map(repr, plain))


WINDOWS: list[Any] = [
    RowCount(4, 3),
    RowCount(3, 5),
    TimeSpan(7 * SECOND, 2 * SECOND),
    TimeSpan(3 * SECOND, 3 * SECOND),
]


@pytest.mark.parametrize(("window", "keys"), list(zip(WINDOWS, [("key",), (), (), ("key",)], strict=True)))
def test_tasks_give_the_rows_of_one_table(spark: SparkSession, table: pa.Table, window: Any, keys: Any) -> None:
    from trendweave.runners.spark.batch import run_batch

    program = bind(table, EVERYTHING, window, keys)

    found = run_batch(program, frame(spark, table), Settings(chunks=20 * SECOND)).toArrow()

    wanted = run_local(program, table)
    assert found.column_names == wanted.column_names
    assert told(found.cast(wanted.schema)) == told(wanted)


@pytest.mark.parametrize(("window", "keys"), [(WINDOWS[2], ("key",)), (WINDOWS[3], ())])
def test_slices_give_the_rows_of_one_table(spark: SparkSession, table: pa.Table, window: Any, keys: Any) -> None:
    from trendweave.runners.spark.operators import windows_in_slices

    program = bind(table, "COUNT(*), COUNT(s), SUM(x), AVG(x), SUM(y), AVG(y), MIN(y), MAX(f), SUM(d)", window, keys)

    folded = windows_in_slices(program, frame(spark, table), Settings())

    assert folded is not None
    found, wanted = folded.toArrow(), run_local(program, table)
    assert found.column_names == wanted.column_names
    assert told(found.cast(wanted.schema)) == told(wanted)


@pytest.mark.parametrize(("window", "keys"), [(WINDOWS[2], ("key",)), (WINDOWS[3], ()), (WINDOWS[3], ("s", "b"))])
def test_spark_sql_gives_the_rows_of_one_table(spark: SparkSession, table: pa.Table, window: Any, keys: Any) -> None:
    from trendweave.runners.spark.operators import windows_in_sql

    program = bind(table, PLAIN, window, keys)

    handed = windows_in_sql(program, frame(spark, table), Settings())
    assert windows_in_sql(program, frame(spark, table), Settings(device="gpu")) is None

    assert handed is not None
    found, wanted = handed.toArrow(), run_local(program, table)
    assert found.column_names == wanted.column_names
    assert told(found.cast(wanted.schema)) == told(wanted)


@pytest.mark.parametrize(
    ("outputs", "window"),
    [
        ("SUM(y)", TimeSpan(SECOND, SECOND)),
        ("AVG(x)", TimeSpan(SECOND, SECOND)),
        ("COUNT(*)", RowCount(3, 1)),
        ("COUNT(*)", TimeSpan(9 * SECOND, SECOND)),
        ("COUNT(*)", TimeSpan(SECOND, 2 * SECOND)),
        ("COUNT(*) + 1 AS more", TimeSpan(SECOND, SECOND)),
    ],
)
def test_what_spark_computes_differently_runs_in_tasks(
    spark: SparkSession, table: pa.Table, outputs: str, window: Any
) -> None:
    from trendweave.runners.spark.operators import windows_in_sql

    assert windows_in_sql(bind(table, outputs, window, ()), frame(spark, table), Settings()) is None


@pytest.mark.nightly  # tests/operators/test_windows_in_state.py shows it shortly, without a JVM
@pytest.mark.parametrize(
    ("window", "outputs"),
    [
        (WINDOWS[0], EVERYTHING),
        (WINDOWS[2], "COUNT(*), COUNT(s), SUM(x), AVG(x), SUM(y), AVG(y), MIN(y), MAX(y), SUM(d), MAX(time)"),
    ],
)
def test_streams_give_the_rows_of_one_table(
    spark: SparkSession, table: pa.Table, window: Any, outputs: str, tmp_path: Path
) -> None:
    from trendweave.runners.spark.stream import run_stream

    program = bind(table, outputs, window, ("key",))
    ordered, files = table.sort_by("time"), Files(tmp_path / "events")
    for first in range(0, table.num_rows, 20):
        files.write(ordered.slice(first, 20))
    last = ordered.slice(table.num_rows - 1)
    later = pc.add(last.column("time"), pa.scalar(3600, pa.duration("s")))
    files.write(last.set_column(0, "time", later.cast(table.schema.field(0).type)))
    stream = files.stream(spark, spark.createDataFrame(table).schema)

    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB):
        rows = run_stream(program, stream, Settings(watermark="1 second", buckets=2))
        found, _ = run_to_the_end(rows, tmp_path / "checkpoint")

    assert told(found.cast(program.schema)) == told(run_local(program, table))


def test_a_device_that_tasks_would_choose_is_one_core(
    spark: SparkSession, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    means = ops.window_aggregate("AVG(x) AS mean", within="3 seconds", keys=["s"])
    frames = frame(spark, table.select(["time", "s", "x"]))
    # On one core tasks fold events into slices, so that whole rows need not meet.
    monkeypatch.setattr(on_dataframes, "run_batch", lambda *_: pytest.fail("rows were moved as they are"))

    found = means.run(frames, device="auto").toArrow()

    assert told(found) == told(means.run(table).cast(found.schema))
    assert means.explain(frames, device="auto").endswith("device: cpu")


def test_explain_tells_the_device_of_the_session(spark: SparkSession, table: pa.Table) -> None:
    means = ops.window_aggregate("AVG(x) AS mean", within="3 seconds")
    with settings(spark, device="threads"):
        assert means.explain(frame(spark, table)).endswith("device: threads")
