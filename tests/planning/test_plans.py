"""Plans as users see them, and what plans promise to those who run them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

import trendweave
from trendweave.planning.plan import KeyColumn, MovingWindow, SlidingWindow, Way, WholeInput

PLANS = sorted((Path(__file__).parent / "fixtures" / "plans").glob("*.txt"))


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_explained_plans(path: Path) -> None:
    query, _, expected = path.read_text(encoding="utf-8").partition("\n---\n")
    assert trendweave.query(query).explain() == expected.rstrip("\n")


def plan_of(text: str) -> trendweave.planning.Plan:
    return trendweave.query(text).plan


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_plans_are_values(path: Path) -> None:
    text = path.read_text(encoding="utf-8").partition("\n---\n")[0]
    plan = plan_of(text)
    assert plan == plan_of(text.replace(" ", "\n  "))
    assert hash(plan) == hash(plan_of(text))
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert plan != plan_of("RETURN COUNT(*) PATTERN Z")
    with pytest.raises(AttributeError):
        plan.strategy = "contiguous"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("A.x < B.y", ["x < y"]),
        ("B.y > A.x", ["x < y"]),
        ("B.y - 1 >= A.x * 2", ["x * 2 <= y - 1"]),
        ("NOT A.x < B.y", ["x >= y"]),
        ("NOT (NOT A.x = B.y)", ["x = y"]),
        ("B.y BETWEEN A.x AND A.z", ["x <= y", "z >= y"]),
        ("A.x < B.y AND A.k = B.k", ["x < y", "k = k"]),
    ],
)
def test_edge_predicates_become_one_value_of_each_event(predicate: str, expected: list[str]) -> None:
    from trendweave.language.printer import print_expression

    edge = plan_of(f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE {predicate}").edge("A", "B")
    assert edge.general == ()
    assert [
        f"{print_expression(c.previous)} {c.operator} {print_expression(c.next)}" for c in edge.comparisons
    ] == expected


@pytest.mark.parametrize(
    "predicate",
    ["A.x * B.y > 3", "A.x < B.y OR A.z < B.z", "B.y IN (A.x, A.z)", "B.y NOT BETWEEN A.x AND A.z", "A.x + B.y < A.z"],
)
def test_predicates_that_cannot_be_separated_are_general(predicate: str) -> None:
    plan = plan_of(f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE {predicate}")
    edge = plan.edge("A", "B")
    assert edge.comparisons == ()
    assert len(edge.general) == 1
    assert [step.summing.way for step in plan.template.transitions] == [Way.SCAN]


def test_the_variable_written_first_is_the_earlier_event() -> None:
    both_orders = plan_of("RETURN COUNT(*) PATTERN (SEQ(A, B))+ WHERE B.x < A.x")
    assert both_orders.edge("A", "B").comparisons == ()
    assert len(both_orders.edge("B", "A").comparisons) == 1
    only_the_other = plan_of("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE B.x < A.x")
    (comparison,) = only_the_other.edge("A", "B").comparisons
    assert comparison.operator == ">"


def test_a_condition_on_the_next_event_alone_holds_only_between_neighbours() -> None:
    plan = plan_of("RETURN COUNT(*) PATTERN A+ WHERE NEXT(A).x > 5 AND NEXT(A).flag")
    assert plan.variable("A").local == ()
    assert len(plan.edge("A", "A").comparisons) == 2


@pytest.mark.parametrize(
    ("clauses", "window"),
    [
        ("", WholeInput()),
        ("WITHIN 10 seconds", MovingWindow(10 * 10**9)),
        ("WITHIN 10 seconds SLIDE 4 seconds", SlidingWindow(10 * 10**9, 4 * 10**9)),
        ("WITHIN 1 minute SLIDE 60 s", SlidingWindow(60 * 10**9, 60 * 10**9)),
    ],
)
def test_windows(clauses: str, window: object) -> None:
    assert plan_of(f"RETURN COUNT(*) PATTERN A {clauses}").window == window


def test_keys_of_all_events_and_keys_of_one_variable() -> None:
    plan = plan_of(
        "RETURN g, T.d, COUNT(*) PATTERN SEQ(R, T+) WHERE [k, T.v, nested.field] AND [k] GROUP-BY g, T.d, k, T.v"
    )
    assert plan.partition_key == (
        KeyColumn(("k",), None, nullable=False),
        KeyColumn(("nested", "field"), None, nullable=False),
        KeyColumn(("g",), None, nullable=True),
    )
    assert plan.bound_keys == (KeyColumn(("v",), "T", nullable=False), KeyColumn(("d",), "T", nullable=True))
    assert [group.name for group in plan.groups] == ["g", "d", "k", "v"]


def test_names_of_result_columns() -> None:
    plan = plan_of(
        "RETURN sector AS s, COUNT(*), COUNT(S), SUM(S.price), MIN(S.a.b) AS low PATTERN Stock S GROUP-BY sector"
    )
    assert [group.name for group in plan.groups] == ["s"]
    assert [column.name for column in plan.aggregates] == ["count", "count_S", "sum_S_price", "low"]


def test_needed_columns_are_found_per_type() -> None:
    plan = plan_of(
        "RETURN g, SUM(B.v) PATTERN SEQ(A a, A aa, NOT N, B) "
        "WHERE [k] AND a.x < 1 AND aa.y + 1 < B.z AND N.w = 1 AND a.p * aa.q > 1 GROUP-BY g"
    )
    needed = {columns.type: [".".join(path) for path in columns.paths] for columns in plan.needed_columns}
    assert needed == {
        "A": ["g", "k", "p", "q", "x", "y"],
        "B": ["g", "k", "v", "z"],
        "N": ["g", "k", "w"],
    }


def test_drawings_name_every_state_and_transition() -> None:
    query = trendweave.query('RETURN COUNT(*) PATTERN SEQ(NOT N, A+, NOT M, `odd "type"` b) WHERE A.x < NEXT(A).x')
    mermaid, dot = query.explain("mermaid"), query.explain("dot")
    assert mermaid.startswith("flowchart LR\n")
    assert mermaid.count("-->") == 3  # A -> A, and two negations that begin at once
    assert mermaid.count("-.->") == 2  # the guarded start, and A -> b
    assert "#quot;type#quot;" in mermaid
    assert dot.startswith("digraph trendweave {")
    assert dot.count("->") == 5
    assert dot.count("{") == dot.count("}")
    assert '\\"type\\"' in dot


def test_json_holds_the_whole_plan_and_its_version() -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).y WITHIN 1 hour SLIDE 1 minute")
    plan = json.loads(query.explain("json"))
    assert plan["version"] == 2
    assert plan["window"] == {"kind": "SlidingWindow", "length": 3600 * 10**9, "slide": 60 * 10**9}
    assert [state["variable"] for state in plan["templates"][0]["states"]] == ["A", "B"]
    assert plan["edges"][1]["comparisons"] == [{"previous": "x", "operator": "<", "next": "y"}]
    ways = [step["summing"]["way"] for step in plan["templates"][0]["transitions"]]
    assert ways == ["running sums", "sums over ranks"]
    assert plan["kernels"] == [["propagate"]]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="text, mermaid, dot, json"):
        trendweave.query("PATTERN A").explain("png")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("strategy", "where", "way"),
    [
        ("skip-till-any-match", "", Way.RUNNING_SUMS),
        ("skip-till-any-match", "WHERE A.k = NEXT(A).k AND A.j = NEXT(A).j", Way.SUMS_PER_VALUE),
        ("skip-till-next-match", "", Way.RUNNING_SUMS),
        ("skip-till-next-match", "WHERE A.k = NEXT(A).k", Way.SCAN),
        ("contiguous", "", Way.RUNNING_SUMS),
        ("contiguous", "WHERE A.k * NEXT(A).k > 1", Way.NEIGHBOURS),
    ],
)
def test_the_way_to_sum_follows_the_strategy(strategy: str, where: str, way: Way) -> None:
    plan = plan_of(f"RETURN COUNT(*) PATTERN A+ SEMANTICS {strategy} {where}")
    assert [step.summing.way for step in plan.template.transitions] == [way]


def test_conditions_that_neighbours_hand_on_need_no_lanes() -> None:
    # A.x > B.x for the first b, and falling from there on: all b's are below the a.
    falling = "RETURN COUNT(*) PATTERN SEQ(A, {}) WHERE A.x > B.x AND B.x {} NEXT(B).x"
    assert not plan_of(falling.format("B+", ">=")).anchors
    assert plan_of(falling.format("B+", "<")).anchors
    # With a c between two b's nothing is handed on.
    assert plan_of(falling.format("(SEQ(B+, C?))+", ">=")).anchors
