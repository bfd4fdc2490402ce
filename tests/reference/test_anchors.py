"""Conditions on an event and earlier ones of its trend, worked out by hand (semantics, "Predicates": anchor)."""

from __future__ import annotations

import itertools

import pytest

from .by_hand import A, B, C, D, names, stream
from .pattern import Event, Not, bounds, can_follow_all, either, option, plus, seq, star, text, words
from .query import NEXT_MATCH, Anchor, Anchored, Arithmetic, Column, Constant, Expression, Query, predicate_text

X, N = Column("x"), Event("N")


def latest(variable: str) -> Anchored:
    return Anchored("LATEST", variable, "x")


def first(variable: str) -> Anchored:
    return Anchored("FIRST", variable, "x")


def found(pattern, about: str, left: Expression, comparison: str, right: Expression, events, **clauses) -> set[str]:
    return names(Query(pattern, predicates=(Anchor(about, left, comparison, right),), **clauses), events)


def test_an_anchor_is_the_latest_a_before_neighbour_or_not():
    # A.x < C.x in SEQ(A, B*, C): the b between makes no difference.
    events = stream("a1 b2 c3 c4", x=[5, 0, 4, 6])
    assert found(seq(A, star(B), C), "C", latest("A"), "<", X, events) == {"a1 c4", "a1 b2 c4"}


def test_every_b_is_compared_with_the_a():
    # b4 follows b3 directly, and is still compared with a1.
    events = stream("a1 b2 b3 b4", x=[3, 4, 5, 2])
    assert found(seq(A, plus(B)), "B", latest("A"), "<", X, events) == {"a1 b2", "a1 b3", "a1 b2 b3"}


def test_of_several_a_the_latest():
    # (a1 a2)+ b: b is compared with the last a taken.
    events = stream("a1 a2 b3", x=[9, 1, 5])
    assert found(seq(plus(A), B), "B", latest("A"), "<", X, events) == {"a2 b3", "a1 a2 b3"}
    assert found(seq(plus(A), B), "B", first("A"), "<", X, events) == {"a2 b3"}
    assert found(seq(plus(A), B), "B", Anchored("LAST", "A", "x"), "<", X, events) == {"a2 b3", "a1 a2 b3"}


def test_an_event_without_its_anchor_is_not_bound():
    events = stream("b1 a2 b3", x=[0, 5, 6])
    every = plus(either(A, B))
    assert found(every, "B", latest("A"), "<", X, events) == {
        "b1", "a2", "b3", "b1 a2", "b1 b3", "a2 b3", "b1 a2 b3",
    }  # fmt: skip
    assert found(every, "B", latest("A"), ">", X, events) == {"b1", "a2", "b3", "b1 a2", "b1 b3"}


def test_a_null_anchor_exists_and_compares_with_nothing():
    assert found(seq(A, B), "B", latest("A"), "<", X, stream("a1 b2", x=[None, 1])) == set()


def test_the_first_event_is_not_bound_by_itself():
    events = stream("a1 a2 a3", x=[2, 1, 3])
    larger = {"a1", "a2", "a3", "a1 a3", "a2 a3"}
    assert found(plus(A), "A", X, ">", first("A"), events) == larger
    # PREV is the one directly before: 3 > 1.
    events = stream("a1 a2 a3", x=[2, 3, 1])
    assert found(plus(A), "A", X, ">", Anchored("PREV", "A", "x"), events) == {"a1", "a2", "a3", "a1 a2"}


def test_prev_speaks_of_direct_neighbours_and_last_does_not():
    events = stream("a1 b2 a3", x=[5, 0, 1])
    every = plus(either(A, B))
    assert "a1 b2 a3" in found(every, "A", X, ">", Anchored("PREV", "A", "x"), events)
    assert "a1 b2 a3" not in found(every, "A", X, ">", Anchored("LAST", "A", "x"), events)


def test_several_anchors_in_one_condition():
    # A.x + B.x < C.x is bound where there are both.
    total = Arithmetic(latest("A"), "+", latest("B"))
    pattern = seq(option(A), option(B), C)
    events = stream("a1 b2 c3", x=[4, 4, 5])
    assert found(pattern, "C", total, "<", X, events) == {"c3", "a1 c3", "b2 c3"}


def test_skip_till_next_match_asks_whether_an_event_holds_up_against_its_anchor():
    # b2 and b4 are not larger than a1: they cannot follow, and may be skipped.
    events = stream("a1 b2 b3 b4 b5", x=[3, 1, 4, 2, 5])
    assert found(seq(A, plus(B)), "B", latest("A"), "<", X, events, strategy=NEXT_MATCH) == {"a1 b3", "a1 b3 b5"}


def test_anchors_inside_a_not():
    # NOT SEQ(C, D) with C.x < D.x
    pattern = seq(A, Not(seq(C, D)), B)
    for x, expected in (([0, 1, 2, 0], set()), ([0, 2, 1, 0], {"a1 b4"})):
        assert found(pattern, "D", latest("C"), "<", X, stream("a1 c2 d3 b4", x=x)) == expected


def test_the_thesis_example():
    # SEQ(A, B*, C) with C.temp >= A.temp + 5
    raised = Arithmetic(latest("A"), "+", Constant(5))
    events = stream("a1 b2 c3 c4", x=[20, 22, 24, 25])
    assert found(seq(A, star(B), C), "C", X, ">=", raised, events) == {"a1 c4", "a1 b2 c4"}


def test_the_variable_written_first_is_the_earlier_one_unless_the_pattern_allows_only_the_other_order():
    about_b, about_a = Anchor("B", latest("A"), "<", X), Anchor("A", X, "<", latest("B"))
    assert predicate_text(about_b, seq(A, star(C), B)) == "A.x < B.x"
    assert predicate_text(about_a, seq(B, star(C), A)) == "A.x < B.x"
    both = plus(either(A, B))
    assert predicate_text(about_b, both) == "A.x < B.x"
    assert predicate_text(about_a, both) == "B.x > A.x"
    with pytest.raises(ValueError, match="no text"):
        predicate_text(about_b, seq(B, A))


def test_the_text_of_several_anchors():
    about_c = Anchor("C", X, ">", Arithmetic(latest("A"), "+", latest("B")))
    assert predicate_text(about_c, seq(A, B, C)) == "C.x > A.x + B.x"
    assert predicate_text(about_c, plus(seq(A, B, C))) == "A.x + B.x < C.x"
    assert predicate_text(Anchor("B", X, ">", first("A")), plus(either(A, B))) == "B.x > FIRST(A).x"
    assert predicate_text(Anchor("A", X, ">", Anchored("PREV", "A", "x")), plus(A)) == "A.x > PREV(A).x"


@pytest.mark.parametrize(
    "pattern",
    [seq(A, star(B), C), plus(seq(option(A), B)), either(seq(A, B), seq(B, C)), bounds(either(A, seq(B, C)), 2, 3)],
    ids=text,
)  # fmt: skip
def test_what_can_follow_what(pattern):
    spelled = words(pattern, 6)
    for variable in "ABC":
        for size in (1, 2):
            for others in itertools.combinations("ABC", size):
                possible = any(
                    letter == variable and set(others) <= set(word[:place])
                    for word in spelled
                    for place, letter in enumerate(word)
                )
                assert can_follow_all(pattern, variable, frozenset(others)) == possible
