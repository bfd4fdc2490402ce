"""Which matches a list shows, worked out by hand (semantics, "Detection"): AFTER MATCH SKIP, PER START, conditions on
whole matches, one row per event, aggregates over what is left."""

from __future__ import annotations

import pytest

from .by_hand import A, B, C, D, stream
from .comparer import assert_same_rows
from .pattern import Event, either, option, plus, seq, star
from .query import (
    CONTIGUOUS,
    LENGTH,
    NEXT_MATCH,
    AfterMatch,
    Aggregate,
    Anchor,
    Anchored,
    Arithmetic,
    Attribute,
    Column,
    Constant,
    Edge,
    Moving,
    Query,
    Sliding,
    Whole,
    text,
)
from .results import rows
from .trend_rows import each_rows, flat_rows, shown

PAST_LAST, NEXT = AfterMatch("past last"), AfterMatch("next")
SAME = Anchor("B", Anchored("LATEST", "A", "x"), "=", Column("x"))
RISING = Edge("A", Column("x"), "<", Column("x", later=True))


def words(query: Query, events: list[dict]) -> list[str]:
    return sorted(
        " ".join(f"{events[index]['type'].lower()}{events[index]['time']}" for index, _ in found.trend)
        for found in shown(query, events)
    )


def chosen(pattern, events, strategy=NEXT_MATCH, **clauses) -> list[str]:
    return words(Query(pattern, strategy=strategy, **clauses), events)


def test_three_or_more_rising_prices_once_each():
    events = stream("a1 a2 a3 a4 a5 a6 a7", x=[1, 2, 3, 4, 1, 2, 3])
    rising = {"strategy": CONTIGUOUS, "predicates": (RISING,)}
    runs = seq(A, A, plus(A))
    assert len(chosen(runs, events, **rising)) == 4
    assert chosen(runs, events, after_match=PAST_LAST, **rising) == ["a1 a2 a3 a4", "a5 a6 a7"]
    assert chosen(runs, events, after_match=NEXT, **rising) == ["a1 a2 a3 a4", "a2 a3 a4", "a5 a6 a7"]


def test_past_last_event():
    # (a1 b2), then nothing may begin before or at 2; a3 is free.
    events = stream("a1 a2 b2 a3 b4")
    assert chosen(seq(A, B), events, after_match=PAST_LAST) == ["a1 b2", "a3 b4"]
    # An event at the time of the last one cannot begin the next.
    assert chosen(seq(A, B), stream("a1 b2 a2 b3"), after_match=PAST_LAST) == ["a1 b2"]


def test_to_next_event_takes_one_per_beginning():
    # From a1: (a1 b2) and (a1 b2 b3); the one that ends last.
    events = stream("a1 b2 b3")
    assert chosen(seq(A, plus(B)), events, after_match=NEXT) == ["a1 b2 b3"]
    assert chosen(plus(A), stream("a1 a2 a3"), after_match=NEXT) == ["a1 a2 a3", "a2 a3", "a3"]


def test_to_first_and_last_of_a_variable():
    # (A+ B+): from a1 the longest is a1 a2 b3 b4. TO FIRST B: beginnings before 3 are gone. TO LAST B: before 4.
    either_way = plus(either(A, B))
    events = stream("a1 a2 b3 b4")
    assert chosen(either_way, events, after_match=AfterMatch("first", "B")) == ["a1 a2 b3 b4", "b3 b4", "b4"]
    assert chosen(either_way, events, after_match=AfterMatch("last", "B")) == ["a1 a2 b3 b4", "b4"]
    assert chosen(either_way, events, after_match=AfterMatch("last", "A")) == ["a1 a2 b3 b4", "a2 b3 b4", "b3 b4", "b4"]


def test_without_such_an_event_only_the_beginning_is_taken_away():
    events = stream("a1 a2")
    assert chosen(seq(plus(A), star(B)), events, after_match=AfterMatch("first", "B")) == ["a1 a2", "a2"]


def test_the_first_event_of_a_match_cannot_be_its_own_way_back():
    # TO FIRST A would begin at a1 again: the beginnings up to the first event's time are gone all the same.
    assert chosen(seq(A, plus(B)), stream("a1 b2 b3"), after_match=AfterMatch("first", "A")) == ["a1 b2 b3"]


def test_longest_and_shortest_per_start():
    events = stream("a1 b2 b3 a4 b5")
    assert chosen(seq(A, plus(B)), events, per_start="longest") == ["a1 b2 b3 b5", "a4 b5"]
    assert chosen(seq(A, plus(B)), events, per_start="shortest") == ["a1 b2", "a4 b5"]
    assert chosen(seq(A, plus(B)), events, per_start="shortest", after_match=PAST_LAST) == ["a1 b2", "a4 b5"]
    assert chosen(seq(A, plus(B)), events, per_start="longest", after_match=PAST_LAST) == ["a1 b2 b3 b5"]


