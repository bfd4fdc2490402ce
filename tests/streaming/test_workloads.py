"""Workloads as Spark streams: one streaming query with one checkpoint, which takes another workload at a restart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import trendweave
from tests.spark.comparing import assert_same
from tests.streaming.another_driver import Job
from tests.streaming.killing import kill_between_rows_and_commit, kill_in_a_batch, numbers
from tests.streaming.running import Files, counted, run_to_the_end, write_to_the_end
from tests.streaming.sample import COLUMNS, SLIDING, batches, end
from trendweave.errors import ExecutionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WINDOW = "WITHIN 10 seconds SLIDE 5 seconds"
RULES = {
    "sliding": SLIDING,
    "pairs": f"RETURN COUNT(*) PATTERN SEQ(A a, A b) WHERE [k] AND a.x > 3 {WINDOW}",
    "other keys": f"RETURN g, COUNT(*) PATTERN A+ WHERE [g] GROUP-BY g {WINDOW}",
    "no keys": "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 4 seconds SLIDE 2 seconds",
    "each": "RETURN EACH A[1].x AS f, COLLECT_LIST(B.x) AS l PATTERN SEQ(A, B) WHERE [k] WITHIN 3 seconds",
    "intervals": "FROM events PARTITION BY k DEFINE Low AS x < 4, High AS x > 3 "
    "PATTERN Low before; meets; overlaps High WITHIN 20 seconds RETURN k",
}
COUNT = 6


def assert_rows(workload: trendweave.Workload, name: str, tables: list[pa.Table], found: pa.Table) -> None:
    expected = workload[name].run(pa.concat_tables(tables))
    assert expected.num_rows, name
    assert_same(expected, workload.rows(found, name))


def test_each_query_has_the_rows_that_it_has_alone(streaming: SparkSession, tmp_path: Path) -> None:
    files = Files(tmp_path / "events")
    tables = batches(COUNT)
    for table in [*tables, end()]:
        files.write(table)
    workload = trendweave.workload({name: {"query": text, "version": f"{name} 1"} for name, text in RULES.items()})
    rows = workload.run(files.stream(streaming, COLUMNS), watermark="5 seconds", rule_columns="version")
    assert rows.columns[:2] == ["query", "version"]

    found, query = run_to_the_end(rows, tmp_path / "checkpoint")

    for name in RULES:
        assert_rows(workload, name, tables, found)
    assert {tuple(row.values()) for row in found.select(["query", "version"]).to_pylist()} == {
        (name, f"{name} 1") for name in RULES
    }
    # Copies for several families are no further events.
    assert counted(query, "events") <= sum(table.num_rows for table in tables) + 1
    (operator,) = query.recentProgress[-1].stateOperators
    assert operator.operatorName.startswith("transformWithState")


def test_queries_that_never_close_are_named(streaming: SparkSession, tmp_path: Path) -> None:
    files = Files(tmp_path / "events")
    workload = trendweave.workload({"pairs": RULES["pairs"], "whole": "RETURN COUNT(*) PATTERN A+"})
    with pytest.raises(ExecutionError, match=r"TW409[\s\S]*query whole"):
        workload.run(files.stream(streaming, COLUMNS), watermark="5 seconds")


def test_a_changed_workload_goes_on_from_the_same_checkpoint(streaming: SparkSession, tmp_path: Path) -> None:
    """Some queries stay, one is dropped, two come, one with keys that nobody had; one has another text."""
    files, rows, checkpoint = Files(tmp_path / "events"), tmp_path / "rows", tmp_path / "checkpoint"
    tables = batches(COUNT)
    first = trendweave.workload({name: RULES[name] for name in ("sliding", "pairs", "each")})
    other_pairs = RULES["pairs"].replace("a.x > 3", "a.x > 2")
    second = first.without("each").with_query("pairs", other_pairs).with_query("other keys", RULES["other keys"])
    for table in tables[:3]:
        files.write(table)
    write_to_the_end(first.run(files.stream(streaming, COLUMNS), watermark="5 seconds"), rows, checkpoint)
    for table in [*tables[3:], end()]:
        files.write(table)
    write_to_the_end(second.run(files.stream(streaming, COLUMNS), watermark="5 seconds"), rows, checkpoint)

    found = streaming.read.option("mergeSchema", True).parquet(str(rows)).toArrow()
    assert_rows(first, "sliding", tables, found)
    came = pc.max(pa.concat_tables(tables[:3])["time"]).as_py() + 1
    for name in ("pairs", "other keys"):
        alone, own = second[name].run(pa.concat_tables(tables)), second.rows(found, name)
        wanted, after = (table.filter(pc.greater_equal(table["window_start"], came)) for table in (alone, own))
        assert wanted.num_rows
        assert_same(wanted, after)
    closed = pc.max(first.rows(found, "each")["time"]).as_py()
    assert closed < came, "a query that is gone gives no more rows"


@pytest.mark.nightly
def test_a_changed_workload_after_killed_drivers(streaming: SparkSession, tmp_path: Path) -> None:
    """Kill -9 in a micro-batch and between rows and commit, each time with another workload afterwards: rows of
    queries that stayed are complete, and none is there twice."""
    files = Files(tmp_path / "events")
    tables = batches(COUNT)
    for table in [*tables, end()]:
        files.write(table)
    rules = {name: RULES[name] for name in ("sliding", "other keys", "each")}
    job = Job(str(files.folder), str(tmp_path / "rows"), str(tmp_path / "checkpoint"), 0, pause=0.3, rules=rules)
    # The columns of a sink stay what they are.
    second = replace(job, rules={"each": RULES["each"], "sliding": SLIDING, "more": RULES["other keys"]})
    third = replace(second, rules={name: second.rules[name] for name in ("sliding", "more", "each")})

    kill_in_a_batch(job, tmp_path / "log-1", batch=2)
    kill_between_rows_and_commit(second, tmp_path / "log-2")
    assert max(numbers(Path(job.checkpoint) / "commits")) < COUNT
    third.run(streaming)

    found = streaming.read.parquet(job.rows).toArrow()
    for name in ("sliding", "each"):
        assert_rows(trendweave.workload(rules), name, tables, found)
