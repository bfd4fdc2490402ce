"""A bar for the tasks of an action on a result, by Spark's own status tracker."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import trendweave
from trendweave.progress.displays import Seen
from trendweave.runners.spark import progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.nightly]


def linger(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    time.sleep(0.5)
    yield from batches


def test_tasks_are_shown_while_an_action_runs(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Seen] = []
    closed: list[bool] = []

    class Noted:
        def update(self, one: Seen) -> None:
            seen.append(one)

        def close(self) -> None:
            closed.append(True)

    monkeypatch.setattr(progress, "choose_display", lambda wanted: None if wanted is False else Noted)
    # On a terminal this session has Spark's own bar.
    monkeypatch.setattr(progress, "is_notebook", lambda: True)
    monkeypatch.setattr(progress, "show_tasks", partial(progress.show_tasks, patience=0.0, idle=10.0, pause=0.05))
    events = (
        spark.range(0, 4, 1, 4).selectExpr("id AS time", "'A' AS type").mapInArrow(linger, "time long, type string")
    )
    query = trendweave.query("RETURN COUNT(*) PATTERN A a WITHIN 10 seconds SLIDE 10 seconds")
    query.run(events, numbers="int64", progress=False).collect()
    assert not progress._RUNNING
    assert query.run(events, numbers="int64").collect()[0]["count"] == 4
    assert progress._RUNNING
    assert any(re.fullmatch(r"Spark: \d of \d tasks", one.what) and (one.share or 0) > 0 for one in seen)
    end = time.monotonic() + 60
    while not closed and time.monotonic() < end:
        time.sleep(0.05)
    assert closed
