"""Orders of evaluation: what they cost, that they follow the data, and that no order and no block changes a match."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

import trendweave
from tests.intervals.engines import as_table, planned
from tests.profiles import examples
from tests.reference.intervals.query import Query
from tests.reference.intervals.streams import queries_and_events
from trendweave.errors import ExecutionError
from trendweave.planning.interval_plan import ANY, Statistics, evaluation_order, first_selectivity, mask_of, order_cost
from trendweave.programs.intervals.matching import Matcher
from trendweave.programs.intervals.program import IntervalPiece, bind_intervals
from trendweave.programs.intervals.situations import Situations


def plan_of(pattern: str, names: str = "ABC") -> Any:
    defined = ", ".join(f"{name} AS {name.lower()}" for name in names)
    return trendweave.query(f"FROM X DEFINE {defined} PATTERN {pattern} WITHIN 5000 seconds").plan


def test_table_5_3_first_selectivities() -> None:
    assert first_selectivity(mask_of(["before"])) == 0.445
    assert first_selectivity(mask_of(["equals"])) == 0.0006
    assert first_selectivity(ANY) == pytest.approx(1.0, abs=0.01)


def test_section_5_7_4_first_plans() -> None:
    # Q1: the rare relation between B and C comes first; Q2: the two overlaps come before the before.
    q1 = plan_of("A overlaps B AND A overlaps C AND B starts C")
    assert set(evaluation_order(q1, Statistics.of_plan(q1))[:2]) == {1, 2}
    q2 = plan_of("A overlaps B AND A before C AND B overlaps C")
    assert evaluation_order(q2, Statistics.of_plan(q2))[1] == 1


def test_rare_situations_come_first() -> None:
    plan = plan_of("A before B AND A before C AND B before C")
    assert evaluation_order(plan, Statistics.of_plan(plan, [1.0, 50.0, 50.0]))[0] == 0
    assert evaluation_order(plan, Statistics.of_plan(plan, [50.0, 1.0, 50.0]))[0] == 1


@given(hs.lists(hs.floats(0.1, 1000), min_size=4, max_size=4))
def test_the_cheapest_order_is_chosen(sizes: list[float]) -> None:
    plan = plan_of("A overlaps B AND B before C AND C meets D", "ABCD")
    statistics = Statistics.of_plan(plan, sizes)
    chosen = evaluation_order(plan, statistics)
    connected = [
        order
        for order in itertools.permutations(range(4))
        if all(any(plan.allowed[order[i]][j] != ANY for j in order[:i]) for i in range(1, 4))
    ]
    assert chosen in connected
    assert order_cost(statistics, chosen) == pytest.approx(min(order_cost(statistics, order) for order in connected))


def test_no_cross_product_while_a_constraint_can_be_used() -> None:
    # C and D are not related to A and B; each half is finished before the other is begun.
    plan = plan_of("A starts B AND C overlaps D", "ABCD")
    order = evaluation_order(plan, Statistics.of_plan(plan, [10.0, 1000.0, 10.0, 1000.0]))
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset((0, 1)), frozenset((2, 3))}


def test_many_names_are_ordered_step_by_step() -> None:
    names = "ABCDEFGHIJ"
    pattern = " AND ".join(f"{a} meets {b}" for a, b in itertools.pairwise(names))
    plan = plan_of(pattern, names)
    assert sorted(evaluation_order(plan, Statistics.of_plan(plan))) == list(range(10))


def sorted_matches(matcher: Matcher, situations: Situations) -> np.ndarray:
    found = matcher.all_matches(situations)
    rows = np.column_stack([found.moment, found.situation])
    return rows[np.lexsort(rows.T)]


@examples(100)
@given(queries_and_events(), hs.data())
def test_no_order_changes_the_matches(drawn: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    query, events = drawn
    engine = planned(query)
    assume(engine is not None)
    assume(not query.return_situations)
    table = as_table(query, events)
    bound = bind_intervals(engine.plan, table.schema, "time", None)
    situations = IntervalPiece(bound, bound.prepare(table)[0]).usable
    expected = sorted_matches(Matcher(engine.plan, bound.lengths.within), situations)
    order = tuple(data.draw(hs.permutations(range(len(engine.plan.situations)))))
    found = sorted_matches(Matcher(engine.plan, bound.lengths.within, fixed=order), situations)
    assert np.array_equal(expected, found)


def test_blocks_give_the_matches_of_one_join(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    events = pa.table({"time": np.arange(3000)} | {name: draw.random(3000) < 0.3 for name in "abc"})
    query = trendweave.query(
        "FROM X DEFINE A AS a, B AS b, C AS c "
        "PATTERN A before; overlaps B AND B before; meets; during C WITHIN 30 seconds"
    )
    expected = query.run(events)
    monkeypatch.setattr("trendweave.programs.intervals.matching.BLOCK", 40)
    monkeypatch.setattr("trendweave.programs.intervals.matching._WINDOWS", 1)
    assert expected.num_rows > 1000
    assert query.run(events).equals(expected)


@pytest.mark.parametrize(
    ("rest", "limit", "ways"),
    [
        ("", "MOST_SHOWN", "add WITHIN, add constraints, or count matches with COUNT(*) EVERY"),
        ("WITHIN 1 hour", "MOST_SHOWN", "use a shorter WITHIN, add constraints, or count matches with COUNT(*) EVERY"),
        ("WITHIN 1 hour EVERY 1 hour RETURN COUNT(*)", "MOST_COUNTED", "use a shorter WITHIN or add constraints"),
    ],
)
def test_too_many_matches_are_refused(rest: str, limit: str, ways: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 + 9 + ... + 1 matches; blocks are small, so it takes all of them together to be too many."""
    time = np.arange(40)
    events = pa.table({"time": time, "a": time % 4 == 0, "b": time % 4 == 2})
    query = trendweave.query(f"FROM X DEFINE A AS a, B AS b PATTERN A before B {rest}")
    monkeypatch.setattr("trendweave.programs.intervals.matching.BLOCK", 5)
    monkeypatch.setattr(f"trendweave.programs.intervals.matching.{limit}", 55)
    assert query.run(events).num_rows > 0
    monkeypatch.setattr(f"trendweave.programs.intervals.matching.{limit}", 54)
    with pytest.raises(ExecutionError) as refused:
        query.run(events)
    (problem,) = refused.value.problems
    assert (problem.code, problem.message, problem.hint) == ("TW451", "the pattern has more than 54 matches", ways)


