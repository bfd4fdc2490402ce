"""The plan is what runs: every plan fixture is run on a few events, and what the kernels did is held against what
`explain` says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from trendweave.kernels import Way as KernelWay
from trendweave.kernels.aggregates import passes
from trendweave.kernels.loops import by_value, fold
from trendweave.kernels.loops.vectors import Numbers
from trendweave.planning.plan import Kernel, Plan, Way
from trendweave.programs.trends.kernel_inputs import WAYS
from trendweave.programs.trends.lists import contiguous as contiguous_lists
from trendweave.programs.trends.lists import walking as list_counts

PLANS = sorted((Path(__file__).parent / "fixtures" / "plans").glob("*.txt"))
TEXTS = {"status": "notcovered", "kind": "Pool"}
EVENTS_PER_TYPE = 3
SUM, EXTREMUM, LATEST_START = "sums", "extrema", "latest starts"
#: What a pass is for, by the numbers of its loop.
PASSES = {Numbers.LARGEST: EXTREMUM, Numbers.LATEST: LATEST_START}
#: Loops that no pass runs, under the names that `explain` gives them.
OTHER_LOOPS: tuple[tuple[Any, str, str], ...] = ((contiguous_lists, "write_count", "neighbours"),)


def some_events(plan: Plan) -> pa.Table:
    """A few events of every type, one per second, too few for large numbers."""
    types = [columns.type for columns in plan.needed_columns] * EVENTS_PER_TYPE
    names = {path[0] for columns in plan.needed_columns for path in columns.paths} - {"time"}
    columns: dict[str, Any] = {"time": pa.array(range(len(types)), pa.timestamp("s")), "type": types}
    for name in sorted(names):
        columns[name] = [TEXTS.get(name, index % 4) for index in range(len(types))]
    return pa.table(columns)


class Recorder:
    """What went over the events: loops by what they were asked for, and methods of summing by pair of variables."""

    def __init__(self, plan: Plan, patch: pytest.MonkeyPatch) -> None:
        self.names = [variable.name for variable in plan.variables]
        self.kernels: dict[str, set[str]] = {}
        self.ways: dict[bool, dict[tuple[str, str], set[KernelWay]]] = {True: {}, False: {}}
        self._kind = SUM
        self._choose, self._run, self._run_loop = passes.choose_methods, passes.Engine.run, passes.run_loop
        patch.setattr(passes, "choose_methods", self.choose)
        patch.setattr(passes.Engine, "run", lambda engine, *arguments, **named: self.run(engine, *arguments, **named))
        for module in (passes, by_value, fold):
            patch.setattr(module, "run_loop", self.run_loop)
        for module, name, kernel in OTHER_LOOPS:
            patch.setattr(module, name, self.record(getattr(module, name), kernel))

    def choose(self, template: Any, conditions: Any, selection: Any, exact_sums: bool) -> Any:
        methods = self._choose(template, conditions, selection, exact_sums)
        for source, target, method in zip(template.source, template.target, methods, strict=True):
            pair = (self.names[template.state_variable[source]], self.names[template.state_variable[target]])
            self.ways[exact_sums].setdefault(pair, set()).add(method)
        return methods

    def run(
        self, engine: Any, blocks: Any, values: Any, states: Any, numbers: Numbers, *more: Any, **named: Any
    ) -> Any:
        self._kind = PASSES.get(numbers, SUM)
        try:
            return self._run(engine, blocks, values, states, numbers, *more, **named)
        finally:
            self._kind = SUM

    def run_loop(self, name: str, *more: Any) -> None:
        self.kernels.setdefault(self._kind, set()).add(name)
        if name == "apply":  # to what was folded before
            self.kernels[self._kind].discard("fold")
        self._run_loop(name, *more)

    def record(self, loop: Callable[..., Any], kernel: str) -> Callable[..., Any]:
        def recording(*arguments: Any) -> Any:
            self.kernels.setdefault(SUM, set()).add(kernel)
            return loop(*arguments)

        return recording


def too_many_edges(*_: object) -> None:
    raise list_counts.NotCountedError


def explained_kernels(text: str, label: str) -> set[str]:
    lines = [line[13:] for line in text.splitlines() if line[:13].strip() == label]
    return {line.partition(":")[0] for line in lines}


def explained_ways(text: str) -> dict[tuple[str, str], set[tuple[Way, Way]]]:
    """Per pair of variables the ways for whole numbers and for others, as the tables of transitions print them."""
    ways: dict[tuple[str, str], set[tuple[Way, Way]]] = {}
    columns = [0, 0, 0]
    for line in text.splitlines():
        if line.startswith("  transition  "):
            columns = [line.index(title) for title in ("transition", "negation", "sum method")]
            end = line.index("cost")
        elif " -> " in line[: columns[1]]:
            pair = line[: columns[1]].strip().split(" -> ")
            named = [Way(part) for part in line[columns[2] : end].strip().split(", or ")]
            key = (pair[0].partition("#")[0], pair[1].partition("#")[0])
            ways.setdefault(key, set()).add((named[0], named[-1]))
    return ways


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_explained_ways_and_kernels_are_those_that_ran(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = trendweave.query(path.read_text(encoding="utf-8").partition("\n---\n")[0])
    ran = Recorder(query.plan, monkeypatch)
    # Aggregates count the trends of a list whose graph has too many edges.
    monkeypatch.setattr(list_counts, "_count_entries", too_many_edges)
    query.run(some_events(query.plan))
    text = query.explain()
    ways = explained_ways(text)
    for exact, place in ((True, 0), (False, 1)):
        for pair, seen in ran.ways[exact].items():
            assert seen == {WAYS[pairs[place]] for pairs in ways[pair]}, pair
    if any("propagate" in kinds for kinds in ran.kernels.values()):
        assert ran.ways[True] or ran.ways[False] or not ways  # a pattern of one event has no transitions
    explained = explained_kernels(text, "large graph") or explained_kernels(text, "loop")
    assert ran.kernels.get(SUM, explained) == explained  # nothing runs where no segment has events that can be read
    if EXTREMUM in ran.kernels:
        apart = explained_kernels(text, "MIN and MAX")
        assert ran.kernels[EXTREMUM] == (apart or explained_kernels(text, "loop"))
    if LATEST_START in ran.kernels:
        apart = explained_kernels(text, "row times") | explained_kernels(text, "negations")
        assert ran.kernels[LATEST_START] == apart


def test_every_way_has_a_code() -> None:
    assert set(WAYS) == set(Way)
    assert set(WAYS.values()) == set(KernelWay)


def test_fixtures_cover_every_way_and_every_kernel() -> None:
    plans = [trendweave.query(path.read_text(encoding="utf-8").partition("\n---\n")[0]) for path in PLANS]
    ways = {
        way for plan in plans for pairs in explained_ways(plan.explain()).values() for pair in pairs for way in pair
    }
    texts = [plan.explain() for plan in plans]
    kernels = set().union(*(explained_kernels(text, label) for text in texts for label in ("loop", "large graph")))
    assert ways == set(Way)
    assert kernels == {"links"} | {kernel.value.partition(":")[0] for kernel in Kernel}


def test_extrema_after_a_negation_are_explained_as_scanned() -> None:
    text = trendweave.query("RETURN MIN(A.x) PATTERN SEQ(A+, NOT C, B) WHERE A.x < B.x").explain()
    assert explained_ways(text)["A", "B"] == {(Way.SUMS_OVER_RANKS, Way.SCAN)}


@pytest.mark.parametrize(
    ("clauses", "cost"),
    [
        ("AFTER MATCH SKIP PAST LAST EVENT", "grows with the events of a key, however many trends there are"),
        ("LONGEST PER START", "grows with the events of a key and of the trends that are taken, which overlap"),
        (
            "WHERE SUM(A.x) > 3 AFTER MATCH SKIP PAST LAST EVENT",
            "grows with the events of a key and of the trends that are tested: one of each beginning, and its others "
            "only where that fails; at worst all trends",
        ),
        (
            "WHERE MEDIAN(A.x) > 3 AFTER MATCH SKIP PAST LAST EVENT",
            "every trend is built and looked at: at least the square of the events of a key and window",
        ),
    ],
)
@pytest.mark.parametrize("semantics", ["skip-till-next-match", "contiguous"])
def test_what_taking_matches_costs(semantics: str, clauses: str, cost: str) -> None:
    lines = trendweave.query(f"RETURN TRENDS PATTERN A+ SEMANTICS {semantics} {clauses}").explain().split("\n")
    assert f"cost         {cost}" in lines
    assert any(line.startswith("loop") for line in lines) == ("MEDIAN" in clauses)
