"""HAMLET's worked examples (Tables 3 to 5, Equations 8 to 10, Examples 4.4 and 4.6), and random workloads of its
algorithm against the twin of one query."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.pattern import Event, Repeat, seq
from tests.reference.query import Arithmetic, Column, Constant, Edge, Local, Query
from tests.reference.results import rows

from .benefit import (
    Burst,
    added_cost,
    benefit,
    exhaustive,
    framed,
    non_shared_cost,
    plans,
    printed_cost,
    pruned,
    shared_cost,
)
from .hamlet import HamletEvent, HamletQuery, HamletRun, Snapshot, run, sequence

# a1 a2 | c1 | b3 b4 b5 b6 | a3 a4 | c2 c3 c4 | b7 b8: graphlets A1, C2, B3, A4, C5, B6 of Figure 4(b)
NAMES = "a1 a2 c1 b3 b4 b5 b6 a3 a4 c2 c3 c4 b7 b8"
STREAM = [HamletEvent(name, name[0].upper(), time) for time, name in enumerate(NAMES.split())]
Q1, Q2 = sequence("q1", "A", "B+"), sequence("q2", "C", "B+")


def snapshot(found: HamletRun, level: str, event: str) -> Snapshot:
    (one,) = [one for one in found.snapshots if (one.level, one.event) == (level, event)]
    return one


def test_template_of_example_3_3() -> None:
    assert Q1.before("B") == {"A", "B"}
    assert (Q1.start, Q1.end) == ({"A"}, {"B"})


def test_graphlets_of_example_3_8() -> None:
    found = run([Q1, Q2], STREAM)
    assert [graphlet.name for graphlet in found.graph] == ["A1", "C2", "B3", "A4", "C5", "B6"]
    assert [graphlet.name for graphlet in found.graph if graphlet.shared] == ["B3", "B6"]
    assert [graphlet.name for graphlet in found.graph if graphlet.active] == ["B6"]


def test_tables_3_and_4() -> None:
    found = run([Q1, Q2], STREAM)
    x, y = snapshot(found, "graphlet", "b3"), snapshot(found, "graphlet", "b7")
    assert [found.coefficients[name] for name in ("b3", "b4", "b5", "b6")] == [{x: 1}, {x: 2}, {x: 4}, {x: 8}]
    assert found.snapshots == {x: {"q1": 2, "q2": 1}, y: {"q1": 34, "q2": 19}}
    assert [found.coefficients[name] for name in ("b7", "b8")] == [{y: 1}, {y: 2}]  # one snapshot at a time
    assert found.results == {"q1": 132, "q2": 72}


def test_table_5_where_an_edge_fails_for_one_query() -> None:
    second = replace(Q2, edge=lambda earlier, later: (earlier.name, later.name) != ("b4", "b5"))
    found = run([Q1, second], STREAM)
    x, z = snapshot(found, "graphlet", "b3"), snapshot(found, "event", "b5")
    y = snapshot(found, "graphlet", "b7")
    assert found.snapshots == {x: {"q1": 2, "q2": 1}, z: {"q1": 8, "q2": 2}, y: {"q1": 34, "q2": 15}}
    assert found.coefficients["b6"] == {x: 4, z: 1}
    assert found.results == {"q1": 132, "q2": 56}


@pytest.mark.parametrize("shared", [(True, False), (False, True), (False, False)])
def test_splits_and_merges_change_nothing(shared: tuple[bool, bool]) -> None:
    found = run([Q1, Q2], STREAM, lambda kind, queries, number: shared[number])
    assert found.results == {"q1": 132, "q2": 72}
    assert len(found.at_level("graphlet")) == sum(shared)


def test_worked_example_of_the_twin_of_one_query() -> None:
    events = [{"time": event.time, "type": event.type, "name": event.name} for event in STREAM]
    b = Repeat(Event("B", "b"), 1, None)
    for first, expected in (("A", 132), ("C", 72)):
        assert [row["count"] for row in rows(Query(seq(Event(first), b)), events)] == [expected]
    # only from b4 to b5 does n grow by two
    numbers = [row | {"n": {"b4": 1, "b5": 3}.get(row["name"], 0)} for row in events]
    fails = Edge("b", Arithmetic(Column("n"), "-", Column("n", later=True)), "!=", Constant(-2))
    assert [row["count"] for row in rows(Query(seq(Event("C"), b), predicates=(fails,)), numbers)] == [56]


# --------------------------------------------------------------------------------------------------- random workloads


@hs.composite
def workloads(draw: hs.DrawFn) -> tuple[list[HamletQuery], list[Query], list[HamletEvent]]:
    """Sequences with Kleene types and conditions on x, both as the paper's queries and as the twin's."""
    papers, twins = [], []
    for number in range(draw(hs.integers(2, 4))):
        kinds = draw(hs.lists(hs.sampled_from("ABC"), min_size=1, max_size=3, unique=True))
        plus = [draw(hs.booleans()) or kind == "B" for kind in kinds]
        parts = [kind + "+" * many for kind, many in zip(kinds, plus, strict=True)]
        least, rising = draw(hs.sampled_from([None, None, 1])), draw(hs.booleans())
        papers.append(
            sequence(
                f"q{number}",
                *parts,
                accepts=lambda e, least=least: least is None or e.type != "B" or e["x"] >= least,
                edge=lambda e, f, rising=rising: not rising or {e.type, f.type} != {"B"} or e["x"] <= f["x"],
            )
        )
        leaves = [Event(kind, kind.lower()) for kind in kinds]
        pattern = seq(*(Repeat(leaf, 1, None) if many else leaf for leaf, many in zip(leaves, plus, strict=True)))
        predicates = [Local("b", Column("x"), ">=", Constant(least))] if least is not None and "B" in kinds else []
        predicates += [Edge("b", Column("x"), "<=", Column("x", later=True))] if rising and "B" in kinds else []
        twins.append(Query(pattern, predicates=tuple(predicates)))
    time, events = 0, []
    for place, kind in enumerate(draw(hs.lists(hs.sampled_from("ABBBC"), max_size=9))):
        time += draw(hs.sampled_from([1, 1, 1, 0, 2]))
        events.append(HamletEvent(f"{kind.lower()}{place}", kind, time, (("x", draw(hs.integers(0, 2))),)))
    return papers, twins, events


@given(workloads(), hs.lists(hs.booleans(), min_size=9, max_size=9))
@examples(80)
def test_random_workloads(
    case: tuple[list[HamletQuery], list[Query], list[HamletEvent]], decisions: list[bool]
) -> None:
    papers, twins, events = case
    found = run(papers, events, lambda kind, queries, number: decisions[number])
    plain = [{"time": event.time, "type": event.type, "x": event["x"]} for event in events]
    for paper, twin in zip(papers, twins, strict=True):
        assert found.results[paper.name] == sum(row["count"] for row in rows(twin, plain)), paper.name


# -------------------------------------------------------------------------------------------------------------- benefit


@pytest.mark.parametrize(
    ("burst", "snapshots", "costs", "expected"),
    [
        (Burst(4, 7, 4, 2), (1, 1), (44, 56), 12),  # Equation 8: share
        (Burst(4, 11, 8, 2), (1, 2), (120, 88), -32),  # Equation 9: split
        (Burst(4, 15, 4, 2), (1, 1), (76, 120), 44),  # Equation 10: merge
    ],
)
def test_equations_8_to_10(burst: Burst, snapshots: tuple[int, int], costs: tuple[int, int], expected: int) -> None:
    assert (shared_cost(burst, 2, *snapshots), non_shared_cost(burst, 2)) == costs
    assert benefit(burst, 2, *snapshots) == expected


def test_examples_4_4_and_4_6() -> None:
    """Queries 1 and 3 bring no snapshots; 2 brings some and pays, 4 brings some and does not."""
    introduced = {"1": 0, "2": 1, "3": 0, "4": 1}
    assert len(plans("1234")) == 12
    assert set(framed(introduced)) == {frozenset(plan) for plan in ("1234", "123", "134", "13")}
    cost = added_cost(alone=10, fixed=5, prices={"1": 1, "2": 9, "3": 1, "4": 11})
    assert exhaustive("1234", cost) == pruned(introduced, cost) == frozenset("123")


@given(hs.lists(hs.integers(0, 4), min_size=3, max_size=6), hs.integers(4, 50), hs.integers(1, 50), hs.integers(0, 9))
@examples(100)
def test_pruned_choice_equals_exhaustive_one_where_costs_add_up(
    snapshots: list[int], alone: int, each: int, fixed: int
) -> None:
    """The two principles say who shares if anybody does; whether anybody does is one comparison more."""
    introduced = {str(number): many for number, many in enumerate(snapshots)}
    cost = added_cost(alone, fixed, {query: many * each for query, many in introduced.items()})
    chosen = pruned(introduced, cost)
    best = cost(exhaustive(introduced, cost))
    if chosen:
        assert min(cost(chosen), cost(frozenset())) == best
    else:  # at most one query is worth its price: no two of them are, unless the one carries the other
        assert sum(many * each <= alone for many in snapshots) < 2


@given(hs.lists(hs.integers(0, 3), min_size=3, max_size=6), hs.builds(Burst, *[hs.integers(1, 12)] * 4))
@examples(100)
def test_what_the_printed_costs_say(snapshots: list[int], burst: Burst) -> None:
    """A snapshot is propagated at the price of a whole query, so nobody pays who brings one alone (Equation 9); a query
    without any pays if its values of all snapshots cost less than its events (the condition of Theorem 4.3)."""
    introduced = {str(number): many for number, many in enumerate(snapshots)}
    cost, everybody = printed_cost(burst, introduced), frozenset(introduced)
    values = (1 + sum(snapshots)) * burst.graphlet * burst.types
    for query, many in introduced.items():
        pays = cost(everybody) <= cost(everybody - {query})
        assert pays == (many == 0 and values <= burst.events * burst.window)
