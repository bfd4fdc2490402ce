"""NOT of single events before, between and behind events: what is forgotten blocks the same gaps as what is kept."""

from __future__ import annotations

import random
from typing import Any

import pytest

import trendweave
from tests.folding.expected import expected_rows
from tests.folding.tables import SCHEMA, assert_same_rows, table_of
from tests.reference.pattern import Event, Not, Pattern, either, option, plus, seq, star
from tests.reference.query import COUNT_ALL, Aggregate, Attribute, Column, Constant, Local, Query, Sliding, text
from tests.runners.test_local_against_reference import planned
from trendweave.planning.folding import plan_folding
from trendweave.runners.incremental import Incremental

A, B, N, M = Event("A", "a"), Event("B", "b"), Event("N", "n"), Event("M", "m")
ALSO_A = Event("A", "na")
FOLDED: tuple[Pattern, ...] = (
    seq(A, Not(N), plus(B)),
    seq(Not(N), plus(A)),
    seq(plus(A), Not(N)),
    seq(Not(N), plus(A), Not(either(N, M)), option(B), Not(M)),
    seq(A, Not(ALSO_A), star(B)),
    plus(seq(A, Not(N), option(B))),
    either(seq(Not(N), A), seq(Not(M), B, Not(N))),
    seq(A, Not(N), Not(M), B),
    seq(A, Not(plus(N)), B),
)
AGGREGATES = (COUNT_ALL, Aggregate("SUM", "a", "x"), Aggregate("MAX", "a", "x"), Aggregate("AVG", "a", "x"))


@pytest.mark.parametrize("window", [Sliding(8, 8), Sliding(8, 4), Sliding(9, 6)], ids=str)
@pytest.mark.parametrize("pattern", FOLDED, ids=lambda pattern: text(Query(pattern)).removeprefix("RETURN "))
def test_gaps_are_blocked(pattern: Pattern, window: Sliding) -> None:
    """Times are shared by several events; half of the streams have a condition on what is under NOT."""
    lot = random.Random(7)
    for number in range(8):
        local = Local(_under_not(pattern), Column("x"), ">", Constant(1))
        keys = (Attribute("k"),) if number % 4 > 1 else ()
        query = Query(pattern, AGGREGATES, (local,) * (number % 2), keys, keys, window=window)
        engine = planned(query).incremental(SCHEMA, numbers="text")
        assert engine._steps is not None
        assert engine._steps.folds
        events = [_event(lot) for _ in range(12)]
        found = _in_pieces(engine, sorted(events, key=lambda event: event["time"]), lot)
        assert_same_rows(expected_rows(query, events), found, query, text(query))


def _under_not(pattern: Pattern) -> str:
    return "na" if "na" in text(Query(pattern)) else "n"


def _event(lot: random.Random) -> dict[str, Any]:
    numbers = {"x": lot.randrange(4), "y": None, "s": None, "g": None, "d": None, "e": None}
    return {"time": lot.randrange(14), "type": lot.choice("AAAABBBNNM"), "k": lot.randrange(2), **numbers}


def _in_pieces(engine: Incremental, events: list[dict[str, Any]], lot: random.Random) -> list[dict[str, Any]]:
    state, found = engine.start(), []
    while events:
        size = lot.randrange(1, 5)
        piece, events = events[:size], events[size:]
        watermark = events[0]["time"] if events else None
        state, table = engine.push(state, table_of(piece), watermark)
        found += table.to_pylist()
    return found + engine.finish(state).to_pylist()


@pytest.mark.parametrize(
    ("pattern", "where", "reason"),
    [
        ("SEQ(A, NOT SEQ(N, M), B)", "", "NOT of several events asks for the first of them"),
        ("SEQ(A, NOT N{2,}, B)", "", "NOT of several events asks for the first of them"),
        ("SEQ(A a+, NOT N, A a, NOT M, B)", "", "readings that differ in their NOTs are told apart by"),
        ("(SEQ(A, NOT N, B) OR SEQ(A, NOT M, B))", "", "readings that differ in their NOTs are told apart by"),
        ("SEQ(A, NOT N, A)", "WHERE A.x = NEXT(A).x", "NOT asks for events of every value"),
        ("SEQ(A, NOT N, A)", "WHERE A.x < NEXT(A).x", "an edge predicate needs earlier events"),
    ],
)
def test_what_is_not_folded(pattern: str, where: str, reason: str) -> None:
    plan = trendweave.query(f"RETURN COUNT(*) PATTERN {pattern} {where} WITHIN 8 seconds SLIDE 4 seconds").plan
    assert (plan_folding(plan).why_not or "").startswith(reason)
