"""The plan is what runs: every plan fixture is run on a few events, and what the kernels did is held against what
`explain` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from trendweave.kernels import Kernel as KernelCode
from trendweave.kernels import Way as KernelWay
from trendweave.kernels.aggregates import passes, propagate, sliding_sums, state_sums
from trendweave.kernels.aggregates.vectors import EXTREMUM, LATEST_START, SUM
from trendweave.kernels.aggregates.workspace import Ask
from trendweave.kernels.lanes import sums as lane_sums
from trendweave.planning.plan import Kernel, Plan, Way
from trendweave.programs.trends.contiguous import counts as contiguous_counts
from trendweave.programs.trends.contiguous import lists as contiguous_lists
from trendweave.programs.trends.kernel_inputs import KERNELS, WAYS
from trendweave.programs.trends.linked import counting as list_counts

PLANS = sorted((Path(__file__).parent / "fixtures" / "plans").glob("*.txt"))
TEXTS = {"status": "notcovered", "kind": "Pool"}
EVENTS_PER_TYPE = 3
#: The compiled loops, under the names that `explain` gives them.
KERNEL_LOOPS: tuple[tuple[Any, str, str], ...] = (
    (propagate, "propagate_blocks", "blocks"),
    (propagate, "run_plainly", "blocks"),
    (propagate, "propagate_ranked", "ranked blocks"),
    (propagate, "run_few", "few events"),
    (state_sums, "sum_states", "state sums"),
    (lane_sums, "sum_lanes", "lane sums"),
    (sliding_sums, "slide_states", "sliding sums"),
    (sliding_sums, "slide_one_state", "sliding sums"),
    (contiguous_counts, "count_runs", "neighbour sums"),
    (contiguous_lists, "count_runs", "neighbour sums"),
)


def some_events(plan: Plan) -> pa.Table:
    """A few events of every type, one per second, too few for large numbers."""
    types = [columns.type for columns in plan.needed_columns] * EVENTS_PER_TYPE
    names = {path[0] for columns in plan.needed_columns for path in columns.paths} - {"time"}
    columns: dict[str, Any] = {"time": pa.array(range(len(types)), pa.timestamp("s")), "type": types}
    for name in sorted(names):
        columns[name] = [TEXTS.get(name, index % 4) for index in range(len(types))]
    return pa.table(columns)


class Recorder:
    """What went over the events: kernels by what they were asked for, and ways of summing by pair of variables."""

    def __init__(self, plan: Plan, patch: pytest.MonkeyPatch) -> None:
        self.names = [variable.name for variable in plan.variables]
        self.kernels: dict[int, set[str]] = {}
        self.ways: dict[bool, dict[tuple[str, str], set[KernelWay]]] = {True: {}, False: {}}
        self._build = passes.build_program
        patch.setattr(passes, "build_program", self.build)
        for module, name, kernel in KERNEL_LOOPS:
            patch.setattr(module, name, self.record(getattr(module, name), kernel))

    def build(self, template: Any, conditions: Any, selection: Any, exact_sums: bool, *more: Any) -> Any:
        program = self._build(template, conditions, selection, exact_sums, *more)
        for source, target, way in ways_in(program):
            pair = (self.names[template.state_variable[source]], self.names[template.state_variable[target]])
            self.ways[exact_sums].setdefault(pair, set()).add(way)
        return program

    def record(self, loop: Callable[..., Any], kernel: str) -> Callable[..., Any]:
        def recording(*arguments: Any) -> Any:
            kind = next((given.kind for given in arguments if isinstance(given, Ask)), SUM)
            self.kernels.setdefault(kind, set()).add(kernel)
            return loop(*arguments)

        return recording


def ways_in(program: Any) -> Iterator[tuple[int, int, KernelWay]]:
    """(source, target, way) of every transition of a compiled program."""
    states, transitions = program.states, program.transitions
    for target in range(states.variable.size):
        for t in range(states.incoming[target], states.incoming_end[target]):
            yield int(transitions.source[t]), target, KernelWay(program.stores.way[transitions.store[t]])


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
    monkeypatch.setattr(passes, "serves_few", lambda *_: False)
    # Kernels count the trends of a list whose graph has too many edges.
    monkeypatch.setattr(list_counts, "_count_entries", too_many_edges)
    query.run(some_events(query.plan))
    text = query.explain()
    ways = explained_ways(text)
    for exact, place in ((True, 0), (False, 1)):
        for pair, seen in ran.ways[exact].items():
            assert seen == {WAYS[pairs[place]] for pairs in ways[pair]}, pair
    if any(kernel in ("blocks", "ranked blocks") for kinds in ran.kernels.values() for kernel in kinds):
        assert ran.ways[True] or ran.ways[False] or not ways  # a pattern of one event has no transitions
    assert ran.kernels[SUM] == explained_kernels(text, "kernel")
    if EXTREMUM in ran.kernels:
        apart = explained_kernels(text, "MIN and MAX")
        assert ran.kernels[EXTREMUM] == (apart or explained_kernels(text, "kernel"))
    if LATEST_START in ran.kernels:
        apart = explained_kernels(text, "row times") | explained_kernels(text, "negations")
        assert ran.kernels[LATEST_START] == apart


@pytest.mark.parametrize("name", ["stock", "trends", "ranked_extremum"])
def test_blocks_of_few_events_are_explained(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(path for path in PLANS if path.stem == name)
    query = trendweave.query(path.read_text(encoding="utf-8").partition("\n---\n")[0])
    ran = Recorder(query.plan, monkeypatch)
    monkeypatch.setattr(list_counts, "_count_entries", too_many_edges)
    query.run(some_events(query.plan))
    assert set(ran.kernels) <= {SUM, EXTREMUM}
    assert all(kernels == {"few events"} for kernels in ran.kernels.values())
    assert "blocks of few events compare them one by one" in query.explain()


def test_every_way_and_every_kernel_has_a_code() -> None:
    assert set(WAYS) == set(Way)
    assert set(WAYS.values()) == set(KernelWay)
    assert set(KERNELS) == set(Kernel)
    assert set(KERNELS.values()) == set(KernelCode)


def test_fixtures_cover_every_way_and_every_kernel() -> None:
    plans = [trendweave.query(path.read_text(encoding="utf-8").partition("\n---\n")[0]) for path in PLANS]
    ways = {
        way for plan in plans for pairs in explained_ways(plan.explain()).values() for pair in pairs for way in pair
    }
    kernels = set().union(*(explained_kernels(plan.explain(), "kernel") for plan in plans))
    assert ways == set(Way)
    assert kernels == {kernel.value.partition(":")[0] for kernel in Kernel}


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
    assert any(line.startswith("kernel") for line in lines) == ("MEDIAN" in clauses)
