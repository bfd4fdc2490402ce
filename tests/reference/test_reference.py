"""The twin against small cases worked out by hand, for each rule of the semantics."""

from __future__ import annotations

import itertools
import math

import pytest

from .brute_force import dropped
from .by_hand import A, B, C, D, count, moving_counts, names, one_second_apart, stream
from .comparer import assert_same_rows
from .pattern import Event, Not, begins, bounds, either, neighbours, option, plus, readings, seq, star, text, words
from .query import (
    CONTIGUOUS,
    NEXT_MATCH,
    Aggregate,
    Arithmetic,
    Attribute,
    Column,
    Constant,
    Edge,
    Local,
    Query,
    Sliding,
)
from .query import text as query_text
from .results import rows
from .scalars import calculate, holds

# ------------------------------------------------------------------------------------------------------------- patterns


@pytest.mark.parametrize("n", range(1, 11))
def test_kleene_plus_has_all_subsets(n):
    assert count(plus(A), one_second_apart("a " * n)) == 2**n - 1


PATTERNS = [
    plus(seq(star(A), option(B), star(C))),
    bounds(either(A, seq(B, C)), 2, 3),
    seq(option(A), Not(C), option(B), plus(A)),
    plus(seq(Not(C), option(A))),
    plus(either(plus(A), seq(B, C))),
    seq(A, A, plus(A)),
    bounds(A, 0, 2),
    star(seq(option(A), bounds(B, 2, None))),
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=text)
def test_the_ways_to_ask_about_words_agree(pattern):
    everything = {word for n in range(7) for word in itertools.product("ABC", repeat=n)}
    spelled = words(pattern, 6)
    assert spelled == {word for word in everything if readings(pattern, word)}
    beginnings = {word[:n] for word in spelled for n in range(3)}
    assert beginnings == {word for word in everything if len(word) <= 2 and begins(pattern, word)}
    assert neighbours(pattern) == {pair for word in spelled for pair in itertools.pairwise(word)}


def test_equal_trends_count_once():
    events = one_second_apart("a b a")
    assert count(plus(plus(A)), events) == count(plus(A), events) == 3
    assert names(Query(either(plus(A), seq(A, B))), events) == {"a1", "a3", "a1 a3", "a1 b2"}
    assert count(seq(A, A, plus(A)), one_second_apart("a a a a")) == count(
        bounds(A, 3, None), one_second_apart("a a a a")
    )


def test_two_variables_of_one_type_are_different_trends():
    x, y = Event("A", "x"), Event("A", "y")
    assert count(either(x, y), stream("a1")) == 2
    assert count(plus(either(x, y)), stream("a1 a2")) == 2 + 2 + 4


def test_ties_are_never_in_one_trend():
    assert names(Query(plus(A)), stream("a1 a1 a2")) == {"a1", "a2", "a1 a2"}
    assert count(plus(A), stream("a1 a1 a2")) == 5


def test_no_trend_is_empty():
    assert rows(Query(star(A)), stream("b1")) == []
    assert rows(Query(star(A)), []) == []


# ---------------------------------------------------------------------------------------------- predicates, selection


def test_query_text():
    query = Query(
        seq(plus(Event("Stock", "S")), Not(Event("Halt", "H")), bounds(Event("Trade", "T"), 2, 5)),
        aggregates=(Aggregate("COUNT"), Aggregate("SUM", "S", "price", name="turnover"), Aggregate("COUNT", "T")),
        predicates=(
            Local("S", Column("name"), "=", Constant("it's")),
            Edge("S", Arithmetic(Column("price"), "*", Constant(1.5)), "<", Column("price", later=True)),
        ),
        equivalence=(Attribute("company"), Attribute("vehicle", "T")),
        group_by=(Attribute("sector"), Attribute("district", "T")),
        window=Sliding(10, 3),
        strategy=NEXT_MATCH,
    )
    assert query_text(query).splitlines() == [
        "RETURN sector, T.district, COUNT(*), SUM(S.price) AS turnover, COUNT(T)",
        "PATTERN SEQ(Stock S+, NOT Halt H, Trade T{2,5})",
        "SEMANTICS skip-till-next-match",
        "WHERE [company, T.vehicle] AND S.name = 'it''s' AND S.price * 1.5 < NEXT(S).price",
        "GROUP-BY sector, T.district",
        "WITHIN 10 seconds SLIDE 3 seconds",
    ]
    assert query.column_names() == [
        "window_start", "window_end", "sector", "district", "count", "turnover", "count_T",
    ]  # fmt: skip


def test_scalars():
    nan = math.nan
    assert not any(holds(None, op, 1) or holds(1, op, None) or holds(None, op, None) for op in ("=", "!=", "<", ">="))
    assert holds(nan, "=", nan)
    assert holds(nan, ">", math.inf)
    assert holds(nan, ">=", nan)
    assert holds(1, "<", nan)
    assert not holds(nan, "!=", nan)
    assert not holds(nan, "<", 1)
    assert calculate(1, "/", 0) is None
    assert calculate(nan, "/", 0.0) is None
    assert calculate(1, "/", 2) == 0.5
    assert calculate(2**63 - 1, "+", 1) is None
    assert calculate(2**62, "*", -2) == -(2**63)
    assert calculate(1e308, "*", 10) == math.inf
    assert calculate(None, "+", 1) is None


