"""AT LEAST, AT MOST and BETWEEN bound how long a situation lasts."""

from __future__ import annotations

from datetime import timedelta

import pytest

import trendweave
from tests.features.intervals.readings import matches, readings, situations
from tests.features.places import Run
from trendweave.build import attr
from trendweave.build.intervals import define
from trendweave.errors import OptionError

BETWEEN = "BETWEEN $m AND $n"

# A lasts from 1 to 4 and from 5 to 6.
EVENTS = readings("a1 a2 -4 a5 -6")


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ("AT LEAST 2 seconds", ["A1-4"]),
        ("AT LEAST 3 seconds", ["A1-4"]),
        ("AT LEAST 4 seconds", []),
        ("AT MOST 1 second", ["A5-6"]),
        ("AT MOST 3 seconds", ["A1-4", "A5-6"]),
        ("BETWEEN 1 second AND 2 seconds", ["A5-6"]),
        ("BETWEEN 2 seconds AND 3 seconds", ["A1-4"]),
        ("BETWEEN 4 seconds AND 1 minute", []),
    ],
)
def test_both_ends_of_a_bound_count(run: Run, length: str, expected: list[str]) -> None:
    assert situations(run(f"FROM R DEFINE A AS a = 1 {length} RETURN SITUATIONS", EVENTS)) == expected


def test_long_enough_counts_at_the_first_event_that_shows_it(run: Run) -> None:
    # Both run from 3 on, A first; at 3 it has lasted two seconds, at 4 three.
    query = "FROM R DEFINE A AS a = 1 AT LEAST 3 seconds, B AS b = 1 PATTERN A overlaps; finished-by; contains B"
    assert matches(run(query, readings("a1 a2 ab3 ab4 ab5"))) == ["4: A1- B3-"]


def test_short_enough_counts_when_it_has_ended(run: Run) -> None:
    query = "FROM R DEFINE A AS a = 1 AT MOST 2 seconds, B AS b = 1 PATTERN A overlaps B"
    assert matches(run(query, readings("a1 ab2 b3 b4"))) == ["3: A1-3 B2-"]
    assert matches(run(query, readings("a1 ab2 ab3 b4"))) == []


def test_parentheses_make_between_a_condition(run: Run) -> None:
    query = "FROM R DEFINE A AS (x BETWEEN 2 AND 3) RETURN SITUATIONS"
    assert situations(run(query, readings("-1 -2 -3 -4", x=[1, 2, 3, 4]))) == ["A2-4"]


def test_limits_may_be_parameters() -> None:
    zero, one, three = (timedelta(seconds=length) for length in (0, 1, 3))
    least, between = (f"FROM R DEFINE A AS a = 1 {limits} RETURN SITUATIONS" for limits in ("AT LEAST $m", BETWEEN))
    assert trendweave.query(least).bind(m=zero) == trendweave.query(least.replace("$m", "0 seconds"))
    assert trendweave.query(least).bind(m="0 s") == trendweave.query("FROM R DEFINE A AS a = 1 RETURN SITUATIONS")
    shorter = trendweave.query("FROM R DEFINE A AS a = 1 AT MOST 3 seconds RETURN SITUATIONS")
    assert trendweave.query(between).bind(m=zero, n=three) == shorter
    for low, high in ((three, one), (zero, zero), (-one, one)):
        with pytest.raises(OptionError, match=r"TW152|larger than zero|a length of time"):
            trendweave.query(between).bind(m=low, n=high)


def test_built_limits_may_be_nothing() -> None:
    assert define("A", attr("a") == 1, at_least="0 seconds") == define("A", attr("a") == 1)
    assert define("A", attr("a") == 1, at_least=timedelta(0)) == define("A", attr("a") == 1)
