"""Conditions on an event and earlier ones of its trend, neighbours or not."""

from __future__ import annotations

import pytest

from tests.features.runs import codes, count, stream
from trendweave.errors import ExecutionError, PlanningError

STRATEGIES = ("skip-till-any-match", "skip-till-next-match", "contiguous")


def times(rows):
    """The times of the events of each trend."""
    return sorted([event["time"] for event in row["events"]] for row in rows)


def test_opening_example_of_the_thesis(run):
    # Section 2.3.5: A B* C with C.temp >= A.temp + 5
    # a1 10, b2, a3 17, b4, c5 20: only a1 is cold enough. With or without each b: 4 trends.
    events = stream("a1 b2 a3 b4 c5", x=[10, 12, 17, 11, 20])
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A, B*, C) WHERE C.x >= A.x + 5", events)) == 4
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A, B*, C) WHERE A.x + 5 <= C.x", events)) == 4


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("skip-till-any-match", [[1, 2, 3, 5], [1, 2, 5], [1, 3, 5], [1, 5]]),
        # c4 cannot follow, as it is not above a1: the trend waits for c5.
        ("skip-till-next-match", [[1, 2, 3, 5]]),
        ("contiguous", []),
    ],
)
def test_strategies(run, strategy, expected):
    events = stream("a1 b2 b3 c4 c5", x=[5, 0, 0, 5, 6])
    query = f"RETURN TRENDS PATTERN SEQ(A, B*, C) WHERE A.x < C.x SEMANTICS {strategy}"
    assert times(run(query, events)) == expected


def test_contiguous(run):
    events = stream("a1 b2 c3 a4 b5 c6", x=[1, 0, 2, 3, 0, 2])
    found = run("RETURN TRENDS PATTERN SEQ(A, B*, C) WHERE A.x < C.x SEMANTICS contiguous", events)
    assert times(found) == [[1, 2, 3]]


def test_every_b_is_compared_with_the_a(run):
    # a1 2; b2 3, b3 1, b4 5: b3 is out. (b2), (b4), (b2 b4).
    events = stream("a1 b2 b3 b4", x=[2, 3, 1, 5])
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.x < B.x", events)) == 3
    assert times(run("RETURN TRENDS PATTERN SEQ(A, B+) WHERE A.x < B.x", events)) == [[1, 2], [1, 2, 4], [1, 4]]
    assert times(run("PATTERN SEQ(A, B+) WHERE A.x < B.x", events)) == [[1, 2, 4]]


def test_the_latest_a_counts(run):
    # a1 9, a2 1, b3, c4 5: a1 alone is too large; a2, alone or after a1, is the latest.
    events = stream("a1 a2 b3 c4", x=[9, 1, 0, 5])
    assert times(run("RETURN TRENDS PATTERN SEQ(A+, B, C) WHERE A.x < C.x", events)) == [[1, 2, 3, 4], [2, 3, 4]]
    assert times(run("RETURN TRENDS PATTERN SEQ(A+, B, C) WHERE LAST(A).x < C.x", events)) == [[1, 2, 3, 4], [2, 3, 4]]
    # The first a: a1 is too large in both trends that begin with it.
    assert times(run("RETURN TRENDS PATTERN SEQ(A+, B, C) WHERE C.x > FIRST(A).x", events)) == [[2, 3, 4]]


def test_an_event_is_not_bound_by_itself(run):
    # a1 3, a2 1, a3 4, a4 2: above the first one.
    events = stream("a1 a2 a3 a4", x=[3, 1, 4, 2])
    # (1), (2), (3), (4), (1 3), (2 3), (2 4), (2 3 4)
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE A.x > FIRST(A).x", events)) == 8


def test_without_the_earlier_event_nothing_is_asked(run):
    events = stream("b1 c2", x=[9, 1])
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A?, B, C) WHERE A.x < C.x", events)) == 1


def test_several_earlier_events_in_one_condition(run):
    # c4 6 > a + b: a1 1 + b3 4; not a2 3 + b3 4.
    events = stream("a1 a2 b3 c4", x=[1, 3, 4, 6])
    assert times(run("RETURN TRENDS PATTERN SEQ(A, B, C) WHERE C.x > A.x + B.x", events)) == [[1, 3, 4]]
    assert times(run("RETURN TRENDS PATTERN SEQ(A+, B, C) WHERE A.x + B.x < C.x", events)) == [[1, 3, 4]]
    assert times(run("RETURN TRENDS PATTERN SEQ(A+, B, C) WHERE FIRST(A).x + B.x < C.x", events)) == [
        [1, 2, 3, 4],
        [1, 3, 4],
    ]


