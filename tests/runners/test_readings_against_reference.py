"""Readings of one trend that differ in their NOTs, against the reference twin: aggregates and lists, every strategy."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import Event, Not, Or, Pattern, neighbours, option, plus, seq, star
from tests.reference.pattern import text as pattern_text
from tests.reference.query import (
    COUNT_ALL,
    STRATEGIES,
    Aggregate,
    Attribute,
    Column,
    Edge,
    Moving,
    Query,
    Sliding,
    text,
)
from tests.reference.results import rows
from tests.reference.streams import event_streams, queries_and_streams
from tests.reference.trend_rows import shown_text, trend_rows
from tests.runners.reference_tables import rows_of, table_of
from trendweave.errors import PlanningError

A, AA, B, C = Event("A", "a"), Event("A", "aa"), Event("B", "b"), Event("C", "c")
N, M = Event("N"), Event("M", "m")

PATTERNS = (
    seq(A, Not(N), Not(M), B),
    seq(Not(N), Not(M), plus(A), Not(N)),
    seq(plus(A), Not(N), A),
    seq(plus(A), Not(N), A, Not(M)),
    seq(plus(Or((A, B))), Not(N), A, option(B)),
    Or((seq(A, Not(N), B, C), seq(A, B, A))),
    Or((seq(A, Not(N), B, C), seq(A, Not(M), B, A), seq(A, B, B))),
    Or((seq(A, Not(seq(N, M)), B, C), seq(A, Not(N), B, plus(A)))),
    seq(star(A), Not(N), star(Or((A, B))), Not(M), A),
    # The beginning of a trend.
    Or((seq(Not(N), A, B), seq(A, C))),
    Or((seq(Not(N), A, plus(B)), seq(A, Or((B, C))))),
    Or((seq(Not(N), A, plus(B)), seq(Not(M), A, B, option(B)))),
    Or((seq(Not(N), A, Not(M), plus(B)), seq(A, Or((B, C))))),
    seq(star(A), Not(N), star(A), B),
    plus(Or((seq(Not(N), A), seq(B, Not(M), A), A))),
    Or((seq(A, option(AA), Not(N), B), seq(Or((A, AA)), B, C))),
    # Beginning and end.
    Or((seq(Not(N), A), seq(A, Not(M)))),
    Or((seq(Not(N), plus(A), Not(M)), seq(A, Not(seq(option(M), Not(C), N)), B))),
)


@hs.composite
def cases(draw: hs.DrawFn) -> tuple[Query, list[dict]]:
    pattern: Pattern = draw(hs.sampled_from(PATTERNS))
    within = draw(hs.integers(2, 10))
    rising = (Edge("a", Column("x"), "<=", Column("x", later=True)),)
    query = Query(
        pattern,
        aggregates=draw(
            hs.sampled_from([(COUNT_ALL,), (COUNT_ALL, Aggregate("SUM", "a", "x"), Aggregate("MIN", "a", "y"))])
        ),
        predicates=draw(hs.sampled_from([(), rising])) if ("a", "a") in neighbours(pattern) else (),
        group_by=draw(hs.sampled_from([(), (), (Attribute("k"),)])),
        window=draw(hs.sampled_from([None, Sliding(within, draw(hs.integers(1, within)))])),
        strategy=draw(hs.sampled_from(STRATEGIES)),
    )
    return query, draw(event_streams(pattern, null_rows=False))


@given(cases())
@examples(60)
def test_aggregates(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    found = trendweave.query(text(query)).run(table_of(events))
    assert_same_rows(rows(query, events), rows_of(found), text(query))


@given(cases(), hs.booleans(), hs.booleans())
@examples(80)
def test_lists(case: tuple[Query, list[dict]], complete: bool, moving: bool) -> None:
    query, events = case
    if moving:
        query = replace(query, window=Moving(query.window.within if isinstance(query.window, Sliding) else 5))
    try:
        asked = trendweave.query(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x)"))
    except PlanningError as refused:
        # What only a window that is not the trend's own can tell.
        assert moving
        assert {problem.code for problem in refused.problems} <= {"TW205", "TW209", "TW231"}, refused  # noqa: PT017
        return
    found, expected = rows_of(asked.run(table_of(events))), trend_rows(query, events, (Attribute("x"),), complete)
    assert Counter(map(repr, found)) == Counter(map(repr, expected)), str(asked)


@given(hs.booleans().flatmap(lambda on: queries_and_streams(nots=True, empty=False, conjunction=False, session=on)))
@examples(80)
def test_every_not(case: tuple[Query, list[dict]]) -> None:
    """Several in a gap, and under NOT some that begin or end with one."""
    query, events = case
    try:
        asked = trendweave.query(text(query))
    except PlanningError as refused:
        # Parts that may match nothing; skip-till-next-match and keys of one variable.
        assert {problem.code for problem in refused.problems} <= {"TW206", "TW207", "TW223"}, refused  # noqa: PT017
        return
    assert_same_rows(rows(query, events), rows_of(asked.run(table_of(events))), text(query))


def test_there_is_something_to_test() -> None:
    """Most of the patterns need states or transitions that only the NOTs tell apart."""
    split = 0
    for pattern in PATTERNS:
        template = trendweave.query(f"RETURN COUNT(*) PATTERN {pattern_text(pattern)}").plan.template
        names = [template.states[start.state].variable for start in template.starts]
        split += any(step.closed.alternatives for step in template.transitions) or len(set(names)) < len(names)
    assert split >= 12, split
