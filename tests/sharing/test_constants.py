"""Which plans are alike: equal but for constants in comparisons of single events."""

from __future__ import annotations

import time

import pytest

import trendweave
from trendweave.language.printer import print_expression
from trendweave.planning.plan import Plan
from trendweave.sharing.constants import Alike, find_alike

HEAD = "RETURN COUNT(*) PATTERN SEQ(A S, B E) WHERE "
WINDOW = " WITHIN 10 seconds SLIDE 5 seconds"


def plan_of(text: str) -> Plan:
    plan = trendweave.query(text).plan
    assert isinstance(plan, Plan)
    return plan


def groups_of(*texts: str) -> list[Alike]:
    return find_alike([plan_of(text) for text in texts], range(len(texts)))


def where(*conditions: str) -> list[Alike]:
    return groups_of(*(HEAD + condition + WINDOW for condition in conditions))


def compared(group: Alike) -> list[str]:
    names = [variable.name for variable in group.plan.variables]
    return [f"{names[one.variable]}: {print_expression(one.value)} {one.test}" for one in group.compared]


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("S.x > 1", "S.x > 2", ["S: x >"]),
        ("S.x > 1", "2 < S.x", ["S: x >"]),
        ("S.x > 1", "S.x > 1.5", ["S: x >"]),
        ("S.x = 'a'", "S.x = 'b'", ["S: x ="]),
        ("S.x IN (1, 2)", "S.x IN (3)", ["S: x in"]),
        ("S.x BETWEEN 1 AND 3", "S.x BETWEEN 2 AND 4", ["S: x <=", "S: x >="]),
        ("S.x BETWEEN 1 AND 3", "S.x >= 2 AND S.x <= 4", ["S: x <=", "S: x >="]),
        ("S.x > 1 AND E.y < 2", "E.y < 3 AND S.x > 2", ["S: x >", "E: y <"]),
        ("S.x + 1 > 1", "S.x + 1 > 2", ["S: x + 1 >"]),
        ("S.t > TIMESTAMP '2024-01-01'", "S.t > TIMESTAMP '2024-01-02'", ["S: t >"]),
        ("S.d = DATE '2024-01-01'", "S.d = DATE '2024-01-02'", ["S: d ="]),
        ("S.b = TRUE", "S.b = FALSE", ["S: b ="]),
        ("S.p > 5 minutes", "S.p > 6 minutes", ["S: p >"]),
    ],
)
def test_comparisons_that_are_taken_out(one: str, other: str, found: list[str]) -> None:
    (group,) = where(one, other)
    assert group.members == (0, 1)
    assert compared(group) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("S.x > 1", "S.x >= 2"),  # another operator
        ("S.x > 1", "S.y > 2"),  # another attribute
        ("S.x > 1", "E.x > 2"),  # another variable
        ("S.x + 1 > 2", "S.x + 2 > 2"),  # a constant inside of an expression
        ("S.x > 1 OR S.x < 0", "S.x > 2 OR S.x < 0"),  # inside of a condition
        ("S.x > 1", "S.x > 2 AND S.y = 1"),  # one more
        ("S.x NOT IN (1)", "S.x NOT IN (2)"),  # not looked up
        ("S.x IN (1, 2.5)", "S.x IN (2, 3.5)"),  # kinds are mixed
        ("S.x > NULL", "S.x > 1"),
        ("S.x > 1", "S.x > 1.0 AND S.x IS NOT NULL"),
    ],
)
def test_what_is_not_alike(one: str, other: str) -> None:
    assert where(one, other) == []