def test_the_order_follows_rates_that_change() -> None:
    """The rare kind changes; the moving averages see it, and the order begins with the rare one."""
    parts = []
    for rare in ("a", "b"):
        columns = {"time": np.arange(len(parts) * 200_000, (len(parts) + 1) * 200_000)}
        for name in "abc":
            gap = 1000 if name == rare else 20
            columns[name] = columns["time"] % gap < 5
        parts.append(pa.table(columns))
    events = pa.concat_tables(parts)
    query = trendweave.query(
        "FROM X DEFINE A AS a, B AS b, C AS c PATTERN A before B AND A before C AND B before C WITHIN 500 seconds"
    )
    bound = bind_intervals(query.plan, events.schema, "time", None)
    situations = IntervalPiece(bound, bound.prepare(events)[0]).usable
    matcher = Matcher(query.plan, bound.lengths.within)
    low, high = situations.bounds(3)
    begins = []
    for edge in (60_000, 110_000, 160_000, 260_000, 310_000, 360_000):
        bounds = low.copy(), high.copy()
        for k in range(3):
            own = situations.start[low[k, 0] : high[k, 0]]
            bounds[0][k, 0] = low[k, 0] + np.searchsorted(own, edge - 50_000)
            bounds[1][k, 0] = low[k, 0] + np.searchsorted(own, edge)
        matcher.join(situations, *bounds)
        begins.append(matcher._order[0])
    assert (begins[0], begins[2], begins[-1]) == (0, 0, 1)
    assert matcher.plans >= 2
