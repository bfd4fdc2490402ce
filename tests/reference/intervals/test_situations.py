"""Deriving situations, worked out by hand."""

from __future__ import annotations

import math

import pytest

from .by_hand import define, timeline
from .conditions import truth
from .query import (
    Arithmetic,
    Both,
    Column,
    Comparison,
    Condition,
    Constant,
    Definition,
    Either,
    IsNull,
    Not,
    Previous,
    Query,
    text,
)
from .results import rows
from .situations import partitions

X_IS_HIGH = Comparison(Column("x"), ">", Constant(8))
X_GROWS = Comparison(Column("x"), ">", Previous("x"))


def events(*times_and_values: tuple) -> list[dict]:
    return [{"time": time, "x": value} for time, value in times_and_values]


def spans(condition: Condition, stream: list[dict]) -> list[tuple]:
    """(start, end, number of events) of each run."""
    found = partitions(Query((Definition("A", condition),)), stream)
    return [(s.start, s.end, len(s.events)) for partition in found for s in partition.situations["A"]]


# ----------------------------------------------------------------------------------------------------------------- runs


def test_a_run_ends_at_the_time_of_the_first_event_after_it():
    """The example of Section 5.4.1: not above the limit at 1 and 10, above it in between, so [2, 10)."""
    stream = events((1, 8), (2, 9), (3, 11), (9, 10), (10, 8), (12, 9), (13, 1))
    assert spans(X_IS_HIGH, stream) == [(2, 10, 3), (12, 13, 1)]


def test_a_run_may_begin_with_the_first_event_and_still_run_at_the_end():
    assert spans(X_IS_HIGH, events((1, 9), (2, 9), (3, 0), (4, 9))) == [(1, 3, 2), (4, None, 1)]
    assert spans(X_IS_HIGH, events((1, 9))) == [(1, None, 1)]
    assert spans(X_IS_HIGH, events((1, 8))) == []
    assert spans(X_IS_HIGH, []) == []


def test_the_order_of_rows_is_free_and_rows_without_a_time_are_no_events():
    stream = events((3, 0), (1, 9), (None, 0), (2, 9), (None, 9))
    assert spans(X_IS_HIGH, stream) == [(1, 3, 2)]


def test_events_of_one_time_are_one_step():
    assert spans(X_IS_HIGH, events((1, 9), (2, 9), (2, 10), (3, 0))) == [(1, 3, 3)]
    assert spans(X_IS_HIGH, events((1, 9), (2, 9), (2, 0), (3, 9))) == [(1, 2, 1), (3, None, 1)]
    assert spans(X_IS_HIGH, events((1, 0), (1, 9))) == []


def test_null_does_not_hold_and_nan_is_larger_than_all():
    stream = events((1, 9.0), (2, None), (3, math.nan), (4, 0.0))
    assert spans(X_IS_HIGH, stream) == [(1, 2, 1), (3, 4, 1)]
    assert spans(Not(X_IS_HIGH), stream) == [(4, None, 1)]
    assert spans(IsNull(Column("x")), stream) == [(2, 3, 1)]
    assert spans(Comparison(Column("x"), "!=", Constant(9)), stream) == [(3, None, 2)]


# ----------------------------------------------------------------------------------------------------- previous events


def test_previous_is_the_event_before_and_null_for_the_first():
    assert spans(X_GROWS, events((1, 5), (2, 6), (4, 7), (5, 7), (6, 8))) == [(2, 5, 2), (6, None, 1)]
    assert spans(IsNull(Previous("x")), events((1, 5), (2, None), (3, 1), (4, 1))) == [(1, 2, 1), (3, 4, 1)]


def test_previous_after_ties_must_hold_for_each_of_them():
    assert spans(X_GROWS, events((1, 5), (1, 7), (2, 8))) == [(2, None, 1)]
    assert spans(X_GROWS, events((1, 5), (1, 7), (2, 6))) == []
    assert spans(X_GROWS, events((1, 5), (1, None), (2, 6))) == []
    # Events of one step are not each other's previous events.
    assert spans(X_GROWS, events((1, 5), (2, 6), (2, 7), (3, 9))) == [(2, None, 3)]


