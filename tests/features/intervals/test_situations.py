"""Situations: longest runs of steps that fulfil a condition, from the first of them to the first step after."""

from __future__ import annotations

from tests.features.intervals.readings import A_AND_B, readings, situations
from tests.features.places import Run

SITUATIONS = f"{A_AND_B} RETURN SITUATIONS"


def test_a_run_ends_with_the_first_event_after_it(run: Run) -> None:
    assert situations(run(SITUATIONS, readings("-1 a2 a3 -5 -6"))) == ["A2-5"]


def test_one_event_lasts_until_the_next(run: Run) -> None:
    assert situations(run(SITUATIONS, readings("a1 -4"))) == ["A1-4"]


def test_runs_of_one_name_are_apart(run: Run) -> None:
    assert situations(run(SITUATIONS, readings("a1 -2 a3 a4 -5 a6 -9"))) == ["A1-2", "A3-5", "A6-9"]


def test_names_do_not_disturb_one_another(run: Run) -> None:
    assert situations(run(SITUATIONS, readings("a1 ab2 b3 -4"))) == ["A1-3", "B2-4"]


def test_what_runs_at_the_end_has_no_end(run: Run) -> None:
    assert situations(run(SITUATIONS, readings("-1 a2 a3"))) == ["A2-"]


def test_events_of_one_time_are_one_step(run: Run) -> None:
    # At 2 a holds for one of two events: not for the step.
    assert situations(run(SITUATIONS, readings("a1 a2 -2 a3 -4"))) == ["A1-2", "A3-4"]
    assert situations(run(SITUATIONS, readings("a1 a2 a2 -4"))) == ["A1-4"]


def test_null_does_not_hold(run: Run) -> None:
    events = readings("-1 -2 -3 -4", x=[5, None, 5, 0])
    assert situations(run("FROM R DEFINE A AS x > 3 RETURN SITUATIONS", events)) == ["A1-2", "A3-4"]
    assert situations(run("FROM R DEFINE A AS NOT x > 3 RETURN SITUATIONS", events)) == ["A4-"]


def test_only_events_of_the_type_that_from_names(run: Run) -> None:
    events = readings("a1 -2 a3 -4")
    events[1]["type"] = "Other"
    assert situations(run("FROM R DEFINE A AS a = 1 RETURN SITUATIONS", events, type="type")) == ["A1-4"]
    assert situations(run("FROM R DEFINE A AS a = 1 RETURN SITUATIONS", events)) == ["A1-2", "A3-4"]


def test_no_events(run: Run) -> None:
    assert run(SITUATIONS, readings("-1 -2")) == []