@pytest.mark.parametrize(
    "other",
    [
        "RETURN COUNT(*) AS n PATTERN SEQ(A S, B E) WHERE S.x > 2 WITHIN 10 seconds SLIDE 5 seconds",
        "RETURN COUNT(*) PATTERN SEQ(A S, B E+) WHERE S.x > 2 WITHIN 10 seconds SLIDE 5 seconds",
        "RETURN COUNT(*) PATTERN SEQ(A S, B E) WHERE S.x > 2 WITHIN 10 seconds SLIDE 10 seconds",
        "RETURN COUNT(*) PATTERN SEQ(A S, B E) WHERE [k] AND S.x > 2 WITHIN 10 seconds SLIDE 5 seconds",
        "RETURN COUNT(*) PATTERN SEQ(A S, B E) WHERE S.x > 2 GROUP-BY k WITHIN 10 seconds SLIDE 5 seconds",
        "RETURN COUNT(*) PATTERN SEQ(A S, B E) SEMANTICS contiguous WHERE S.x > 2 WITHIN 10 seconds SLIDE 5 seconds",
        "RETURN COUNT(*) PATTERN SEQ(A S, B E) WHERE S.x > 2 WITHIN 10 seconds SLIDE 5 seconds HAVING COUNT(*) > 1",
    ],
)
def test_everything_else_must_be_equal(other: str) -> None:
    assert groups_of(HEAD + "S.x > 1" + WINDOW, other) == []


def test_constants_that_all_have_are_a_part_of_the_plan() -> None:
    (group,) = where("S.x > 1 AND S.y = 7", "S.x > 2 AND S.y = 7")
    assert compared(group) == ["S: x >"]
    assert [print_expression(one) for one in group.plan.variables[0].local] == ["y = 7"]


@pytest.mark.parametrize(
    ("conditions", "weakest"),
    [
        (("S.x > 3", "S.x > 1", "S.x > 2"), "x > 1"),
        (("S.x <= 3", "S.x <= 1"), "x <= 3"),
        (("S.x > 3", "S.x > 1.5"), "x > 3 OR x > 1.5"),
        (("S.x = 'a'", "S.x = 'b'"), "x IN ('a', 'b')"),
        (("S.x IN (1, 2)", "S.x IN (2, 3)"), "x IN (1, 2, 3)"),
        (("S.x > 'b'", "S.x > 'a'"), "x > 'a'"),
    ],
)
def test_rows_that_no_rule_wants_are_not_read(conditions: tuple[str, ...], weakest: str) -> None:
    (group,) = where(*conditions)
    assert [print_expression(one) for one in group.wide_plan.variables[0].local] == [weakest]


def test_nothing_can_be_left_out_for_inequalities_or_many_numbers() -> None:
    for conditions in (("S.x != 1", "S.x != 2"), tuple(f"S.x = {number}" for number in range(20))):
        (group,) = where(*conditions)
        assert group.wide_plan.variables[0].local == ()


def test_choices_among_trends_of_several_partitions_stay_alone() -> None:
    def texts(choice: str, key: str) -> list[str]:
        return [f"RETURN TRENDS PATTERN A S+ WHERE [k] AND S.x > {x} {key} {choice}" for x in (1, 2)]

    assert groups_of(*texts("SAMPLE 3", "GROUP-BY k")) == []
    assert groups_of(*texts("LIMIT 3", "")) == []
    assert len(groups_of(*texts("LIMIT 3", "GROUP-BY k"))) == 1


def test_long_lists_are_not_multiplied() -> None:
    lists = [", ".join(map(str, range(first, first + 40))) for first in (0, 1)]
    (group,) = where(*(f"S.x IN ({one}) AND S.y IN (1, 2)" for one in lists))
    assert compared(group) == ["S: x in"]
    assert where(*(f"S.x IN ({one}) AND S.y IN ({one})" for one in lists)) == []


def test_many_plans_are_grouped_without_comparing_pairs() -> None:
    plans = [plan_of(HEAD + f"S.x > {number} AND E.y = 'name {number}'" + WINDOW) for number in range(300)]
    before = time.process_time()
    (group,) = find_alike(plans * 10, range(3_000))
    assert len(group.members) == 3_000
    assert time.process_time() - before < 3
