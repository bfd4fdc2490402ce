"""Pairs of trends (AND) against the reference twin: NOTs on the sides, windows and strategies, keys of one variable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import And, Event, Not, Or, bounds, option, plus, seq
from tests.reference.query import NEXT_MATCH, STRATEGIES, Attribute, Column, Edge, Moving, Query, Sliding, text
from tests.reference.results import rows
from tests.reference.streams import event_streams
from tests.runners.reference_tables import rows_of, table_of

A, B, C, N, M = Event("A", "a"), Event("B", "b"), Event("C", "c"), Event("N"), Event("M", "m")

SIDES = (
    A,
    plus(A),
    bounds(A, 2, 3),
    seq(A, B),
    seq(A, option(B), option(C)),
    seq(plus(A), Not(N), A),
    Or((seq(A, Not(N), B, C), seq(A, B, A))),
    Or((seq(Not(N), A, B), seq(A, C))),
    Or((seq(Not(M), A, plus(B)), seq(A, Or((B, C))))),
    seq(Not(M), plus(Or((A, B)))),
    plus(Or((A, B))),
    plus(Or((A, seq(B, Not(N), C)))),
)


@hs.composite
def cases(draw: hs.DrawFn) -> tuple[Query, list[dict]]:
    left = draw(hs.sampled_from(SIDES))
    pattern = And(left, left if draw(hs.integers(0, 3)) == 0 else draw(hs.sampled_from(SIDES)))
    within = draw(hs.integers(2, 10))
    strategy = draw(hs.sampled_from(STRATEGIES))
    query = Query(
        pattern,
        predicates=draw(hs.sampled_from([(), (Edge("a", Column("x"), "<=", Column("x", later=True)),)]))
        if plus(A) in (pattern.left, pattern.right)
        else (),
        # Keys of one variable and skip-till-next-match do not go together yet.
        equivalence=draw(hs.sampled_from([(), (Attribute("k", "a"),), (Attribute("g"), Attribute("k", "a"))]))
        if strategy != NEXT_MATCH
        else (),
        group_by=draw(hs.sampled_from([(), (), (Attribute("g"),)])),
        window=draw(hs.sampled_from([None, Moving(within), Sliding(within, draw(hs.integers(1, within)))])),
        strategy=strategy,
    )
    return query, draw(event_streams(pattern, null_rows=False))


@given(cases())
@examples(80)
def test_pairs(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    found = trendweave.query(text(query)).run(table_of(events))
    assert_same_rows(rows(query, events), rows_of(found), text(query))
