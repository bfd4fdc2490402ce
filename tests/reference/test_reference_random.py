"""The twin against itself on random queries and streams: growing trends finds what trying everything finds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from .brute_force import Matcher, Row, Trend, pairs, scopes, trends
from .comparer import assert_same_rows
from .pattern import And, Pattern, begins, is_of, neighbours, readings, variable_types, words
from .query import ANY_MATCH, CONTIGUOUS, NEXT_MATCH, Query, predicate_text
from .results import rows
from .streams import patterns, queries_and_streams

few = settings(max_examples=150, deadline=None, print_blob=True)


def trends_by_trying_everything(matcher: Matcher, pattern: Pattern, strategy: str) -> Iterator[Trend]:
    """Every choice of events in every reading, each held against each sentence of the definition of a trend."""
    language, types = words(pattern, len(matcher.members)), variable_types(pattern)
    for size in range(1, len(matcher.members) + 1):
        for chosen in itertools.combinations(matcher.members, size):
            for word in itertools.product(types, repeat=size):
                trend = tuple(zip(chosen, word, strict=True))
                if (
                    word in language
                    and all(is_of(matcher.rows[index]["type"], types[variable]) for index, variable in trend)
                    and all(matcher.moment(p) < matcher.moment(e) for p, e in itertools.pairwise(trend))
                    and all(matcher.local_predicates_hold(pair) for pair in trend)
                    and all(matcher.edge_predicates_hold(p, e) for p, e in itertools.pairwise(trend))
                    and all(matcher.anchor_predicates_hold(trend[:place], trend[place]) for place in range(size))
                    and matcher.qualified_attributes_agree(trend)
                    and all(
                        matcher.skips_nothing(pattern, strategy, trend[:place], matcher.moment(trend[place]))
                        for place in range(1, size)
                    )
                    and any(
                        all(no_match_in_gap(matcher, trend, place, body) for place, body in guards)
                        for guards in readings(pattern, word)
                    )
                ):
                    yield trend


def no_match_in_gap(matcher: Matcher, trend: Trend, place: int, body: Pattern) -> bool:
    for match in trends_by_trying_everything(matcher, body, ANY_MATCH):
        starts_after = place == 0 or matcher.moment(trend[place - 1]) < matcher.moment(match[0])
        ends_before = place == len(trend) or matcher.moment(match[-1]) < matcher.moment(trend[place])
        if starts_after and ends_before:
            return False
    return True


@few
@given(
    queries_and_streams(max_events=5, conjunction=False, anchors=True)
    | queries_and_streams(max_events=5, conjunction=False, session=True)
    | queries_and_streams(max_events=5, conjunction=False, nots=True)
)
def test_growing_trends_finds_the_same_as_trying_everything(query_and_stream: tuple[Query, list[Row]]):
    query, events = query_and_stream
    tried = [
        (window, partition, trend)
        for window, partition, members in scopes(query, events)
        for trend in trends_by_trying_everything(Matcher(query, events, members), query.pattern, query.strategy)
    ]
    found = [(found.window, found.partition, found.trend) for found in trends(query, events)]
    assert len(found) == len(set(found)), "a trend was found twice in one window"
    assert set(found) == set(tried)


@few
@given(
    queries_and_streams(anchors=True) | queries_and_streams(session=True) | queries_and_streams(nots=True),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_makes_no_difference(query_and_stream: tuple[Query, list[Row]], random):
    query, events = query_and_stream
    result = rows(query, events)
    assert all(list(row) == query.column_names() for row in result)
    shuffled = list(events)
    random.shuffle(shuffled)
    assert_same_rows(result, rows(query, shuffled))


@few
@given(queries_and_streams(conjunction=False, anchors=True))
def test_stricter_selection_finds_fewer_trends(query_and_stream: tuple[Query, list[Row]]):
    query, events = query_and_stream
    any_match, next_match, contiguous = (
        set(trends(replace(query, strategy=strategy), events)) for strategy in (ANY_MATCH, NEXT_MATCH, CONTIGUOUS)
    )
    assert contiguous <= next_match <= any_match


@few
@given(queries_and_streams(max_events=6, conjunction=True))
def test_pairs_of_a_conjunction_are_as_many_as_greta_says(query_and_stream: tuple[Query, list[Row]]):
    query, events = query_and_stream
    assert isinstance(query.pattern, And)
    left = trends(replace(query, pattern=query.pattern.left), events)
    right = trends(replace(query, pattern=query.pattern.right), events)
    matched = pairs(query, events)
    for place in {(found.window, found.partition) for found in left + right}:
        of_left = {found.trend for found in left if (found.window, found.partition) == place}
        of_right = {found.trend for found in right if (found.window, found.partition) == place}
        both = len(of_left & of_right)
        only_left, only_right = len(of_left) - both, len(of_right) - both
        expected = only_left * only_right + only_left * both + only_right * both + both * (both - 1) // 2
        assert len(matched.get(place, set())) == expected


@few
@given(patterns())
def test_the_ways_to_ask_about_words_agree(pattern: Pattern):
    letters = sorted(variable_types(pattern))
    spelled = words(pattern, 5)
    everything = {word for n in range(6) for word in itertools.product(letters, repeat=n)}
    assert spelled == {word for word in everything if readings(pattern, word)}
    assert all(begins(pattern, word[:n]) for word in spelled for n in range(len(word) + 1))


@few
@given(patterns(negation=False))
def test_neighbours_in_words_are_neighbours(pattern: Pattern):
    assert {pair for word in words(pattern, 6) for pair in itertools.pairwise(word)} <= neighbours(pattern)


@few
@given(queries_and_streams(max_events=1, anchors=True))
def test_every_drawn_predicate_can_be_written(query_and_stream: tuple[Query, list[Row]]):
    query, _ = query_and_stream
    assert all(predicate_text(predicate, query.pattern) for predicate in query.predicates)
