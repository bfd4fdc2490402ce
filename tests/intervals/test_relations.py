"""Allen's algebra: the thirteen relations, their inverses and compositions, and networks that contradict themselves."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

from trendweave.planning.interval_plan import (
    ANY,
    NUMBER,
    PREFIX_GROUPS,
    RELATIONS,
    Contradiction,
    compose,
    inverse,
    make_path_consistent,
    mask_of,
    names_of,
    relation_between,
)

# Thesis, Table 5.1, with Allen's finishes and finished-by: an example of A for B = [10, 20).
TABLE_5_1 = {
    "before": (1, 5),
    "meets": (1, 10),
    "overlaps": (5, 15),
    "finished-by": (5, 20),
    "contains": (5, 25),
    "starts": (10, 15),
    "equals": (10, 20),
    "started-by": (10, 25),
    "during": (12, 15),
    "finishes": (15, 20),
    "overlapped-by": (15, 25),
    "met-by": (20, 25),
    "after": (21, 25),
}
intervals = hs.tuples(hs.integers(0, 8), hs.integers(1, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@pytest.mark.parametrize("name", RELATIONS)
def test_table_5_1(name: str) -> None:
    assert RELATIONS[relation_between(*TABLE_5_1[name], 10, 20)] == name


@pytest.mark.parametrize(
    ("name", "turned"),
    [("before", "after"), ("meets", "met-by"), ("overlaps", "overlapped-by"), ("starts", "started-by"),
     ("during", "contains"), ("finishes", "finished-by"), ("equals", "equals")],
)  # fmt: skip
def test_inverses(name: str, turned: str) -> None:
    assert names_of(inverse(mask_of([name]))) == (turned,)
    assert names_of(inverse(mask_of([turned]))) == (name,)


@pytest.mark.parametrize(
    ("first", "second", "composed"),
    # Entries of the table in Allen (1983).
    [
        ("before", "before", ["before"]),
        ("before", "after", list(RELATIONS)),
        ("before", "during", ["before", "overlaps", "meets", "during", "starts"]),
        ("meets", "meets", ["before"]),
        ("meets", "during", ["overlaps", "during", "starts"]),
        ("overlaps", "overlaps", ["before", "overlaps", "meets"]),
        ("during", "during", ["during"]),
        ("starts", "finishes", ["during"]),
        ("finishes", "starts", ["during"]),
        ("meets", "finished-by", ["before"]),
        ("equals", "finishes", ["finishes"]),
    ],
)
def test_compositions(first: str, second: str, composed: list[str]) -> None:
    assert compose(mask_of([first]), mask_of([second])) == mask_of(composed)


@given(intervals, intervals, intervals)
def test_what_holds_between_three_intervals_agrees_with_the_table(a: tuple, b: tuple, c: tuple) -> None:
    masks = [[1 << relation_between(*left, *right) for right in (a, b, c)] for left in (a, b, c)]
    assert compose(masks[0][1], masks[1][2]) & masks[0][2]
    assert inverse(masks[0][1]) == masks[1][0]
    assert make_path_consistent(masks) == masks


@given(hs.lists(intervals, min_size=3, max_size=5), hs.data())
def test_path_consistency_removes_nothing_that_some_intervals_show(chosen: list[tuple], data: hs.DataObject) -> None:
    count = len(chosen)
    masks = [[ANY] * count for _ in range(count)]
    for i in range(count):
        for j in range(i + 1, count):
            real = 1 << relation_between(*chosen[i], *chosen[j])
            masks[i][j] = real | data.draw(hs.integers(0, ANY))
            masks[j][i] = inverse(masks[i][j])
    closed = make_path_consistent(masks)
    for i in range(count):
        for j in range(count):
            if i != j:
                assert closed[i][j] >> relation_between(*chosen[i], *chosen[j]) & 1
                assert closed[i][j] & ~masks[i][j] == 0


def test_a_circle_of_before_is_a_contradiction() -> None:
    before, after = mask_of(["before"]), mask_of(["after"])
    with pytest.raises(Contradiction):
        make_path_consistent([[ANY, before, after], [after, ANY, before], [before, after, ANY]])


@given(hs.integers(1, ANY), hs.integers(1, ANY))
def test_names_and_masks(one: int, other: int) -> None:
    assume(one != other)
    assert mask_of(names_of(one)) == one
    assert names_of(one) != names_of(other)


def test_table_5_2_prefix_groups() -> None:
    # While both run: A began first, both began at once, B began first.
    groups = [set(names_of(group)) for group in PREFIX_GROUPS]
    assert groups == [
        {"overlaps", "finished-by", "contains"},
        {"starts", "equals", "started-by"},
        {"during", "finishes", "overlapped-by"},
    ]
    assert NUMBER["before"] == 0
