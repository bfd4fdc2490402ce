"""RETURN EACH with plain attributes: those of the trend's latest event that is read as the variable."""

from __future__ import annotations

from tests.features.places import Run
from tests.features.runs import stream


def test_a_plain_attribute_is_that_of_the_latest_event(run: Run) -> None:
    # SEQ(A+, B): a1 (x 1), a2 (x 2), b3 (x 3)
    events = [event | {"x": event["time"]} for event in stream("a1 a2 b3")]
    rows = run("RETURN EACH A.x, B.x AS of_b, B.x - A.x AS gain PATTERN SEQ(A+, B) WITHIN 9 seconds", events)
    found = sorted((row["time"], row["x"], row["of_b"], row["gain"]) for row in rows)
    assert found == [(3, 1, 3, 2), (3, 2, 3, 1), (3, 2, 3, 1)]


def test_a_trend_without_such_an_event_has_none(run: Run) -> None:
    events = [event | {"x": event["time"]} for event in stream("a1 b2 a3 c4")]
    rows = run("RETURN EACH B.x PATTERN SEQ(A, B?, C) WITHIN 9 seconds", events)
    assert sorted((row["x"] is None, row["x"]) for row in rows) == [(False, 2), (True, None), (True, None)]


def test_a_grouping_attribute_stays_one(run: Run) -> None:
    events = [event | {"x": event["time"] % 2} for event in stream("a1 a2 a3")]
    rows = run("RETURN EACH A.x, COUNT(A) PATTERN A+ GROUP-BY A.x WITHIN 9 seconds", events)
    assert sorted((row["x"], row["count_A"]) for row in rows) == [(0, 1), (1, 1), (1, 1), (1, 2)]


def test_plain_attributes_choose_rows(run: Run) -> None:
    events = [event | {"x": event["time"]} for event in stream("a1 b2 a3 b4")]
    rows = run("RETURN EACH A.x PATTERN SEQ(A, B) WITHIN 9 seconds HAVING B.x - A.x = 1", events)
    assert sorted(row["x"] for row in rows) == [1, 3]


def test_the_length_may_be_shown_under_two_names(run: Run) -> None:
    rows = run("RETURN EACH LENGTH AS a, LENGTH AS n PATTERN A+ WITHIN 9 seconds", stream("a1 a2"))
    assert sorted((row["a"], row["n"]) for row in rows) == [(1, 1), (1, 1), (2, 2)]


def test_an_attribute_that_all_events_share_may_be_shown(run: Run) -> None:
    events = [event | {"k": "u" if event["time"] < 3 else "v"} for event in stream("a1 b2 b3 a4 b5")]
    rows = run("RETURN EACH k, LENGTH PATTERN SEQ(A?, B) WHERE [k] WITHIN 9 seconds", events)
    assert sorted((row["time"], row["k"], row["LENGTH"]) for row in rows) == [
        (2, "u", 1),
        (2, "u", 2),
        (3, "v", 1),
        (5, "v", 1),
        (5, "v", 2),
    ]
