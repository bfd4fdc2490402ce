"""Sessions, several NOTs in a gap, NOTs of NOTs at the ends, and pairs in moving windows, worked out by hand."""

from __future__ import annotations

from .by_hand import A, B, C, D, E, count, names, stream
from .comparer import assert_same_rows
from .pattern import And, Event, Not, either, option, plus, seq
from .query import NEXT_MATCH, Attribute, Moving, Query, Session, text
from .results import rows
from .trend_rows import shown

# ------------------------------------------------------------------------------------------------------------- sessions


def session_counts(query: Query, events: list[dict]) -> list[tuple]:
    return sorted((row["window_start"], row["window_end"], row["count"]) for row in rows(query, events))


def test_a_session_ends_with_a_pause():
    # Three seconds apart is a pause of three.
    assert session_counts(Query(plus(A), window=Session(3)), stream("a1 a2 a4 a7")) == [(1, 7, 7), (7, 10, 1)]


def test_events_of_any_type_keep_a_session_alive():
    query = Query(seq(A, B), window=Session(3))
    assert session_counts(query, stream("a1 z3 b5")) == [(1, 8, 1)]
    assert session_counts(query, stream("a1 b5")) == []
    assert session_counts(Query(A, window=Session(3)), stream("z1 a2 z4")) == [(1, 7, 1)]


def test_sessions_belong_to_a_partition():
    events = stream("a1 a2 a3 a4", k=[1, 2, 1, 2])
    assert session_counts(Query(plus(A), window=Session(3), equivalence=(Attribute("k"),)), events) == [
        (1, 6, 3), (2, 7, 3),
    ]  # fmt: skip
    # Of equal times they are still two.
    events = stream("a1 a1", k=[1, 2])
    assert session_counts(Query(A, window=Session(3), equivalence=(Attribute("k"),)), events) == [(1, 4, 1), (1, 4, 1)]
    assert session_counts(Query(A, window=Session(3)), events) == [(1, 4, 2)]


def test_groups_of_one_variable_share_sessions():
    events = stream("a1 b2 b3", g=["x", "u", "v"])
    found = rows(Query(seq(A, B), window=Session(3), group_by=(Attribute("g", "B"),)), events)
    base = {"window_start": 1, "window_end": 6, "count": 1}
    assert_same_rows([base | {"g": "u"}, base | {"g": "v"}], found)


def test_nots_and_lists_end_with_the_session():
    query = Query(seq(A, Not(C)), window=Session(3))
    assert names(query, stream("a1 c5 a6 c7")) == {"a1"}
    assert [found.window.end for found in shown(query, stream("a1 c5"), complete=True)] == [4]
    assert "WITHIN SESSION 3 seconds" in text(query)


# ----------------------------------------------------------------------------------------------------------------- gaps


def test_several_nots_in_one_gap():
    pattern = seq(A, Not(C), Not(D), B)
    assert names(Query(pattern), stream("a1 b2 c3 b4")) == {"a1 b2"}
    assert names(Query(pattern), stream("a1 b2 d3 b4")) == {"a1 b2"}
    # SEQ(A, NOT C, B?, NOT D, E): without a b both guard the gap from a to e.
    around = seq(A, Not(C), option(B), Not(D), E)
    assert names(Query(around), stream("a1 b2 c3 e4")) == {"a1 b2 e4"}
    assert names(Query(around), stream("a1 d2 b3 e4")) == {"a1 b3 e4"}
    assert names(Query(around), stream("a1 c2 b3 e4")) == set()


def test_readings_that_differ_only_in_their_nots():
    pattern = either(seq(A, Not(C), B), seq(A, B), seq(Not(D), A, B))
    assert count(pattern, stream("d1 a2 c3 b4")) == 1


def test_a_negated_pattern_that_ends_with_a_not_where_its_last_part_is_left_out():
    # NOT SEQ(C, NOT D, E?): a c that no d follows until the window ends, or a c and an e with no d between.
    pattern = seq(A, Not(seq(C, Not(D), option(E))), B)
    assert names(Query(pattern), stream("a1 c2 b3")) == set()
    # d4 comes after b3, and still forgives c2.
    assert names(Query(pattern), stream("a1 c2 b3 d4")) == {"a1 b3"}
    assert names(Query(pattern), stream("a1 c2 e3 b4 d5")) == set()
    assert names(Query(pattern), stream("a1 c2 d3 e4 b5")) == {"a1 b5"}


def test_a_negated_pattern_that_begins_with_a_not_where_its_first_part_is_left_out():
    # NOT SEQ(C?, NOT D, E): an e before which the window has no d, or a c and an e with no d between.
    pattern = seq(A, Not(seq(option(C), Not(D), E)), B)
    assert names(Query(pattern), stream("a1 e2 b3")) == set()
    assert names(Query(pattern), stream("d0 a1 e2 b3")) == {"a1 b3"}
    assert names(Query(pattern), stream("d0 a1 c2 e3 b4")) == set()


# ---------------------------------------------------------------------------------------------------------------- pairs


def pair_counts(query: Query, events: list[dict]) -> dict[int, int]:
    return {row["time"]: row["count"] for row in rows(query, events)}


def test_pairs_in_a_moving_window():
    # At 2: (a1, b2). At 3: a1 and a3 with b2. At 4, (1, 4]: b4 and b2 with a3. At 8 b8 is alone.
    events = stream("a1 b2 a3 b4 b8")
    assert pair_counts(Query(And(A, B), window=Moving(3)), events) == {2: 1, 3: 2, 4: 2}


def test_a_row_stands_where_a_trend_of_the_group_ends():
    # The pair is of k = 1; at 3 a trend of k = 2 ends, and the group is the same.
    events = stream("a1 b2 a3", k=[1, 1, 2])
    query = Query(And(A, B), window=Moving(5), equivalence=(Attribute("k"),))
    assert pair_counts(query, events) == {2: 1, 3: 1}


def test_each_side_is_matched_by_its_own_pattern():
    # For SEQ(A, B) c2 is nothing to skip; for SEQ(A, C) b3 is not.
    events = stream("a1 c2 b3")
    query = Query(And(seq(A, B), seq(A, C)), strategy=NEXT_MATCH)
    assert [row["count"] for row in rows(query, events)] == [1]


def test_keys_of_one_variable_bind_each_trend_for_itself():
    events = stream("a1 a2 b3", k=[1, 2, 7])
    query = Query(And(Event("A", "a"), plus(Event("A", "a"))), equivalence=(Attribute("k", "a"),))
    # Trends of both sides: a1 and a2; (a1 a2) has two keys. So there is the one pair {a1, a2}.
    assert [row["count"] for row in rows(query, events)] == [1]