def test_the_one_directly_before(run):
    events = stream("a1 a2 a3", x=[1, 3, 2])
    falling = run("RETURN TRENDS PATTERN A+ WHERE A.x < PREV(A).x", events)
    assert (
        times(falling)
        == times(run("RETURN TRENDS PATTERN A+ WHERE A.x > NEXT(A).x", events))
        == [[1], [2], [2, 3], [3]]
    )


def test_next_beside_an_earlier_event(run):
    # b's rise by more than the a: a1 1, b2 1, b3 3, b4 4.
    events = stream("a1 b2 b3 b4", x=[1, 1, 3, 4])
    query = "RETURN TRENDS PATTERN SEQ(A, B+) WHERE B.x + A.x < NEXT(B).x"
    assert times(run(query, events)) == [[1, 2], [1, 2, 3], [1, 2, 4], [1, 3], [1, 4]]


def test_conditions_that_are_no_comparison_of_two_values(run):
    events = stream("a1 a2 b3 c4", x=[1, -1, 0, 5])
    assert times(run("RETURN TRENDS PATTERN SEQ(A, B, C) WHERE A.x * C.x > 3", events)) == [[1, 3, 4]]
    assert times(run("RETURN TRENDS PATTERN SEQ(A, B, C) WHERE A.x = 1 OR C.x < 5", events)) == [[1, 3, 4]]


def test_null_and_equality(run):
    events = stream("a1 a2 b3 c4 c5", x=[None, 2, 0, 2, None])
    assert times(run("RETURN TRENDS PATTERN SEQ(A, B, C) WHERE A.x = C.x", events)) == [[2, 3, 4]]
    assert times(run("RETURN TRENDS PATTERN SEQ(A, B, C) WHERE A.x != C.x", events)) == []


def test_inside_a_negated_pattern(run):
    # Between a and b no n whose later m is above it: n2 1 .. m4 2 stands in the way of a1, not of a3.
    events = stream("a1 n2 a3 k4 m5 b6", x=[0, 1, 0, 0, 2, 0])
    query = "RETURN TRENDS PATTERN SEQ(A, NOT SEQ(N, K?, M), B) WHERE N.x < M.x"
    assert times(run(query, events)) == [[3, 6]]
    assert times(run(query.replace("<", ">"), events)) == [[1, 6], [3, 6]]


def test_windows(run):
    events = stream("a1 b2 c3 c5", x=[1, 0, 2, 2])
    sliding = run("RETURN COUNT(*) PATTERN SEQ(A, B*, C) WHERE A.x < C.x WITHIN 4 seconds SLIDE 2 seconds", events)
    # [-2, 2): none; [0, 4): c3 with and without b2.
    assert [(row["window_start"], row["count"]) for row in sliding] == [(0, 2)]
    moving = run("RETURN COUNT(*) PATTERN SEQ(A, B*, C) WHERE A.x < C.x WITHIN 3 seconds", events)
    assert [(row["time"], row["count"]) for row in moving] == [(3, 2)]


def test_with_keys_groups_and_sums(run):
    events = stream("a1 a2 b3 b4 c5 c6", x=[1, 5, 0, 0, 3, 7], k=[1, 2, 1, 2, 1, 2])
    found = run("RETURN k, COUNT(*), SUM(C.x), MIN(A.x) PATTERN SEQ(A, B*, C) WHERE A.x < C.x GROUP-BY k", events)
    assert sorted((row["k"], row["count"], row["sum_C_x"], row["min_A_x"]) for row in found) == [
        (1, 2, 6, 1),
        (2, 2, 14, 5),
    ]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_with_a_key_of_one_variable(run, strategy):
    events = stream("a1 b2 b3 c4", x=[1, 0, 0, 2], k=[1, 1, 2, 1])
    found = run(f"RETURN TRENDS PATTERN SEQ(A, B*, C) WHERE A.x < C.x AND [B.k] SEMANTICS {strategy}", events)
    assert (
        times(found)
        == {
            "skip-till-any-match": [[1, 2, 4], [1, 3, 4], [1, 4]],
            # b3 cannot follow b2.
            "skip-till-next-match": [[1, 2, 4]],
            "contiguous": [],
        }[strategy]
    )


def test_variables_that_never_stand_in_one_trend(run):
    with pytest.raises(PlanningError) as refused:
        run("RETURN COUNT(*) PATTERN (SEQ(A, B) OR C) WHERE A.x < C.x", stream("a1", x=[1]))
    assert codes(refused) == ["TW216"]


def test_too_many_lanes(run, monkeypatch):
    monkeypatch.setattr("trendweave.rows.lanes.MAX_LANE_COPIES", 3)
    with pytest.raises(ExecutionError) as refused:
        run("RETURN COUNT(*) PATTERN SEQ(A, B*, C) WHERE A.x * C.x > 3", stream("a1 a2 b3 b4 c5", x=[1, 2, 3, 4, 5]))
    assert codes(refused) == ["TW415"]