def test_previous_stays_in_its_partition():
    stream = [{"time": t, "x": x, "k": k} for t, x, k in [(1, 5, "a"), (2, 1, "b"), (3, 6, "a"), (4, 0, "b")]]
    query = Query((Definition("A", X_GROWS),), partition_by=("k",), return_situations=True)
    assert rows(query, stream) == [{"k": "a", "name": "A", "start": 3, "end": None}]


# ----------------------------------------------------------------------------------------------------------- conditions

YES, NO, UNKNOWN = (
    Comparison(Constant(1), "=", Constant(1)),
    Comparison(Constant(1), "=", Constant(2)),
    Comparison(Arithmetic(Constant(1), "/", Constant(0)), "=", Constant(1)),
)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Both(YES, YES), True),
        (Both(YES, UNKNOWN), None),
        (Both(NO, UNKNOWN), False),
        (Either(YES, UNKNOWN), True),
        (Either(NO, UNKNOWN), None),
        (Either(NO, NO), False),
        (Not(UNKNOWN), None),
        (Not(NO), True),
    ],
)
def test_null_in_conditions_as_in_sql(condition, expected):
    assert truth(condition, {}, None) is expected


# --------------------------------------------------------------------------------------------- durations and partitions


def situations(definition: Definition, written: str, **clauses: object) -> list[tuple]:
    query = Query((definition,), return_situations=True, **clauses)
    return [(row["start"], row["end"]) for row in rows(query, timeline(written))]


def test_durations_include_their_bounds():
    line = "A 0-2, A 3-6, A 8-13"
    assert situations(define("A"), line) == [(0, 2), (3, 6), (8, 13)]
    assert situations(define("A", at_least=3), line) == [(3, 6), (8, 13)]
    assert situations(define("A", at_most=3), line) == [(0, 2), (3, 6)]
    assert situations(define("A", 3, 3), line) == [(3, 6)]


def test_a_running_situation_is_one_when_its_length_is_certainly_allowed():
    assert situations(define("A"), "A 2-, B 0-3") == [(2, None)]
    assert situations(define("A", at_least=4), "A 2-, B 0-6") == [(2, None)]
    assert situations(define("A", at_least=5), "A 2-, B 0-6") == []
    assert situations(define("A", at_most=99), "A 2-, B 0-6") == []
    assert situations(define("A"), "A 0-1, A 2-, B 0-6", at_end=True) == [(0, 1)]


def test_null_is_a_partition_of_its_own():
    stream = [{"time": t, "x": x, "k": k} for t, x, k in [(1, 9, None), (2, 9, 1), (3, 0, None), (4, 0, 1), (5, 9, 1)]]
    query = Query((Definition("A", X_IS_HIGH),), partition_by=("k",), return_situations=True)
    assert rows(query, stream) == [
        {"k": None, "name": "A", "start": 1, "end": 3},
        {"k": 1, "name": "A", "start": 2, "end": 4},
        {"k": 1, "name": "A", "start": 5, "end": None},
    ]


# ------------------------------------------------------------------------------------------------------- from intervals


def test_from_intervals_takes_situations_as_they_are():
    query = Query((Definition("A", at_least=2),), return_situations=True, from_intervals=True)
    given = [
        {"name": "A", "start": 5, "end": 7},
        {"name": "A", "start": 0, "end": 1},
        {"name": "A", "start": 9, "end": None},
        {"name": "B", "start": 0, "end": 30},
        {"name": None, "start": 0, "end": 4},
        {"name": "A", "start": None, "end": 4},
        {"name": "A", "start": 4, "end": 4},
    ]
    assert text(query) == "FROM INTERVALS\nDEFINE A AT LEAST 2 seconds\nRETURN SITUATIONS"
    assert rows(query, given) == [{"name": "A", "start": 5, "end": 7}]
    given.append({"name": "A", "start": 11, "end": 12})
    assert rows(query, given) == [{"name": "A", "start": 5, "end": 7}, {"name": "A", "start": 9, "end": None}]
