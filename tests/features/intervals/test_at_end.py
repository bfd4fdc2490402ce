"""A match is reported at its earliest certain time, or with DETECT AT END when its last situation has ended."""

from __future__ import annotations

from tests.features.intervals.readings import A_AND_B, matches, readings
from tests.features.places import Run

EVENTS = readings("a1 -2 b5 b6 -7", x=[1, 2, 3, 4, 5])
RETURN = "WITHIN 1 minute RETURN COUNT(A) AS as_, COUNT(B) AS bs, SUM(B.x) AS total, DURATION(B) AS lasted"


def test_as_soon_as_it_is_certain(run: Run) -> None:
    (row,) = run(f"{A_AND_B} PATTERN A before B {RETURN}", EVENTS)
    # Events of a situation before the detection count, and at 5 B has only begun.
    assert row == {
        "time": 5, "A_start": 1, "A_end": 2, "B_start": 5, "B_end": None, "as_": 1, "bs": 0, "total": None, "lasted": 0
    }  # fmt: skip


def test_when_all_has_ended(run: Run) -> None:
    (row,) = run(f"{A_AND_B} PATTERN A before B DETECT AT END {RETURN}", EVENTS)
    assert row == {
        "time": 7, "A_start": 1, "A_end": 2, "B_start": 5, "B_end": 7, "as_": 1, "bs": 2, "total": 7, "lasted": 2
    }  # fmt: skip


def test_what_never_ends_is_never_reported_at_its_end(run: Run) -> None:
    assert run(f"{A_AND_B} PATTERN A before B DETECT AT END WITHIN 1 minute", readings("a1 -2 b5 b6")) == []


def test_alternatives_that_cover_what_can_happen_are_certain_early(run: Run) -> None:
    events = readings("a1 ab2 ab3 a4 -5")
    # Whatever ends first, A began before B and both run.
    early = f"{A_AND_B} PATTERN A overlaps; finished-by; contains B WITHIN 1 minute"
    assert matches(run(early, events)) == ["2: A1- B2-"]
    # That A contains B is known when B has ended and A has not.
    assert matches(run(f"{A_AND_B} PATTERN A contains B WITHIN 1 minute", events)) == ["4: A1- B2-4"]
    assert matches(run(f"{A_AND_B} PATTERN A overlaps B WITHIN 1 minute", events)) == []


def test_each_combination_comes_once(run: Run) -> None:
    events = readings("a1 -2 a3 -4 b5 -6 b7 -8")
    assert matches(run(f"{A_AND_B} PATTERN A before B WITHIN 1 minute", events)) == [
        "5: A1-2 B5-", "5: A3-4 B5-", "7: A1-2 B7-", "7: A3-4 B7-"
    ]  # fmt: skip
