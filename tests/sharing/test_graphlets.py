"""Queries in one automaton, through the public way: worked examples, keys, measures, early rows, and errors that name
their query."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import ExecutionError
from trendweave.programs.bind import bind
from trendweave.programs.shared.merged import MergedUnit
from trendweave.programs.shared.program import Shared, bind_shared
from trendweave.programs.shared.unit import SharingMetrics
from trendweave.runners.options import Settings
from trendweave.workload import Workload

SHARING = ("auto", "always", "never")
WINDOW = "WITHIN 100 seconds SLIDE 100 seconds"
#: HAMLET, Figure 4: graphlets A1, C2, B3, A4, C5, B6.
NAMES = "a1 a2 c1 b3 b4 b5 b6 a3 a4 c2 c3 c4 b7 b8"


def stream(names: str, **columns: list[Any]) -> pa.Table:
    """`a1 b2`: types, one after the other."""
    kinds = [name[0].upper() for name in names.split()]
    return pa.table({"time": list(range(len(kinds))), "type": kinds, **columns})


def run(workload: Workload, events: pa.Table, sharing: str, **options: Any) -> tuple[pa.Table, SharingMetrics]:
    metrics = trendweave.Metrics()
    return workload.run(events, sharing=sharing, metrics=metrics, **options), metrics.sharing


def assert_as_alone(workload: Workload, events: pa.Table, **options: Any) -> None:
    """All queries are in units of several, and each has the rows that it has alone, in the same order."""
    assert [unit.kind for unit in workload._sharing().units if unit.kind == "alone"] == []
    for sharing in SHARING:
        result, _ = run(workload, events, sharing, **options)
        for name in workload:
            alone = workload[name].run(events, **options)
            assert workload.rows(result, name).to_pylist() == alone.to_pylist(), (name, sharing)


@pytest.mark.parametrize(("sharing", "shared"), [("always", 2), ("never", 0)])
def test_worked_example_of_hamlet(sharing: str, shared: int) -> None:
    """Tables 3 and 4: 132 and 72 trends; the graphlets B3 and B6 are shared, each with one snapshot."""
    workload = trendweave.workload({name: f"RETURN COUNT(*) PATTERN SEQ({name}, B+) {WINDOW}" for name in "AC"})
    result, metrics = run(workload, stream(NAMES), sharing)
    assert [int(count) for count in result.column("count").to_pylist()] == [132, 72]
    assert (metrics.queries, metrics.bursts_shared, metrics.bursts_alone) == (2, shared, 2 - shared)
    assert metrics.snapshots == shared


def test_other_local_conditions_part_inside_a_burst() -> None:
    """HAMLET, Definition 3.11: an event that only one query accepts brings a snapshot at the level of events."""
    events = stream(NAMES, x=list(range(14)))
    patterns = {"A": "B.x >= 0", "C": "B.x != 4"}
    workload = trendweave.workload(
        {name: f"RETURN COUNT(*) PATTERN SEQ({name}, B+) WHERE {test} {WINDOW}" for name, test in patterns.items()}
    )
    assert_as_alone(workload, events)
    _, metrics = run(workload, events, "always")
    assert metrics.bursts_shared == 2
    assert metrics.snapshots > 2


def test_whole_workload_of_a_seq() -> None:
    """Example 6: a tree of common beginnings, and a stretch at the end of Q5."""
    patterns = ["K,L,C,D", "K,L,F", "K,L,C,D,E,G", "K,L,C,D,H,I", "P,F,K,L"]
    workload = trendweave.workload(
        {f"Q{number}": f"RETURN COUNT(*) PATTERN SEQ({pattern}) {WINDOW}" for number, pattern in enumerate(patterns, 1)}
    )
    events = stream("p1 k1 f1 k2 l1 c1 d1 f2 h1 i1 e1 l2 g1 k3 l3 c2 d2 e2 g2 h2 i2")
    assert_as_alone(workload, events)


def test_groups_keys_and_null() -> None:
    """Rows without a key are left out where the key is an equivalence, and are a group where it is not."""
    keys = ["u", "u", None, "u", "v", "u", "v", None, "v", "u", "v", None, "u", "v"]
    events = stream(NAMES, k=keys, x=[1, None, 3, 4, 5, None, 7, 8, 9, 10, 11, 12, 13, None])
    for where, group in (("WHERE [k]", ""), ("WHERE [k]", "GROUP-BY k"), ("", "GROUP-BY k")):
        shown = "k, " if group else ""
        workload = trendweave.workload(
            {
                name: f"RETURN {shown}COUNT(*), SUM(B.x), MAX({name}.x) AS most PATTERN SEQ({name}, B+) "
                f"{where} {group} WITHIN 10 seconds SLIDE {slide} seconds"
                for name, slide in (("A", 5), ("C", 10))
            }
        )
        assert_as_alone(workload, events)


def test_every_aggregate_of_every_type() -> None:
    numbers = [float("nan") if place == 6 else place / 4 for place in range(14)]
    events = stream(NAMES, x=[None, 2, *range(12)], y=numbers).set_column(
        2, "x", pa.array([None, 2, *range(12)], pa.decimal128(10, 2))
    )
    asked = "COUNT(*), COUNT(B), SUM(B.x), AVG(B.x), MIN(B.x), MAX(B.x), SUM(B.y), AVG(B.y), MIN(B.y), MAX(B.y)"
    texts = {
        name: f"RETURN {asked} PATTERN SEQ({name}, B+) WITHIN 8 seconds SLIDE 4 seconds".replace("B.y", f"{other}.y")
        for name, other in (("A", "B"), ("C", "B"))
    }
    for numbers_as in ("decimal", "text"):
        workload = trendweave.workload(texts)
        for sharing in SHARING:
            result, _ = run(workload, events, sharing, numbers=numbers_as)
            for name in workload:
                alone, own = workload[name].run(events, numbers=numbers_as), workload.rows(result, name)
                assert own.schema == alone.schema
                assert repr(own.to_pylist()) == repr(alone.to_pylist())


def test_outputs_having_and_order_are_of_each_query() -> None:
    events = stream(NAMES, k=["u", "v"] * 7, x=list(range(14)))
    within = "WHERE [k] GROUP-BY k"
    window = "WITHIN 7 seconds SLIDE 7 seconds"
    workload = trendweave.workload(
        {
            "plain": f"RETURN k, COUNT(*) AS n PATTERN SEQ(A, B+) {within} {window}",
            "same": f"RETURN k, COUNT(*) AS n PATTERN SEQ(C, B+) {within} {window}",
            "computed": f"RETURN k, COUNT(*) + 1 AS n1 PATTERN SEQ(C, B+) {within} {window}",
            "having": f"RETURN k, COUNT(*) AS n PATTERN SEQ(C, B+) {within} HAVING COUNT(*) > 2 {window}",
            "first": f"RETURN k, COUNT(*) AS n PATTERN SEQ(C, B+) {within} ORDER BY n DESC LIMIT 1 {window}",
        }
    )
    assert_as_alone(workload, events)


def bound(workload: Workload, events: pa.Table) -> Shared:
    programs = {name: bind(workload[name].plan, events.schema, "time", "type", Settings()) for name in workload}
    return bind_shared(programs, workload._sharing())


def test_queries_of_the_same_columns_are_written_at_once() -> None:
    workload = trendweave.workload({name: f"RETURN COUNT(*) PATTERN SEQ({name}, B+) {WINDOW}" for name in "ACDE"})
    (unit,) = bound(workload, stream(NAMES)).units
    assert isinstance(unit, MergedUnit)
    assert [columns.queries for columns in unit.columns] == [(0, 1, 2, 3)]


def test_early_rows() -> None:
    """Current rows of open windows, of queries whose windows are of two kinds."""
    texts = {
        name: f"RETURN COUNT(*) PATTERN SEQ({name}, B+) WITHIN {within} seconds SLIDE {within} seconds"
        for name, within in (("A", 100), ("C", 50))
    }
    events = stream(NAMES)
    program = bound(trendweave.workload(texts), events)
    rows, _ = program.prepare(events)
    steps = program.steps()
    assert steps is not None
    assert steps.looks_at((13, 13), None) == (0, 100)
    assert steps.due((0, 13), {}, None) == 50
    found = pa.Table.from_batches(steps.peek(rows, (13, 13), None)).to_pylist()
    assert [(row["query"], row["window_end"], int(row["count"])) for row in found] == [("A", 100, 132), ("C", 50, 72)]


@pytest.mark.parametrize("in_front", ["A", "C"])
def test_a_number_that_does_not_fit_names_its_query(in_front: str) -> None:
    """2**200 trends do not fit a decimal; the other query has none."""
    count = 200
    events = stream(" ".join([f"{in_front.lower()}1", *["b1"] * count]))
    workload = trendweave.workload(
        {name: f"RETURN COUNT(*) PATTERN SEQ({name}, B+) WITHIN 9 minutes SLIDE 9 minutes" for name in "AC"}
    )
    with pytest.raises(ExecutionError) as caught:
        workload.run(events)
    assert [problem.query for problem in caught.value.problems] == [in_front]
    assert caught.value.problems[0].code == "TW402"
    assert workload.run(events, numbers="text").column("count").to_pylist() == [str(2**count - 1)]


def test_a_sum_beyond_floats_names_its_query() -> None:
    events = stream(NAMES, y=[1e308] * 14)
    texts = {
        "small": f"RETURN SUM(A.y) AS s PATTERN SEQ(A, NOT D, B) WHERE A.y < 0 {WINDOW}",
        "large": f"RETURN SUM(B.y) AS s PATTERN SEQ(C, B+) {WINDOW}",
        "other": f"RETURN SUM(B.y) AS s PATTERN SEQ(D, B+) {WINDOW}",
    }
    with pytest.raises(ExecutionError) as caught:
        trendweave.workload(texts).run(events)
    assert [problem.query for problem in caught.value.problems] == ["large"]


def test_a_count_too_large_for_memory_is_looked_for_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large together may be small enough alone."""
    from trendweave.kernels import CountTooLargeError
    from trendweave.programs.shared import merged

    aggregate = merged.aggregate_shared

    def refuse(rows: Any, template: Any, *given: Any, **options: Any) -> Any:
        if template.queries > 1:
            raise CountTooLargeError("more than memory holds")
        return aggregate(rows, template, *given, **options)

    workload = trendweave.workload({name: f"RETURN COUNT(*) PATTERN SEQ({name}, B+) {WINDOW}" for name in "AC"})
    monkeypatch.setattr(merged, "aggregate_shared", refuse)
    assert [int(count) for count in workload.run(stream(NAMES)).column("count").to_pylist()] == [132, 72]