def test_qualified_equivalence_binds_one_variable():
    events = stream("a1 b2 a3 b4", k=[1, 2, 1, None])
    assert names(Query(seq(plus(A), B), equivalence=(Attribute("k", "A"),)), events) == {
        "a1 b2", "a1 b4", "a3 b4", "a1 a3 b4",
    }  # fmt: skip
    assert names(Query(plus(seq(A, B)), equivalence=(Attribute("k", "B"),)), events) == {"a1 b2"}


def test_skip_till_next_match():
    # (a1, b4) would skip b2; (a1, b2, b4) is the way. c3 is nothing to anybody.
    events = stream("a1 b2 c3 b4")
    assert names(Query(seq(A, plus(B)), strategy=NEXT_MATCH), events) == {"a1 b2", "a1 b2 b4"}
    # A local predicate keeps b2 from being able to follow.
    large = Local("B", Column("x"), ">", Constant(0))
    events = stream("a1 b2 c3 b4", x=[0, 0, 0, 1])
    assert names(Query(seq(A, plus(B)), predicates=(large,), strategy=NEXT_MATCH), events) == {"a1 b4"}


def test_skip_till_next_match_asks_whether_an_event_agrees_with_what_is_bound():
    # b3 has another key than b2, so it cannot follow a trend with b2 in it; to a1 alone it can, and so can b2 before.
    events = stream("a1 b2 b3 b4", k=[0, 1, 2, 1])
    query = Query(seq(A, plus(B)), equivalence=(Attribute("k", "B"),), strategy=NEXT_MATCH)
    assert names(query, events) == {"a1 b2", "a1 b2 b4"}


def test_skip_till_next_match_does_not_look_at_negation():
    # b3 is not allowed by NOT C, yet it is able to follow a1: (a1, b4) skips it, and nothing is left.
    events = stream("a1 c2 b3 b4")
    assert names(Query(seq(A, Not(C), B), strategy=NEXT_MATCH), events) == set()
    # Only b4 is stopped here, and (a1, b3) is not.
    assert names(Query(seq(A, Not(C), B), strategy=NEXT_MATCH), stream("a1 b2 c3 b4")) == {"a1 b2"}


def test_contiguous_sees_every_event_of_the_partition():
    events = stream("a1 z2 a3 a4", k=[1, 2, 1, 1])
    assert names(Query(plus(A), strategy=CONTIGUOUS), events) == {"a1", "a3", "a4", "a3 a4"}
    apart = Query(plus(A), equivalence=(Attribute("k"),), strategy=CONTIGUOUS)
    assert names(apart, events) == {"a1", "a3", "a4", "a1 a3", "a3 a4", "a1 a3 a4"}


# ------------------------------------------------------------------------------------------------------------- negation


def test_leading_and_trailing_negation_end_with_the_window():
    assert names(Query(seq(Not(C), A)), stream("a1 c1 a2 c3")) == {"a1"}
    assert names(Query(seq(A, Not(C))), stream("a1 c3 a3 a4")) == {"a3", "a4"}
    result = rows(Query(seq(A, Not(C)), window=Sliding(2, 2)), stream("a0 c2 a2 c3"))
    assert_same_rows([{"window_start": 0, "window_end": 2, "count": 1}], result)


def test_negation_with_optional_neighbours():
    # SEQ(A, NOT N, B?, C): without a b the gap is from a to c.
    pattern = seq(A, Not(Event("N")), option(B), C)
    assert names(Query(pattern), stream("a1 b2 n3 c4")) == {"a1 b2 c4"}
    assert names(Query(pattern), stream("a1 n2 b3 c4")) == set()


def test_a_trend_is_valid_if_one_reading_is():
    pattern = either(seq(A, Not(C), B), seq(A, Not(D), B))
    assert count(pattern, stream("a1 c2 b3")) == 1
    assert count(pattern, stream("a1 c2 d2 b3")) == 0


def test_trailing_negation_in_a_moving_window_is_no_query_for_aggregates():
    with pytest.raises(AssertionError, match="nothing can have followed"):
        moving_counts(seq(A, Not(C)), 3, stream("a1 c2 a3"))
    with pytest.raises(AssertionError, match="nothing can have followed"):
        moving_counts(seq(A, Not(C), option(B)), 3, stream("a1 c2 a3"))
    assert moving_counts(seq(A, Not(C), B), 3, stream("a1 b2")) == {2: 1}


