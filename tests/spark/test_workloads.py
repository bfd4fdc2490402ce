"""Workloads on Spark DataFrames: every mix of queries gives the rows of each query alone, from one read of the events
and one shuffle of them."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.spark.comparing import assert_same, frame_from, settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

WINDOW = "WITHIN 20 seconds SLIDE 10 seconds"
QUERIES = {
    # One family: what they have in common is k.
    "pairs": f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] {WINDOW}",
    "falling": "RETURN g, COUNT(*), SUM(B.v) AS total PATTERN SEQ(A, B+) WHERE [k, g] AND B.v > NEXT(B).v "
    "GROUP-BY g WITHIN 20 seconds SLIDE 5 seconds",
    "falling again": "RETURN g, COUNT(*), SUM(B.v) AS total PATTERN SEQ(A, B+) WHERE [k, g] AND B.v > NEXT(B).v "
    "GROUP-BY g WITHIN 20 seconds SLIDE 5 seconds",
    # Time cannot be cut for these.
    "calm": "RETURN k, COUNT(*) PATTERN SEQ(A, NOT C, D) WHERE [k] GROUP-BY k WITHIN SESSION 2 seconds",
    "whole": "RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k",
    # Others.
    "each": "RETURN EACH A[1].v AS f, COLLECT_SET(B.v) AS l PATTERN SEQ(A, B) WHERE [g] AND A.v > 30 WITHIN 3 seconds",
    "lists": f"RETURN TRENDS(v) PATTERN SEQ(A, B, C) WHERE [h, g] AND A.v > 25 AND C.v > 25 {WINDOW}",
    "intervals": "FROM events PARTITION BY h DEFINE Low AS v < 25, High AS v > 20 "
    "PATTERN Low before; meets; overlaps High WITHIN 30 seconds RETURN h, AVG(High.v) AS high",
    "no keys": f"RETURN COUNT(*) PATTERN SEQ(C, D) {WINDOW}",
    # Events of one type without a condition: one flag, which all rows have.
    "rows of k": f"RETURN k, COUNT(*) PATTERN E+ WHERE [k] GROUP-BY k {WINDOW}",
    "rows": f"RETURN COUNT(*) PATTERN E+ {WINDOW}",
    "next": "RETURN g, COUNT(*) PATTERN SEQ(A, B) SEMANTICS skip-till-next-match GROUP-BY g WITHIN 9 seconds",
}
MIXES = {
    "one family": ("pairs", "falling", "falling again"),
    "one family, in order of time": ("pairs", "calm", "whole"),
    "without keys": ("no keys",),
    "with and without keys": ("pairs", "no keys"),
    "one flag": ("rows of k", "rows"),
    "several families": ("falling", "each", "lists"),
    "everything": tuple(QUERIES),
}


def events(rows: int = 600) -> pa.Table:
    """With ties, and with NULL in some keys."""
    rng = np.random.default_rng(7)
    seconds = np.sort(rng.integers(0, 200, rows)) * 1_000_000
    keys = pa.array(rng.choice(["x", "y", "z", "w"], rows), mask=rng.random(rows) < 0.1)
    return pa.table(
        {
            "time": pa.array(seconds, pa.timestamp("us", "UTC")),
            "type": pa.array(rng.choice(list("ABCDE"), rows)),
            "k": keys,
            "g": pa.array(rng.integers(0, 3, rows), mask=rng.random(rows) < 0.1),
            "h": pa.array(rng.integers(0, 4, rows)),
            "v": pa.array(rng.integers(0, 50, rows)),
        }
    )


def assert_each_as_alone(workload: trendweave.Workload, frame: DataFrame, table: pa.Table, **options: Any) -> None:
    """The rows and columns of each query are those that it has alone, and there are some."""
    result = workload.run(frame, **options)
    found = result.toArrow()
    assert result.columns == found.column_names
    for name in workload.names:
        expected, own = workload[name].run(table), workload.rows(found, name)
        assert own.column_names == expected.column_names, name
        try:
            assert_same(expected, own)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        assert expected.num_rows, f"{name} compares nothing with nothing"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return events()


@pytest.fixture(scope="module")
def frame(spark: SparkSession, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return frame_from(spark, table, tmp_path_factory.mktemp("events"))


@pytest.mark.parametrize("mix", MIXES)
def test_each_query_has_the_rows_that_it_has_alone(frame: DataFrame, table: pa.Table, mix: str) -> None:
    workload = trendweave.workload({name: QUERIES[name] for name in MIXES[mix]})
    assert_each_as_alone(workload, frame, table)


def test_version_and_description_of_rules_are_columns(frame: DataFrame) -> None:
    names = MIXES["several families"]
    rules = {name: {"query": QUERIES[name], "version": number or None} for number, name in enumerate(names)}
    workload = trendweave.workload(rules)
    found = workload.run(frame, rule_columns=["description", "version"])
    assert found.columns[:3] == ["query", "description", "version"]
    told = {tuple(row) for row in found.select("query", "description", "version").distinct().collect()}
    assert told == {(name, None, workload.rule(name).version) for name in names}


@pytest.mark.parametrize("mix", ["one family", "several families"])
def test_small_chunks_and_tasks(spark: SparkSession, frame: DataFrame, table: pa.Table, mix: str) -> None:
    """Windows cross chunks of time, keys cross tasks, and batches end in the middle of both."""
    workload = trendweave.workload({name: QUERIES[name] for name in MIXES[mix]})
    with settings(spark, rowsAtOnce=7, sql_execution_arrow_maxRecordsPerBatch=5):
        assert_each_as_alone(workload, frame, table, chunks="30 seconds")


def test_one_read_and_one_shuffle_of_events(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "events"
    frame.write.parquet(str(file))
    result = trendweave.workload(QUERIES).run(spark.read.parquet(str(file)))
    with redirect_stdout(StringIO()) as shown:
        result.explain()
    plan = shown.getvalue()
    assert plan.count("Scan parquet") == 1
    moved = re.findall(r"Exchange hashpartitioning\((\w+)", plan)
    assert len(moved) == 2, "events once, and parts of results"
    assert [name for name in moved if name != "slot"] == ["bucket"]


def test_many_rules_and_many_words_of_flags(frame: DataFrame, table: pa.Table) -> None:
    """Some differ in constants alone, others in conditions that stay flags; a few of them are compared."""
    rules = {
        f"rule {low}": f"RETURN COUNT(*) PATTERN SEQ(A a, B+) WHERE [k] AND a.v > {low} AND B.h = {low % 4} {WINDOW}"
        for low in range(40)
    }
    rules |= {
        f"sum {low}": f"RETURN k, SUM(C.v) AS s PATTERN SEQ(B, C+) WHERE [k] AND B.v + {low} > B.h * {low} "
        f"AND C.v - {low} < C.h GROUP-BY k {WINDOW}"
        for low in range(40)
    }
    workload = trendweave.workload(rules)
    found = workload.run(frame).toArrow()
    for name in ("rule 0", "rule 17", "rule 38", "sum 0", "sum 9", "sum 39"):
        expected = workload[name].run(table)
        assert expected.num_rows
        assert_same(expected, workload.rows(found, name))


def test_given_intervals(spark: SparkSession, table: pa.Table, tmp_path: Path) -> None:
    texts = {"low": "v < 25 AT LEAST 1 second", "high": "v > 20 AT LEAST 1 second"}
    asked = trendweave.query(
        "FROM events PARTITION BY h DEFINE "
        + ", ".join(f"{name} AS {text}" for name, text in texts.items())
        + " PATTERN low before; meets; overlaps high WITHIN 30 seconds RETURN h, AVG(high.v) AS m"
    )
    found = asked.run(table)
    given = pa.table(
        {
            "start": pa.concat_arrays([found["low_start"].combine_chunks(), found["high_start"].combine_chunks()]),
            "end": pa.concat_arrays([found["low_end"].combine_chunks(), found["high_end"].combine_chunks()]),
            "name": ["low"] * found.num_rows + ["high"] * found.num_rows,
            "h": pa.concat_arrays([found["h"].combine_chunks()] * 2),
        }
    )
    given = given.group_by(["start", "end", "name", "h"]).aggregate([])
    workload = trendweave.workload(
        {
            "by key": "FROM INTERVALS PARTITION BY h PATTERN low before; overlaps high WITHIN 30 seconds RETURN h",
            "long ones": "FROM INTERVALS PARTITION BY h DEFINE low AT LEAST 2 seconds "
            "PATTERN low before high WITHIN 40 seconds RETURN h, DURATION(low) AS d",
            "all": "FROM INTERVALS PATTERN low equals high",
        }
    )
    assert_each_as_alone(workload, frame_from(spark, given, tmp_path), given)


def test_strings_with_a_collation_are_told_apart_by_their_bytes(spark: SparkSession) -> None:
    frame = spark.range(100).selectExpr(
        "id AS time",
        "IF(id % 5 = 0, 'a', 'A') COLLATE UTF8_LCASE AS type",
        "named_struct('k', IF(id % 2 = 0, 'x', 'X') COLLATE UNICODE_CI) AS s",
        "id % 3 AS g",
    )
    workload = trendweave.workload(
        {
            "by s": "RETURN s.k, COUNT(*) PATTERN A+ WHERE A.s.k <= 'x' GROUP-BY s.k WITHIN 9 seconds SLIDE 9 seconds",
            "by g": "RETURN g, COUNT(*) PATTERN A+ GROUP-BY g WITHIN 9 seconds SLIDE 9 seconds",
        }
    )
    assert_each_as_alone(workload, frame, frame.toArrow())


def test_counts_of_a_run(frame: DataFrame, table: pa.Table) -> None:
    """They are there after the action, without a second pass, and no row or column tells of them."""
    workload = trendweave.workload({name: QUERIES[name] for name in ("pairs", "falling", "each", "intervals")})
    metrics, local = trendweave.Metrics(), trendweave.Metrics()
    expected = workload.run(table, metrics=local)
    result = workload.run(frame, metrics=metrics)
    assert result.columns == expected.column_names
    assert result.toArrow().num_rows == expected.num_rows
    assert metrics.get["rows"] == table.num_rows
    assert metrics.get["trends"] > 0
    assert metrics.get["peak_rows"] > 0
    assert metrics.sharing.expressions_saved == local.sharing.expressions_saved > 0
    assert metrics.sharing.queries == local.sharing.queries
