"""What every trend must contain (thesis, 3.4.4, Table 3.2), and what indexes can be asked for it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given

import trendweave
from tests.profiles import examples
from tests.reference.query import Query, text
from tests.reference.streams import queries
from trendweave.errors import PlanningError
from trendweave.planning.plan import Plan
from trendweave.store.event_store import EventStore
from trendweave.store.patterns.rewriting import Necessary, Range, find_necessary, find_possible, find_terms

SCHEMA = pa.schema({"time": pa.int64(), "x": pa.int64(), "y": pa.float64(), "s": pa.string(), "at": pa.timestamp("us")})


def plan_of(pattern: str, where: str = "") -> Plan:
    plan = trendweave.query(f"RETURN COUNT(*) PATTERN {pattern} {where} WITHIN 9 seconds SLIDE 9 seconds").plan
    assert isinstance(plan, Plan)
    return plan


def necessary_of(pattern: str) -> Necessary:
    plan = plan_of(pattern)
    found = find_necessary(plan, plan.template, "type")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pattern", "symbols", "steps"),
    [
        ("A a", ["a"], []),
        ("A a+", ["a", "a"], [(0, None)]),
        ("SEQ(A a, B b)", ["a", "b"], [(1, 1)]),
        ("SEQ(A a+, B b)", ["a", "b"], [(1, None)]),
        ("SEQ(A a, B b*, C c, D d)", ["a", "c", "d"], [(1, None), (1, 1)]),
        ("SEQ(A a, B b?, C c)", ["a", "c"], [(1, 2)]),
        ("SEQ(A a, NOT N n, B b)", ["a", "b"], [(1, 1)]),
        ("A a{2,4}", ["a", "a", "a"], [(1, 1), (0, 2)]),
        ("A a{3,}", ["a", "a", "a", "a"], [(1, 1), (1, 1), (0, None)]),
        ("(A a OR B b)", ["a or b"], []),
        ("(SEQ(A a, B b) OR SEQ(C c, D d))", ["a or c", "b or d"], [(1, 1)]),
        ("SEQ(A a?, B b, C c*)", ["a or b", "b", "b or c"], [(0, 1), (0, None)]),
        # The example of the thesis: (A, (B, C+)+, D) becomes (A, B, C, true*, D).
        ("SEQ(A a, (SEQ(B b, C c+))+, D d)", ["a", "b", "c", "d"], [(1, 1), (1, 1), (1, None)]),
    ],
)
def test_symbols_and_steps(pattern: str, symbols: list[str], steps: list[tuple[int, int | None]]) -> None:
    found = necessary_of(pattern)
    assert [symbol.name for symbol in found.symbols] == symbols
    assert [(gap.least, gap.most) for gap in found.gaps] == steps


@given(queries(negation=False, conjunction=False, empty=False))
@examples(80)
def test_every_word_of_a_pattern_has_the_symbols(query: Query) -> None:
    """All words of up to five variables that spell a trend, against the symbols and the steps between them."""
    try:
        plan = trendweave.query(text(query)).plan
    except PlanningError:
        assume(False)
        return
    assert isinstance(plan, Plan)
    found = find_necessary(plan, plan.template, "type")
    assert found is not None
    variables = sorted({state.variable for state in plan.template.states})
    for length in range(1, 6):
        for word in itertools.islice(itertools.product(variables, repeat=length), 400):
            if plan.template.accepts(word):
                assert _has(found, word), (word, found)


def _has(necessary: Necessary, word: tuple[str, ...]) -> bool:
    """Whether places in a word can be found for all symbols: the first, the last, and steps between as told."""
    readings = [set(symbol.name.split(" or ")) for symbol in necessary.symbols]
    places = {0} if word[0] in readings[0] else set()
    for allowed, gap in zip(readings[1:], necessary.gaps, strict=True):
        most = len(word) if gap.most is None else gap.most
        reached = {at + step for at in places for step in range(gap.least, most + 1)}
        places = {at for at in reached if at < len(word) and word[at] in allowed}
    return len(word) - 1 in places


@pytest.mark.parametrize(
    ("condition", "terms"),
    [
        ("a.x > 3", ["x > 3"]),
        ("3 < a.x AND a.x <= 9", ["x > 3 and <= 9"]),
        ("a.x BETWEEN 1 AND 2", ["x >= 1 and <= 2"]),
        ("a.x IN (1, 5)", ["x = 1 or x = 5"]),
        ("a.s = 'p' AND a.x = 1", ["s = 'p'", "x = 1"]),
        ("(a.x > 8 OR a.y < 0.5)", ["x > 8 or y < 0.5"]),
        ("(a.x > 8 OR a.x + 1 < 0)", []),
        ("(a.x > 8 AND a.y + 1 > 0)", ["x > 8"]),
        ("a.x != 3", []),
        ("a.x > 2 + 3", ["x > 5"]),
        ("a.x > 1e300", []),
        ("a.s > 5", []),
        ("a.x IS NULL", []),
        ("NOT a.x > 3", []),
    ],
)
def test_terms(condition: str, terms: list[str]) -> None:
    try:
        plan = plan_of("A a", f"WHERE {condition}")
    except PlanningError:
        assert terms == []
        return
    found = find_necessary(plan, plan.template, None)
    assert found is not None
    asked = find_terms(found.symbols[0].condition, SCHEMA, lambda name: name != "time")
    assert sorted(map(str, asked)) == sorted(terms)


def test_ranges() -> None:
    assert Range(1, 5).and_(Range(3, 9, low_open=True)) == Range(3, 5, low_open=True)
    assert Range(low=1).and_(Range(1, low_open=True)) == Range(1, low_open=True)
    assert Range(5, 3).is_empty
    assert Range(3, 3, high_open=True).is_empty
    assert not Range(3, 3).is_empty
    assert not Range().is_empty


def test_blocks_that_may_hold_a_condition(tmp_path: Path) -> None:
    table = pa.table({"time": range(6), "x": [1, 2, 5, 6, None, None], "y": [0.5, float("nan"), 1.0, 2.0, 3.0, None]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    store = EventStore.over(tmp_path).build_index()
    expected = {
        "a.x > 2": [False, True, False],
        "a.x <= 2 OR a.y = 3": [True, False, True],
        "a.x BETWEEN 3 AND 4": [False, False, False],
        "a.x IS NULL": [False, False, True],
        "a.x IS NOT NULL": [True, True, False],
        "a.y > 100": [True, False, False],
        "a.x IN (6, 9) AND a.y < 9": [False, True, False],
        "a.x + 1 > 100": [True, True, True],
        "NOT a.x > 2": [True, True, True],
    }
    for condition, held in expected.items():
        plan = plan_of("A a", f"WHERE {condition}")
        found = find_necessary(plan, plan.template, None)
        assert found is not None
        assert find_possible(found.symbols[0].condition, store.blocks, store.schema).tolist() == held, condition


def test_what_is_read_is_told(tmp_path: Path) -> None:
    values = [0] * 200_000
    values[150_000] = values[150_100] = 9
    table = pa.table({"time": range(200_000), "x": values})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1_000)
    store = EventStore.over(tmp_path).build_index(["x"])
    lines = (
        trendweave.query("RETURN COUNT(*) PATTERN SEQ(E a, E b) WHERE a.x > 5 AND b.x > 5 WITHIN 3 minutes")
        .explain(store)
        .splitlines()
    )
    assert lines[0] == "every trend  a, b"
    assert any(line.startswith("considered     replay: about") for line in lines)
    assert any(line.startswith("considered   * ") for line in lines)
    assert any("1 of 200 row groups" in line for line in lines), lines
