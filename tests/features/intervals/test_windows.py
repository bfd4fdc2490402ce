"""WITHIN bounds the time from the first start to the detection, or to the last end."""

from __future__ import annotations

import pytest

from tests.features.intervals.readings import A_AND_B, matches, readings
from tests.features.places import Run

# A from 1 to 2, B from 5 to 7.
EVENTS = readings("a1 -2 b5 b6 -7")


@pytest.mark.parametrize(("within", "expected"), [(3, []), (4, ["5: A1-2 B5-"]), (60, ["5: A1-2 B5-"])])
def test_from_the_first_start_to_the_detection(run: Run, within: int, expected: list[str]) -> None:
    assert matches(run(f"{A_AND_B} PATTERN A before B WITHIN {within} seconds", EVENTS)) == expected


@pytest.mark.parametrize(("within", "expected"), [(5, []), (6, ["7: A1-2 B5-7"])])
def test_from_the_first_start_to_the_last_end(run: Run, within: int, expected: list[str]) -> None:
    query = f"{A_AND_B} PATTERN A before B WITHIN {within} seconds DETECT AT END"
    assert matches(run(query, EVENTS)) == expected


def test_without_a_window_all_situations_are_related(run: Run) -> None:
    assert matches(run(f"{A_AND_B} PATTERN A before B", readings("a1 -2 a3 -4 b1000"))) == [
        "1000: A1-2 B1000-",
        "1000: A3-4 B1000-",
    ]


def test_the_window_takes_each_match_for_itself(run: Run) -> None:
    query = f"{A_AND_B} PATTERN A before B WITHIN 3 seconds"
    assert matches(run(query, readings("a1 -2 a4 -5 b6 -7"))) == ["6: A4-5 B6-"]
