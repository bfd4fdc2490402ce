"""Which matches are certain, against what any few events that may still come make of them."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples

from .brute_force import Found, Row
from .by_hand import A, B, C, stream
from .certainty import certain
from .detection import listed
from .pattern import Event, bounds, either, option, plus, seq
from .query import ANY_MATCH, CONTIGUOUS, NEXT_MATCH, AfterMatch, Anchor, Anchored, Column, Moving, Query
from .streams import queries_and_streams

PATTERNS = (
    seq(A, B),
    seq(plus(A), B),
    seq(A, plus(B)),
    seq(bounds(A, 2, 3), option(B)),
    either(seq(A, B, C), B),
    seq(A, option(B), C),
    seq(plus(A), Event("A", "aa")),
)
#: Of these, whatever has begun up to a trend and goes on may hold it.
COMPLETE_PATTERNS = (
    seq(A, B),
    bounds(A, 3, 3),
    seq(A, B, A),
    seq(plus(A), B),
    seq(A, plus(B)),
    plus(A),
    seq(A, option(B), C),
    seq(A, B, option(C)),
)
CLAUSES = (
    {"after_match": AfterMatch("past last")},
    {"after_match": AfterMatch("next")},
    {"per_start": "longest"},
    {"per_start": "shortest"},
    {"after_match": AfterMatch("past last"), "per_start": "shortest"},
)


def shown_trends(found: list[Found]) -> set[tuple]:
    return {one.trend for one in found}


def events_of(types: str, first: int = 1) -> list[Row]:
    return stream(" ".join(f"{one}{first + place}" for place, one in enumerate(types)))


@given(
    hs.sampled_from(PATTERNS),
    hs.sampled_from(CLAUSES),
    hs.sampled_from([NEXT_MATCH, CONTIGUOUS]),
    hs.text("abc", min_size=1, max_size=4),
    hs.integers(2, 6),
)
@examples(150)
def test_certain_is_what_no_continuation_changes(pattern, clause: dict, strategy: str, types: str, within: int) -> None:
    """Without predicates and ties the next two events are enough to tell."""
    query = Query(pattern, window=Moving(within), strategy=strategy, **clause)
    known, after = events_of(types), len(types) + 1
    always = shown_trends(listed(query, known))
    for more in (word for size in (1, 2) for word in product("abc", repeat=size)):
        always &= shown_trends(listed(query, known + events_of("".join(more), after)))
    assert shown_trends(certain(query, known, after)) == always, (types, query)


@given(
    queries_and_streams(choice=True, negation=False, empty=False, conjunction=False, lists=True, moving=True),
    hs.integers(-2, 20),
)
@examples(150)
def test_what_is_certain_stays(case: tuple[Query, list[Row]], watermark: int) -> None:
    """Ties, predicates and conditions on whole matches: what comes later changes none of it."""
    query, events = case
    assert shown_trends(certain(query, events, watermark)) <= shown_trends(listed(query, events))


@given(queries_and_streams(complete=True, empty=False, conjunction=False, lists=True, moving=True), hs.integers(-2, 20))
@examples(150)
def test_what_is_complete_or_ends_with_not_stays(case: tuple[Query, list[Row]], watermark: int) -> None:
    query, events = case
    assert shown_trends(certain(query, events, watermark)) <= shown_trends(listed(query, events))


@given(
    hs.sampled_from(COMPLETE_PATTERNS),
    hs.sampled_from([NEXT_MATCH, CONTIGUOUS, ANY_MATCH]),
    hs.text("abc", min_size=1, max_size=4),
    hs.integers(2, 6),
)
@examples(150)
def test_complete_is_certain_when_no_continuation_changes_it(pattern, strategy: str, types: str, within: int) -> None:
    query = Query(pattern, window=Moving(within), strategy=strategy, complete=True)
    known, after = events_of(types), len(types) + 1
    always = shown_trends(listed(query, known))
    for more in (word for size in (1, 2) for word in product("abc", repeat=size)):
        always &= shown_trends(listed(query, known + events_of("".join(more), after)))
    assert shown_trends(certain(query, known, after)) == always, (types, query)


def test_a_longer_match_may_follow_or_not():
    longest = {"strategy": CONTIGUOUS, "per_start": "longest", "window": Moving(10)}
    events = stream("a1 a2 b3")
    assert not certain(Query(plus(A), **longest), events, 3)
    assert len(certain(Query(plus(A), **longest), events, 4)) == 2
    assert len(certain(Query(seq(plus(A), B), **longest), events, 4)) == 2
    assert len(certain(Query(plus(A), **longest), stream("a1 a2"), 11)) == 1


def test_of_one_time_the_shortest_wait_for_beginnings_without_a_match():
    shortest = {"strategy": NEXT_MATCH, "per_start": "shortest", "window": Moving(10)}
    query = Query(seq(A, plus(B)), **shortest)
    assert len(certain(query, stream("a1 a1 b2"), 3)) == 2
    equal = Anchor("B", Anchored("LATEST", "A", "x"), "=", Column("x"))
    same = Query(seq(A, plus(B)), predicates=(equal,), **shortest)
    events = stream("a1 a1 b2", x=[1, 2, 1])
    assert not certain(same, events, 3)
    assert len(certain(same, [*events, *stream("b3", x=[2])], 4)) == 2
