"""PREV(x): the value of x in the step before, of the same partition."""

from __future__ import annotations

from tests.features.intervals.readings import readings, situations
from tests.features.places import Run

RISING = "FROM R DEFINE A AS x > PREV(x) RETURN SITUATIONS"


def test_a_value_against_the_one_before(run: Run) -> None:
    assert situations(run(RISING, readings("-1 -2 -3 -4 -5", x=[1, 2, 3, 2, 5]))) == ["A2-4", "A5-"]


def test_the_first_event_has_none_before(run: Run) -> None:
    assert situations(run("FROM R DEFINE A AS x >= PREV(x) RETURN SITUATIONS", readings("-1 -2", x=[1, 0]))) == []


def test_null_before_or_now_does_not_hold(run: Run) -> None:
    assert situations(run(RISING, readings("-1 -2 -3 -4", x=[1, None, 3, 4]))) == ["A4-"]


def test_a_step_of_several_events_must_hold_with_each(run: Run) -> None:
    # At 2 there are 1 and 5: 3 is not above both, 6 is.
    assert situations(run(RISING, readings("-1 -2 -2 -3", x=[9, 1, 5, 3]))) == []
    assert situations(run(RISING, readings("-1 -2 -2 -3", x=[9, 1, 5, 6]))) == ["A3-"]


def test_each_partition_has_its_own_step_before(run: Run) -> None:
    events = readings("-1 -2 -3 -4", x=[1, 9, 2, 3], k=["u", "v", "u", "v"])
    found = run("FROM R PARTITION BY k DEFINE A AS x > PREV(x) RETURN SITUATIONS", events)
    assert [(row["k"], row["start"], row["end"]) for row in found] == [("u", 3, None)]


def test_together_with_other_conditions(run: Run) -> None:
    query = "FROM R DEFINE A AS x > PREV(x) AND a = 1 RETURN SITUATIONS"
    assert situations(run(query, readings("a1 a2 -3 a4 -5", x=[1, 2, 3, 4, 5]))) == ["A2-3", "A4-5"]