def test_of_one_event_that_is_read_in_several_ways():
    # As `one` it ends at 3, as `other` at 2; of those that end together the variable that is named first wins.
    one, other = Event("A", "one"), Event("A", "other")
    both = either(seq(other, B), seq(one, C))
    (found,) = shown(Query(both, strategy=NEXT_MATCH, per_start="longest"), stream("a1 b2 c3"))
    assert found.trend[0] == (0, "one")
    (found,) = shown(Query(both, strategy=NEXT_MATCH, per_start="shortest"), stream("a1 b2 c3"))
    assert found.trend[0] == (0, "other")
    (found,) = shown(
        Query(either(seq(other, B), seq(one, B)), strategy=NEXT_MATCH, per_start="longest"), stream("a1 b2")
    )
    assert found.trend[0] == (0, "other")


def test_each_of_several_events_of_one_time_begins_its_own():
    events = stream("a1 a1 b2 b3", x=[1, 2, 1, 2])
    for clause in ({"per_start": "longest"}, {"after_match": NEXT}):
        found = shown(Query(seq(A, B), strategy=NEXT_MATCH, predicates=(SAME,), **clause), events)
        assert [[index for index, _ in one.trend] for one in found] == [[1, 3], [0, 2]]
    # Two beginnings at one time: (a1 b2 c3), and (d1 c3), which skips b2, for b2 cannot follow d1.
    pattern = either(seq(A, B, C), seq(D, C))
    events = stream("a1 d1 b2 c3")
    assert chosen(pattern, events, per_start="longest") == ["a1 b2 c3", "d1 c3"]
    assert chosen(pattern, events, per_start="shortest") == ["a1 b2 c3", "d1 c3"]


def test_past_the_last_event_one_match_of_a_time_is_taken():
    # Of two events the variable that the pattern names first, then the one whose match ends last.
    pattern = either(seq(A, B, C), seq(D, C))
    assert chosen(pattern, stream("d1 a1 b2 c3"), after_match=PAST_LAST) == ["a1 b2 c3"]
    assert chosen(either(seq(D, C), seq(A, B, C)), stream("d1 a1 b2 c3"), after_match=PAST_LAST) == ["d1 c3"]
    events = stream("a1 a1 b2 b3", x=[1, 2, 1, 2])
    (found,) = shown(Query(seq(A, B), strategy=NEXT_MATCH, predicates=(SAME,), after_match=PAST_LAST), events)
    assert [index for index, _ in found.trend] == [1, 3]
    assert chosen(seq(A, B), stream("a1 b2 b2 a3 b4"), after_match=PAST_LAST) == ["a1 b2", "a3 b4"]
    assert chosen(seq(A, B), stream("a1 a1 b2"), per_start="longest") == ["a1 b2", "a1 b2"]


def test_skips_to_a_variable_leave_events_of_its_time():
    # TO FIRST A is at 1: the other event of 1 still begins its own. TO FIRST B takes away both, and what is before 2.
    events = stream("a1 a1 b2 b2")
    assert chosen(seq(A, B), events, after_match=AfterMatch("first", "A")) == ["a1 b2", "a1 b2"]
    assert chosen(plus(either(A, B)), events, after_match=AfterMatch("first", "B")) == ["a1 b2", "b2", "b2"]


def test_values_decide_between_events_that_nothing_else_orders():
    events = stream("a1 b2 b2", x=[1, 7, 5], y=[0, 1, 2])
    query = Query(seq(A, B), strategy=NEXT_MATCH, after_match=PAST_LAST)
    outputs = (Aggregate("LAST", "B", "x"),)
    assert [row["last_B_x"] for row in each_rows(query, events, outputs)] == [5]
    outputs = (Aggregate("LAST", "B", "y"),)
    assert [row["last_B_y"] for row in each_rows(query, events, outputs)] == [1]


def test_choosing_is_per_window_and_partition():
    events = stream("a1 a2 a3 a4", k=[1, 2, 1, 2])
    equivalence = (Attribute("k"),)
    assert chosen(plus(A), events, equivalence=equivalence, after_match=PAST_LAST) == ["a1 a3", "a2 a4"]
    query = Query(plus(A), strategy=NEXT_MATCH, after_match=PAST_LAST, window=Sliding(2, 2))
    assert words(query, stream("a0 a1 a2 a3")) == ["a0 a1", "a2 a3"]


def test_under_within_alone():
    query = Query(plus(A), strategy=NEXT_MATCH, after_match=PAST_LAST, window=Moving(3))
    found = shown(query, stream("a1 a2 a3 a4 a5"))
    assert [one.window.end for one in found] == [3, 5]
    assert words(query, stream("a1 a2 a3 a4 a5")) == ["a1 a2 a3", "a4 a5"]