def test_nested_negation():
    # NOT SEQ(C, NOT E, D): a match of it is c ... d with no e between.
    pattern = seq(A, Not(seq(C, Not(Event("E")), D)), B)
    assert names(Query(pattern), stream("a1 c2 d3 b4")) == set()
    assert names(Query(pattern), stream("a1 c2 e3 d4 b5")) == {"a1 b5"}
    assert names(Query(pattern), stream("a1 c2 e2 d4 b5")) == set()


def test_negated_events_share_the_partition_and_have_predicates():
    pattern = seq(A, Not(C), B)
    events = stream("a1 c2 b3", k=[1, 2, 1])
    assert count(pattern, events) == 0
    assert count(pattern, events, equivalence=(Attribute("k"),)) == 1
    assert count(pattern, events, predicates=(Local("C", Column("k"), ">", Constant(2)),)) == 1


# --------------------------------------------------------------------------------------------------- groups and results


def test_null_group_is_a_group_and_null_key_is_none():
    events = stream("a1 a2 a3", g=[None, None, "u"])
    base = {"window_start": None, "window_end": None}
    grouped = rows(Query(plus(A), group_by=(Attribute("g"),)), events)
    assert_same_rows([base | {"g": None, "count": 3}, base | {"g": "u", "count": 1}], grouped)
    known = rows(Query(plus(A), equivalence=(Attribute("g"),), group_by=(Attribute("g"),)), events)
    assert_same_rows([base | {"g": "u", "count": 1}], known)


def test_nan_is_one_key():
    nans = [float("nan"), float("nan"), 1.0]
    assert names(Query(plus(A), equivalence=(Attribute("k"),)), stream("a1 a2 a3", k=nans)) == {
        "a1",
        "a2",
        "a1 a2",
        "a3",
    }
    assert len(rows(Query(plus(A), group_by=(Attribute("k"),)), stream("a1 a2 a3", k=nans))) == 2


def test_group_by_one_variable():
    events = stream("a1 b2 b3", g=["x", "u", "v"])
    base = {"window_start": None, "window_end": None}
    result = rows(Query(seq(A, star(B)), group_by=(Attribute("g", "B"),)), events)
    assert_same_rows([base | {"g": group, "count": 1} for group in (None, "u", "v")], result)


def test_aggregates():
    functions = tuple(Aggregate(f, "A", "x") for f in ("SUM", "MIN", "MAX", "AVG"))
    query = Query(plus(A), aggregates=(Aggregate("COUNT"), Aggregate("COUNT", "A"), *functions))
    base = {"window_start": None, "window_end": None, "count": 3, "count_A": 4}
    # a1 and a2 are each in two trends.
    some_null = base | {"sum_A_x": 6, "min_A_x": 3, "max_A_x": 3, "avg_A_x": 3.0}
    assert_same_rows([some_null], rows(query, stream("a1 a2", x=[3, None])))
    all_null = base | {"sum_A_x": None, "min_A_x": None, "max_A_x": None, "avg_A_x": None}
    assert_same_rows([all_null], rows(query, stream("a1 a2", x=[None, None])))
    one_nan = base | {"sum_A_x": math.nan, "min_A_x": 0.5, "max_A_x": math.nan, "avg_A_x": math.nan}
    assert_same_rows([one_nan], rows(query, stream("a1 a2", x=[0.5, math.nan])))


def test_moving_window_rows_stand_where_a_trend_ends():
    events = stream("a1 b2 a3 b5")
    assert moving_counts(seq(A, B), 4, events) == {2: 1, 5: 1}
    assert moving_counts(plus(A), 3, events) == {1: 1, 3: 3}


def test_rows_without_time_or_type_are_dropped():
    events = [{"time": None, "type": "A"}, {"time": 1, "type": None}, {"time": 1, "type": "A"}]
    assert dropped(events) == 2
    assert count(plus(A), events) == 1


# ------------------------------------------------------------------------------------------------------------- comparer

ROW = {"g": "u", "count": 2, "sum": 0.5}


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ([ROW], []),
        ([], [ROW]),
        ([ROW], [ROW, ROW]),
        ([ROW, ROW], [ROW, ROW | {"count": 3}]),
        ([ROW], [ROW | {"count": 2.0}]),
        ([ROW], [ROW | {"sum": 0.5 + 1e-8}]),
        ([ROW], [ROW | {"sum": math.nan}]),
        ([ROW], [ROW | {"sum": None}]),
        ([ROW], [ROW | {"extra": None}]),
        ([{"count": 2**70}], [{"count": 2**70 + 1}]),
    ],
)
def test_the_comparer_fails_on_different_rows(expected, actual):
    with pytest.raises(AssertionError, match="the rows differ"):
        assert_same_rows(expected, actual)


def test_the_comparer_accepts_equal_rows_in_any_order():
    nan = ROW | {"sum": math.nan}
    assert_same_rows([ROW, nan, ROW], [ROW, dict(reversed(ROW.items())), nan | {"sum": float("nan")}])
    assert_same_rows([ROW], [ROW | {"sum": 0.5 * (1 + 1e-10)}])
