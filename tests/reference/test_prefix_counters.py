"""Counters against every trend written down, on random streams and on the worked examples of the papers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples

from . import prefix_counters
from .brute_force import Row
from .by_hand import A, B, C, D, one_second_apart, stream
from .comparer import assert_same_rows
from .counted_streams import counted_cases
from .pattern import Pattern, bounds, option, plus, seq, star, variable_types, words
from .prefix_counters import Counting, after, beginning, is_complete
from .query import Aggregate, Attribute, Edge, Moving, Query, Session, Sliding, text
from .results import rows
from .streams import patterns
from .test_paper_examples import BURSTS, FIGURE_4

few = examples(30)


def assert_as_written_down(query: Query, events: list[Row]) -> None:
    expected = rows(query, events)
    assert_same_rows(expected, prefix_counters.rows(query, events), text(query))
    if isinstance(query.window, Sliding):
        assert_same_rows(expected, prefix_counters.rows_of_panes(query, events), text(query))


def count(pattern: Pattern, events: list[Row], **clauses: object) -> int:
    return sum(row["count"] for row in prefix_counters.rows(Query(pattern, **clauses), events))


@few
@given(counted_cases(max_events=7))
def test_counters_tell_what_the_trends_tell(case: tuple[Query, list[Row]]):
    query, events = case
    # Decimals are for engines: here each value that is drawn is one that the comparer knows.
    aggregates = tuple(a for a in query.aggregates if a.attribute != "d") or (Aggregate("COUNT"),)
    query = Query(query.pattern, aggregates, query.predicates, query.equivalence, query.group_by, window=query.window)
    assert_as_written_down(query, events)


@few
@given(counted_cases(max_events=6), st.sampled_from([Moving(4), Moving(9), Session(2), Session(3), None]))
def test_counters_of_other_windows(case: tuple[Query, list[Row]], window: object):
    query, events = case
    assert_as_written_down(
        Query(query.pattern, predicates=query.predicates, group_by=query.group_by, window=window), events
    )


@few
@given(patterns(negation=False))
def test_states_spell_the_words_of_a_pattern(pattern: Pattern):
    spelled, reached = set(), {(): beginning(pattern)}
    for _ in range(5):
        spelled |= {word for word, state in reached.items() if is_complete(state)}
        reached = {
            (*word, name): after(state, name)
            for word, state in reached.items()
            for name in variable_types(pattern)
            if after(state, name)
        }
    assert spelled == words(pattern, 4)


def test_decimals_are_added_exactly():
    events = stream("a1 a2", d=[Decimal("0.10"), Decimal("0.20")])
    found = prefix_counters.rows(Query(plus(A), (Aggregate("SUM", "A", "d"),)), events)
    assert [row["sum_A_d"] for row in found] == [Fraction(6, 10)]


def test_what_counters_cannot_tell_is_refused():
    edge = Edge("A", Attribute("x"), "<", Attribute("x"))
    for query in (Query(plus(A), predicates=(edge,)), Query(plus(A), group_by=(Attribute("g", "A"),))):
        with pytest.raises(AssertionError):
            prefix_counters.rows(query, [])


# ------------------------------------------------------------------------------------------------ the papers' examples


def test_aseq_figure_2_and_4():
    assert count(seq(A, B, C), one_second_apart("a b c a b c")) == 4
    # Figure 4: a b adds the three a's to the two (a, b) that are there.
    counting = Counting(Query(seq(A, B)), one_second_apart("a a b a b"))
    before = counting.count([0, 1, 2, 3])
    only_a = after(counting.start, "A")
    assert (before[only_a].number, counting.trends(before).number) == (3, 2)
    assert counting.trends(counting.count([0, 1, 2, 3, 4])).number == 5


def test_aseq_figure_6_and_example_1():
    figure_6 = prefix_counters.rows(Query(seq(A, B, C, D), window=Moving(7)), one_second_apart("a b c a c b d c a d"))
    assert {row["time"]: row["count"] for row in figure_6} == {7: 2, 10: 1}
    example_1 = prefix_counters.rows(Query(seq(A, B, C), window=Moving(5)), stream("a1 b2 c3 c4 b6"))
    assert {row["time"]: row["count"] for row in example_1} == {3: 1, 4: 2}


def test_aseq_example_5():
    events = one_second_apart("a a b a b c d", id=[1, 2, 1, 1, 2, 1, 1])
    assert count(seq(A, B, C, D), events, equivalence=(Attribute("id"),)) == 1
    grouped = prefix_counters.rows(Query(seq(A, B), group_by=(Attribute("id"),)), events)
    assert {row["id"]: row["count"] for row in grouped} == {1: 1, 2: 1}


def test_greta_figure_4():
    assert count(plus(A), FIGURE_4) == 15
    assert count(seq(plus(A), B), FIGURE_4) == 23
    assert count(plus(seq(plus(A), B)), FIGURE_4) == 43


def test_greta_figure_6():
    events = [event | {"time": event["time"] - 1} for event in FIGURE_4]
    query = Query(plus(seq(plus(A), B)), window=Sliding(10, 3))
    for found in (prefix_counters.rows(query, events), prefix_counters.rows_of_panes(query, events)):
        assert {row["window_start"]: row["count"] for row in found} == {-6: 1, -3: 11, 0: 43, 3: 5, 6: 1}


def test_hamlet_table_4():
    assert count(seq(A, plus(B)), one_second_apart(BURSTS)) == 132
    assert count(seq(C, plus(B)), one_second_apart(BURSTS)) == 72


def test_counts_grow_without_limit():
    events = one_second_apart(" ".join("a" * 200))
    assert count(plus(A), events) == 2**200 - 1
    assert count(bounds(A, 2, None), events) == 2**200 - 1 - 200
    assert count(seq(A, star(B), option(C)), events) == 200
