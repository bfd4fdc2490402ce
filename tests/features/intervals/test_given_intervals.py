"""FROM INTERVALS starts from intervals that are there already: a whole table, in process and on Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tests.features.intervals.readings import matches
from tests.features.places import Run

A_BEFORE_B = "FROM INTERVALS PATTERN A before B WITHIN 1 minute"


def intervals(*written: tuple[str, int, int | None], **columns: list[Any]) -> pa.Table:
    names, starts, ends = zip(*written, strict=True)
    table = pa.table({"name": names, "start": starts, "end": pa.array(ends, pa.int64())})
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


def test_rows_are_situations(run: Run) -> None:
    assert matches(run(A_BEFORE_B, intervals(("A", 1, 3), ("B", 5, 7)))) == ["5: A1-3 B5-"]


def test_an_interval_without_an_end_still_runs(run: Run) -> None:
    assert matches(run(A_BEFORE_B, intervals(("A", 1, 3), ("B", 5, None)))) == ["5: A1-3 B5-"]
    assert run(A_BEFORE_B, intervals(("A", 1, None), ("B", 5, 7))) == []


def test_intervals_of_one_name_may_overlap(run: Run) -> None:
    events = intervals(("A", 1, 4), ("A", 2, 3), ("B", 5, 6))
    assert matches(run(A_BEFORE_B, events)) == ["5: A1-4 B5-", "5: A2-3 B5-"]


def test_other_names_of_columns(run: Run) -> None:
    events = intervals(("A", 1, 3), ("B", 5, 7)).rename_columns(["what", "begun", "ended"])
    query = "FROM INTERVALS (begun, ended, what) PATTERN A before B WITHIN 1 minute"
    assert matches(run(query, events)) == ["5: A1-3 B5-"]


def test_definitions_filter(run: Run) -> None:
    events = intervals(("A", 1, 3), ("A", 2, 3), ("B", 5, 7), weight=[1, 5, 0])
    query = "FROM INTERVALS DEFINE A AS weight > 3 PATTERN A before B WITHIN 1 minute"
    assert matches(run(query, events)) == ["5: A2-3 B5-"]
    query = "FROM INTERVALS DEFINE A AT LEAST 2 seconds PATTERN A before B WITHIN 1 minute"
    assert matches(run(query, events)) == ["5: A1-3 B5-"]


def test_partitions(run: Run) -> None:
    events = intervals(("A", 1, 3), ("B", 5, 7), ("B", 6, 7), k=["u", "v", "u"])
    query = "FROM INTERVALS PARTITION BY k PATTERN A before B WITHIN 1 minute"
    assert matches(run(query, events)) == ["6: A1-3 B6-"]
