"""Every task of the cookbook gives the rows of its page: with pandas, event by event, on Spark and on a stream.

The code that a task replaces gives them, too, where it is Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv

import trendweave
from tests.profiles import PROFILE
from tests.spark.comparing import settings
from tests.streaming.running import ROCKSDB, Files, run_to_the_end
from tools.cookbook_pages import FOLDER, PAGES, Recipe, Task, as_rows, task_of
from trendweave.planning.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Found = list[dict[str, Any]]


def plan_of(recipe: Recipe) -> Plan:
    plan = trendweave.query(recipe.query).plan
    assert isinstance(plan, Plan)
    return plan


TASKS = [task_of(page) for page in PAGES]
RECIPES = [(task, recipe) for task in TASKS for recipe in task.recipes]
#: By day one stream of each kind of rows and windows: sessions take all recipes through the same steps, event by event.
KINDS = {(plan_of(recipe).returns, type(plan_of(recipe).window)): (task, recipe) for task, recipe in RECIPES[::-1]}
STREAMED = RECIPES if PROFILE == "nightly" else list(KINDS.values())
each_recipe = pytest.mark.parametrize(("task", "recipe"), RECIPES, ids=[recipe.name for _, recipe in RECIPES])


# ------------------------------------------------------------------------------------------------------------ the pages


def test_fifteen_tasks() -> None:
    assert len(TASKS) == 15
    assert all(10 <= task.events.num_rows <= 40 for task in TASKS), (
        "small enough to be read, large enough to say something"
    )


def test_each_task_has_a_line_in_the_index() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((\w+)\.md\)", index)) == [task.name for task in TASKS]
    for task in TASKS:
        assert f"| [{task.title}]({task.name}.md) |" in index


@pytest.mark.parametrize("left_out", ["Events", "Query", "Result", "What it replaces"])
def test_a_page_that_lacks_something_is_no_task(left_out: str, tmp_path: Path) -> None:
    page = PAGES[0]
    text = page.read_text(encoding="utf-8")
    task_of(page)
    for number, cut in enumerate([rf"## {left_out}\n(?:(?!## ).*\n?)*", rf"(?<=## {left_out}\n)(?:(?!## ).*\n?)*"]):
        short = tmp_path / f"{number}.md"
        short.write_text(re.sub(cut, "", text), encoding="utf-8")
        assert short.read_text(encoding="utf-8") != text
        with pytest.raises(AssertionError, match=short.name):
            task_of(short)


def test_the_way_to_try_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(code) == 1
    task = next(task for task in TASKS if task.name == "price_spike")
    csv.write_csv(task.events, tmp_path / "events.csv")
    (tmp_path / "query.tw").write_text(task.recipes[0].query, encoding="utf-8")
    exec(compile(code[0], "README.md", "exec"), {})
    assert re.findall(r"ACME|CHIP|BOLT", capsys.readouterr().out) == ["ACME", "CHIP"]


# ------------------------------------------------------------------------------------------------------ in this process


@each_recipe
def test_pandas(task: Task, recipe: Recipe) -> None:
    events = task.events.to_pandas()
    events["time"] = events["time"].dt.tz_localize(None)
    found = trendweave.query(recipe.query).run(events, type=task.type)
    assert isinstance(found, pd.DataFrame)
    assert as_rows(recipe.columns, found.to_dict("records")) == recipe.rows


@each_recipe
def test_event_by_event(task: Task, recipe: Recipe) -> None:
    session = trendweave.query(recipe.query).push(task.events.schema, type=task.type)
    found = [row for event in task.events.to_pylist() for row in session.send(event)]
    assert as_rows(recipe.columns, found + session.finish().to_pylist()) == recipe.rows


@each_recipe
def test_rows_come_when_time_has_passed(task: Task, recipe: Recipe) -> None:
    """No session needs its end: one event of nobody, much later, brings all rows."""
    session = trendweave.query(recipe.query).push(task.events.schema, type=task.type)
    found = [row for event in [*task.events.to_pylist(), end_of(task)] for row in session.send(event)]
    assert as_rows(recipe.columns, found) == recipe.rows


def end_of(task: Task) -> dict[str, Any]:
    """An event without a key, when every window has closed."""
    last = task.events.to_pylist()[-1]
    nobody = dict.fromkeys(task.events.column_names) | {"time": last["time"] + timedelta(days=60)}
    return nobody | ({"type": last["type"]} if task.type else {})


# ------------------------------------------------------------------------------------------------------------- on Spark


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession) -> dict[str, DataFrame]:
    return {task.name: spark.createDataFrame(task.events) for task in TASKS}


@pytest.mark.spark
@each_recipe
def test_spark_batch(task: Task, recipe: Recipe, on_spark: dict[str, DataFrame]) -> None:
    found = trendweave.query(recipe.query).run(on_spark[task.name], type=task.type)
    assert as_rows(recipe.columns, found.toArrow().to_pylist()) == recipe.rows


@pytest.mark.spark
@pytest.mark.nightly  # it says nothing of this package, only of the page
@pytest.mark.parametrize("task", [task for task in TASKS if task.language == "python"], ids=lambda task: task.name)
def test_what_is_replaced_on_spark(task: Task, on_spark: dict[str, DataFrame]) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    names: dict[str, Any] = {"events": on_spark[task.name], "F": F, "Window": Window}
    exec(compile(task.replaced, f"{task.name}.md", "exec"), names)
    first = task.recipes[0]
    assert as_rows(first.columns, names["rows"].toArrow().to_pylist()) == first.rows


@pytest.fixture(scope="module")
def streamed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Found]]]:
    """What comes out of one stream per recipe. Two run at once, as half of a small stream is waiting."""
    place = tmp_path_factory.mktemp("cookbook")
    with (
        settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB, sql_shuffle_partitions=1, buckets=1),
        ThreadPoolExecutor(2) as threads,
    ):
        yield {
            recipe.name: threads.submit(_from_stream, task, recipe, spark, place / recipe.name)
            for task, recipe in STREAMED
        }


def _from_stream(task: Task, recipe: Recipe, spark: SparkSession, place: Path) -> Found:
    """Two micro-batches, each in the wrong order; the second brings the watermark past everything."""
    files = Files(place / "events")
    half = task.events.num_rows // 2
    end = pa.Table.from_pylist([end_of(task)], schema=task.events.schema)
    for part in (task.events[:half], pa.concat_tables([task.events[half:], end])):
        files.write(part.take(list(reversed(range(part.num_rows)))))
    events = files.stream(spark, spark.createDataFrame(task.events).schema)
    rows = trendweave.query(recipe.query).run(events, type=task.type, watermark="1 second")
    found, _ = run_to_the_end(rows, place / "checkpoint")
    return found.to_pylist()


@pytest.mark.spark
@pytest.mark.parametrize(("task", "recipe"), STREAMED, ids=[recipe.name for _, recipe in STREAMED])
def test_stream(task: Task, recipe: Recipe, streamed: dict[str, Future[Found]]) -> None:
    assert as_rows(recipe.columns, streamed[recipe.name].result()) == recipe.rows
