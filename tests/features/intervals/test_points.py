"""`S DURING X`: events of a trend that lie inside, or outside, of situations."""

from __future__ import annotations

import pytest

from tests.features.intervals.readings import readings
from tests.features.places import Run
from tests.features.runs import windows

# x is above 0 from 2 to 5, and from 7 on.
EVENTS = readings("-1 -2 -4 -5 -7 -8", x=[0, 1, 1, 0, 1, 1])
COUNT = "RETURN COUNT(*) PATTERN R FROM R DEFINE High AS x > 0 {} WHERE R {} High WITHIN 10 seconds SLIDE 10 seconds"


@pytest.mark.parametrize(
    ("length", "where", "expected"),
    [
        ("", "DURING", 4),
        ("", "NOT DURING", 2),
        ("AT LEAST 3 seconds", "DURING", 4),  # the run that has not ended is as long as is asked for
        ("AT LEAST 4 seconds", "DURING", 2),
        ("AT MOST 3 seconds", "DURING", 2),
        ("AT MOST 2 seconds", "DURING", 0),
    ],
)
def test_events_inside_and_outside(run: Run, length: str, where: str, expected: int) -> None:
    found = windows(run(COUNT.format(length, where), EVENTS))
    assert found == ({(0, 10): expected} if expected else {})


def test_situations_of_the_same_partition(run: Run) -> None:
    query = (
        "RETURN k, COUNT(*) PATTERN R+ FROM R DEFINE High AS x > 0 WHERE [k] AND R DURING High "
        "GROUP-BY k WITHIN 10 seconds SLIDE 10 seconds"
    )
    found = run(query, readings("-1 -2 -3 -4", x=[1, 0, 1, 1], k=["u", "v", "u", "v"]))
    assert sorted((row["k"], row["count"]) for row in found) == [("u", 3), ("v", 1)]
