"""All cores give the rows of one, for queries of every kind; limits hold for the whole run, and errors are the same."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import trendweave
from tests.features.places import dealing_everything_out
from trendweave.errors import ExecutionError, Problem, TrendweaveError
from trendweave.programs.trends.program import TrendLists
from trendweave.runners.threads import run as threads
from trendweave.runners.threads.dealing import Deal

ROWS = 400
_DRAW = np.random.default_rng(20)
EVENTS = pa.table(
    {
        "time": pa.array(_DRAW.integers(0, 300, ROWS) * 1_000_000, pa.timestamp("us")),  # many ties
        "type": pa.array(_DRAW.choice(["A", "B", "C"], ROWS)),
        "k": pa.array(_DRAW.integers(0, 7, ROWS), mask=_DRAW.random(ROWS) < 0.05),
        "g": pa.array(_DRAW.choice(["x", "y", "z"], ROWS)),
        "v": pa.array(_DRAW.integers(0, 50, ROWS), mask=_DRAW.random(ROWS) < 0.05),
        "f": pa.array(_DRAW.random(ROWS)),
    }
)
WINDOW = "WITHIN 40 seconds SLIDE 10 seconds"
#: Queries, and whether they are dealt out by keys, by time, or not at all.
QUERIES = {
    "keys, no window": ("RETURN k, COUNT(*) PATTERN SEQ(A, B, C) WHERE [k] GROUP-BY k", "keys"),
    "keys of a coarser group": ("RETURN g, COUNT(*), SUM(A.v) PATTERN SEQ(A, B) WHERE [k] AND [g] GROUP-BY g", "keys"),
    "keys, windows": (f"RETURN k, COUNT(*), MIN(A.v) PATTERN A+ WHERE [k] GROUP-BY k {WINDOW}", "keys"),
    "keys of no group": (f"RETURN COUNT(*), MAX(A.f) PATTERN SEQ(A, B) WHERE [k] {WINDOW}", "keys"),
    "comparison": (f"RETURN k, COUNT(*) PATTERN A+ WHERE [k] AND A.v < NEXT(A).v GROUP-BY k {WINDOW}", "keys"),
    "moving window": ("RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN 20 seconds", "keys"),
    "sessions": ("RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k WITHIN SESSION 15 seconds", "keys"),
    "no keys, windows": (f"RETURN COUNT(*), SUM(B.v) PATTERN SEQ(A, B) {WINDOW}", "time"),
    "no keys, tumbling": ("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 20 seconds SLIDE 20 seconds", "time"),
    "no keys, moving": ("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 seconds", "time"),
    "no keys, no window": ("RETURN COUNT(*) PATTERN SEQ(A, B)", "one core"),
    "HAVING": (f"RETURN k, COUNT(*) AS n PATTERN A+ WHERE [k] GROUP-BY k {WINDOW} HAVING n > 2", "keys"),
    "ORDER BY": (f"RETURN k, COUNT(*) AS n PATTERN A+ WHERE [k] GROUP-BY k {WINDOW} ORDER BY n", "one core"),
    "ORDER BY LIMIT": (
        f"RETURN k, COUNT(*) AS n PATTERN A+ WHERE [k] GROUP-BY k {WINDOW} ORDER BY n DESC LIMIT 2",
        "keys",
    ),
    "distinct": (f"RETURN COUNT(DISTINCT A.g) PATTERN SEQ(A, B) WHERE [k] {WINDOW}", "keys"),
    "trends": ("RETURN TRENDS PATTERN SEQ(A, B) WHERE [k] WITHIN 30 seconds", "keys"),
    "trends, no keys": ("RETURN TRENDS PATTERN SEQ(A, B) WHERE A.v < B.v WITHIN 5 seconds", "time"),
    "each": (f"RETURN EACH k, COUNT(B), LAST(B.v) PATTERN SEQ(A, B+, C) WHERE [k] AND B.v > 30 {WINDOW}", "keys"),
    "each with a condition": (
        f"RETURN EACH COUNT(B) PATTERN SEQ(A, B+) WHERE [k] AND SUM(B.v) > 60 AND B.v > 30 {WINDOW}",
        "keys",
    ),
    "each, HAVING": (f"RETURN EACH COUNT(B) AS n PATTERN SEQ(A, B) WHERE [k] {WINDOW} HAVING n > 0", "keys"),
    "limit": (f"RETURN TRENDS PATTERN SEQ(A, B) WHERE [k] GROUP-BY k {WINDOW} LIMIT 2", "keys"),
    "longest": (f"RETURN TRENDS PATTERN SEQ(A, B+) WHERE [k] AND B.v > 40 GROUP-BY k {WINDOW} LONGEST 1", "keys"),
    "sample": (f"RETURN TRENDS PATTERN SEQ(A, B) WHERE [k] GROUP-BY k {WINDOW} SAMPLE 2 SEED 5", "keys"),
    "complete": (f"RETURN COMPLETE TRENDS PATTERN A+ WHERE [k] AND A.v < NEXT(A).v {WINDOW}", "keys"),
    "contiguous": (f"RETURN EACH COUNT(A) PATTERN A+ WHERE [k] SEMANTICS contiguous {WINDOW}", "keys"),
    "intervals": (
        "FROM A DEFINE X AS v > 20, Y AS v < 30 PARTITION BY k PATTERN X overlaps; before Y WITHIN 60 seconds",
        "keys",
    ),
    "intervals, no keys": ("FROM A DEFINE X AS v > 20, Y AS v < 30 PATTERN X before Y WITHIN 20 seconds", "time"),
    "situations, no keys": ("FROM A DEFINE X AS v > 20 RETURN SITUATIONS", "one core"),
    "situations": ("FROM A DEFINE X AS v > 20 PARTITION BY k RETURN SITUATIONS", "keys"),
    "in situations": (
        f"FROM A DEFINE X AS v > 20 RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] AND A DURING X GROUP-BY k {WINDOW}",
        "keys",
    ),
}


class Watched:
    """How rows were dealt out."""

    def __init__(self) -> None:
        self.dealt: list[Deal | None] = []

    @property
    def way(self) -> str:
        known = [one for one in self.dealt if one is not None]
        if not known:
            return "one core"
        assert len(known[-1].parts) > 1
        if all("_deal_runs" in part.__qualname__ for part in known[-1].parts):
            return "runs"
        return "keys" if all("deal_keys" in part.__qualname__ for part in known[-1].parts) else "time"


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """Rows are dealt out however few they are, and the test sees how."""
    seen, real = Watched(), threads.deal

    def deal(*arguments: Any) -> Deal | None:
        seen.dealt.append(real(*arguments))
        return seen.dealt[-1]

    monkeypatch.setattr(threads, "deal", deal)
    with dealing_everything_out():
        yield seen


def in_some_order(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


@pytest.mark.parametrize("name", QUERIES)
def test_threads_give_the_rows_of_one_core(name: str, watched: Watched) -> None:
    text, way = QUERIES[name]
    query = trendweave.query(text)
    wanted, found = query.run(EVENTS), query.run(EVENTS, device="threads")
    assert wanted.num_rows > 0, "a query without rows tests nothing"
    assert found.schema.equals(wanted.schema, check_metadata=True)
    assert in_some_order(found) == in_some_order(wanted)
    assert watched.way == way
    if (query.kind == "intervals" and "SITUATIONS" not in text) or (
        "SLIDE" in text and "TRENDS" not in text and "EACH" not in text
    ):
        assert found.column(0).equals(wanted.column(0)), "windows stand in their order, and matches in that of time"


@pytest.mark.parametrize("name", ["keys, windows", "no keys, windows", "trends", "intervals", "in situations"])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_rows(name: str, rows: int, watched: Watched) -> None:
    query = trendweave.query(QUERIES[name][0])
    events = EVENTS.slice(5, rows)
    assert in_some_order(query.run(events, device="threads")) == in_some_order(query.run(events))


def test_one_key_is_cut_by_time(watched: Watched) -> None:
    query = trendweave.query(QUERIES["keys, windows"][0])
    events = EVENTS.set_column(2, "k", pa.array(np.zeros(ROWS, np.int64)))
    assert in_some_order(query.run(events, device="threads")) == in_some_order(query.run(events))
    assert watched.way == "time"


def test_one_key_without_a_window_stays_on_one_core(watched: Watched) -> None:
    query = trendweave.query(QUERIES["keys, no window"][0])
    events = EVENTS.set_column(2, "k", pa.array(np.zeros(ROWS, np.int64)))
    assert query.run(events, device="threads").equals(query.run(events))
    assert watched.dealt == [None]


@pytest.mark.parametrize("sorted_by", ["k", "type", "time"])
def test_rows_that_stand_by_key_are_cut_between_keys(
    sorted_by: str, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = trendweave.query(QUERIES["keys, windows"][0])
    events = EVENTS.filter(pc.is_valid(EVENTS.column("k"))).sort_by([(sorted_by, "ascending"), ("time", "ascending")])
    wanted = query.run(events)
    found = query.run(events, device="threads")
    assert in_some_order(found) == in_some_order(wanted)
    assert watched.way == ("runs" if sorted_by == "k" else "keys")
    if sorted_by == "k":
        twice = pa.concat_tables([events, events])  # each key stands in two places
        assert in_some_order(query.run(twice, device="threads")) == in_some_order(query.run(twice))
        assert watched.way == "keys"


@pytest.mark.parametrize("numbers", ["decimal", "int64", "text", "float64", "log2"])
def test_numbers_of_any_kind(numbers: Any, watched: Watched) -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN A+ WHERE [k]")
    wanted = query.run(EVENTS, numbers=numbers)
    assert query.run(EVENTS, numbers=numbers, device="threads").equals(wanted)
    assert watched.way == "keys"


def test_counts_are_exact_however_large(watched: Watched) -> None:
    events = pa.table({"time": list(range(1000)) * 2, "type": ["A"] * 2000, "k": [1] * 1000 + [2] * 1000})
    found = trendweave.query("RETURN COUNT(*) PATTERN A+ WHERE [k]").run(events, numbers="text", device="threads")
    assert found.column("count").to_pylist() == [str(2 * (2**1000 - 1))]
    assert watched.way == "runs"


# Limits and errors


@pytest.mark.parametrize("name", ["trends", "trends, no keys", "each with a condition"])
def test_the_limit_of_trends_holds_for_all_threads_together(name: str, watched: Watched) -> None:
    query = trendweave.query(QUERIES[name][0])
    number = query.run(EVENTS).num_rows
    assert query.run(EVENTS, device="threads", max_trends=number).num_rows == number
    for asked in (query.run, lambda *given, **options: list(query.iter(*given, **options))):
        told = []
        for device in ("cpu", "threads"):
            with pytest.raises(ExecutionError, match="TW412") as caught:
                asked(EVENTS, device=cast("Any", device), max_trends=number - 1)
            told.append(str(caught.value))
        assert told[0] == told[1]


def test_a_part_that_needs_too_much_memory_is_left_to_one_core(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = trendweave.query(QUERIES["trends"][0])
    wanted = query.run(EVENTS)

    def fail(program: Any, parts: int) -> Any:
        raise ExecutionError([Problem("TW413", "trends need more memory than allowed", "give more")])

    monkeypatch.setattr(TrendLists, "for_part", fail)
    assert query.run(EVENTS, device="threads").equals(wanted)


def test_memory_is_shared_out() -> None:
    from trendweave.programs.bind import bind
    from trendweave.runners.options import Settings

    plan = trendweave.query(QUERIES["trends"][0]).plan
    program = bind(plan, EVENTS.schema, "time", "type", Settings())
    part = program.for_part(4)
    assert isinstance(program, TrendLists)
    assert isinstance(part, TrendLists)
    assert part.detection.memory == program.detection.memory // 4
    assert part.detection.max_trends == program.detection.max_trends


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("RETURN k, SUM(A.w) PATTERN A+ WHERE [k] GROUP-BY k", {}),
        ("RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k", {"numbers": "int64"}),
    ],
    ids=["sum beyond floats", "count beyond 64 bits"],
)
def test_errors_are_those_of_one_core(text: str, options: dict[str, Any], watched: Watched) -> None:
    events = pa.table(
        {"time": list(range(100)) * 2, "type": ["A"] * 200, "k": [1] * 100 + [2] * 100, "w": [1e308] * 200}
    )
    told = []
    for device in ("cpu", "threads"):
        with pytest.raises(TrendweaveError) as caught:
            trendweave.query(text).run(events, device=cast("Any", device), **options)
        told.append((type(caught.value), str(caught.value)))
    assert told[0] == told[1]
    assert watched.dealt, "threads have tried"


def test_dropped_rows_are_counted_and_told_once(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    times = [None, None, *EVENTS.column("time").to_pylist()[2:]]
    events = EVENTS.set_column(0, "time", pa.array(times, pa.timestamp("us")))
    query = trendweave.query(QUERIES["keys, windows"][0])
    with caplog.at_level(logging.WARNING, "trendweave"):
        found = query.run(events, device="threads")
    assert [record.getMessage() for record in caplog.records] == [
        "dropped 2 rows without a time and 0 without a type, of 400"
    ]
    assert found.schema.metadata == query.run(events).schema.metadata


# Batch by batch


def test_batches_come_one_by_one(watched: Watched) -> None:
    query = trendweave.query(QUERIES["trends"][0])
    batches = query.iter(EVENTS, device="threads")
    assert batches.trends == query.iter(EVENTS).trends
    first = next(batches)
    rest = list(batches)
    assert len(rest) > 0
    assert in_some_order(pa.Table.from_batches([first, *rest])) == in_some_order(query.run(EVENTS))


def test_batches_that_nobody_reads_end_with_their_threads(watched: Watched) -> None:
    batches = trendweave.query(QUERIES["trends"][0]).iter(EVENTS, device="threads")
    next(batches)
    batches._batches.close()  # type: ignore[attr-defined]
    with pytest.raises(StopIteration):
        next(batches)


# Workloads


def test_workloads_of_aggregates(watched: Watched) -> None:
    queries = {
        "first": f"RETURN k, COUNT(*) PATTERN SEQ(A, B+) WHERE [k] GROUP-BY k {WINDOW}",
        "second": f"RETURN COUNT(*), SUM(C.v) PATTERN SEQ(B+, C) WHERE [k] {WINDOW}",
    }
    workload = trendweave.workload(queries)
    here, there = trendweave.Metrics(), trendweave.Metrics()
    wanted = workload.run(EVENTS, metrics=here)
    found = workload.run(EVENTS, metrics=there, device="threads")
    assert in_some_order(found) == in_some_order(wanted)
    assert watched.way == "keys"
    assert there.sharing.queries == here.sharing.queries
    assert there.sharing.bursts_shared == here.sharing.bursts_shared


def test_workloads_without_keys_in_common_are_split_by_time(watched: Watched) -> None:
    workload = trendweave.workload(
        {
            "first": f"RETURN k, COUNT(*) PATTERN SEQ(A, B+) WHERE [k] GROUP-BY k {WINDOW}",
            "second": f"RETURN COUNT(*) AS n PATTERN SEQ(B, C) WHERE [v] {WINDOW}",
        }
    )
    assert in_some_order(workload.run(EVENTS, device="threads")) == in_some_order(workload.run(EVENTS))
    assert watched.way == "time"


def test_workloads_that_show_trends_stay_on_one_core(watched: Watched) -> None:
    workload = trendweave.workload({"a": QUERIES["trends"][0], "b": QUERIES["keys, windows"][0]})
    assert workload.run(EVENTS, device="threads").equals(workload.run(EVENTS))
    assert watched.way == "one core"


# Tasks of Spark, and stores


@pytest.mark.parametrize("name", ["keys, windows", "keys of no group", "trends", "no keys, windows"])
def test_a_task_deals_out_its_keys(name: str, watched: Watched) -> None:
    pytest.importorskip("pyspark")
    from trendweave.programs.bind import bind
    from trendweave.programs.program import Scope
    from trendweave.runners.options import Settings
    from trendweave.runners.spark.tasks import TableTask

    program = bind(trendweave.query(QUERIES[name][0]).plan, EVENTS.schema, "time", "type", Settings())
    rows, _ = program.prepare(EVENTS)
    found = {}
    for device in ("cpu", "threads"):
        task = TableTask(program, Scope(), program.partials() is not None, adopts=False, device=device)
        made = pa.Table.from_batches(task(rows))
        parts = program.partials()
        found[device] = in_some_order(made if parts is None else parts.merge(made, Scope()))
    assert found["threads"] == found["cpu"]


def test_stored_events(watched: Watched, tmp_path: Any) -> None:
    store = trendweave.EventStore.create(str(tmp_path / "store"), EVENTS.schema, time="time", type="type")
    store.append(EVENTS)
    for name in ("keys, windows", "trends"):
        query = trendweave.query(QUERIES[name][0])
        assert in_some_order(query.run(store, device="threads")) == in_some_order(query.run(EVENTS))
        assert watched.way == "keys"