def test_conditions_on_whole_matches_come_before_the_choice():
    # The longest from a1 sums up to 6; of those below 4 the longest is (a1 a2).
    events = stream("a1 a2 a3", x=[1, 2, 3])
    small = Whole(Aggregate("SUM", "A", "x"), "<", Constant(4))
    assert chosen(plus(A), events, predicates=(small,)) == ["a1", "a1 a2", "a2", "a3"]
    assert chosen(plus(A), events, predicates=(small,), after_match=PAST_LAST) == ["a1 a2", "a3"]


def test_conditions_on_whole_matches():
    events = stream("a1 b2 a3 b4", x=[3, 1, 2, 5])
    twice = plus(seq(A, B))
    last = Aggregate("LAST", "B", "x")
    first = Aggregate("FIRST", "A", "x")
    assert words(Query(twice, predicates=(Whole(last, ">", first),)), events) == ["a1 b2 a3 b4", "a1 b4", "a3 b4"]
    # A plain A.x is the latest a of the match; with no b in it the sum is NULL, and no condition holds.
    plain = Aggregate("LAST", "A", "x", plain=True)
    below = Whole(Aggregate("SUM", "B", "x"), "<", plain)
    assert words(Query(seq(A, star(B)), predicates=(below,)), events) == ["a1 b2"]
    many = Whole(Aggregate("COUNT", "B"), ">=", Constant(1))
    assert words(Query(seq(A, option(B)), predicates=(many,)), events) == ["a1 b2", "a1 b4", "a3 b4"]


def test_conditions_on_whole_matches_choose_among_complete_trends():
    events = stream("a1 a2", x=[1, 2])
    small = Whole(Aggregate("SUM", "A", "x"), "<", Constant(3))
    assert words(Query(plus(A), predicates=(small,)), events) == ["a1", "a2"]
    assert words(Query(plus(A), predicates=(small,), complete=True), events) == []


def test_skip_till_next_match_does_not_look_at_whole_matches():
    # (a1 b3) would skip b2, although (a1 b2) is not shown.
    large = Whole(Aggregate("SUM", "B", "x"), ">", Constant(3))
    assert chosen(seq(A, B), stream("a1 b2 b3", x=[0, 1, 9]), predicates=(large,)) == []


def test_aggregates_over_chosen_trends():
    aggregates = (Aggregate("COUNT"), Aggregate("AVG", attribute=LENGTH, name="mean"), Aggregate("SUM", "A", "x"))
    events = stream("a1 a2 b3 a4", x=[1, 2, 9, 4], g=["u", "u", "u", "v"])
    query = Query(plus(A), aggregates, group_by=(Attribute("g"),), complete=True)
    base = {"window_start": None, "window_end": None}
    expected = [
        base | {"g": "u", "count": 1, "mean": 2.0, "sum_A_x": 3},
        base | {"g": "v", "count": 1, "mean": 1.0, "sum_A_x": 4},
    ]
    assert_same_rows(expected, rows(query, events))
    with pytest.raises(AssertionError, match="no query"):
        rows(Query(plus(A), aggregates, complete=True, window=Moving(3)), events)


def test_lengths_of_trends():
    outputs = (Aggregate(LENGTH, name="n"), Aggregate("LAST", "A", "x"))
    assert each_rows(Query(plus(A)), stream("a1 a2", x=[1, 2]), outputs, complete=True) == [
        {"window_start": None, "window_end": None, "n": 2, "last_A_x": 2}
    ]


def test_one_row_per_event():
    query = Query(seq(A, B), group_by=(Attribute("g"),), window=Sliding(10, 10))
    (match,) = flat_rows(query, stream("a1 b2", x=[5, 6], g=["u", "u"]), (Attribute("x", "A"),))
    base = {"window_start": 0, "window_end": 10, "g": "u"}
    assert match == [
        base | {"variable": "A", "time": 1, "type": "A", "x": 5},
        base | {"variable": "B", "time": 2, "type": "B", "x": None},
    ]


def test_text():
    query = Query(
        seq(A, plus(B)),
        (Aggregate("COUNT"), Aggregate("AVG", attribute=LENGTH, name="mean")),
        predicates=(
            Whole(
                Aggregate("SUM", "B", "x"), "<", Arithmetic(Aggregate("LAST", "A", "x", plain=True), "*", Constant(2))
            ),
            Whole(Aggregate("LAST", "B", "x"), ">", Aggregate("FIRST", "A", "y")),
        ),
        strategy=CONTIGUOUS,
        complete=True,
        after_match=AfterMatch("last", "B"),
        per_start="shortest",
    )
    assert text(query).splitlines() == [
        "RETURN COMPLETE COUNT(*), AVG(LENGTH) AS mean",
        "PATTERN SEQ(A, B+)",
        "SEMANTICS contiguous",
        "WHERE SUM(B.x) < A.x * 2 AND LAST(B.x) > FIRST(A.y)",
        "AFTER MATCH SKIP TO LAST B",
        "SHORTEST PER START",
    ]
