"""RETURN COUNT(*) ... EVERY: matches per window, which holds a match from its first start to its detection."""

from __future__ import annotations

import pytest

from tests.features.intervals.readings import A_AND_B, readings
from tests.features.places import Run
from tests.features.runs import windows

# Matches of A before B: from 1 to 3 (A1 B3), from 1 to 8 (A1 B8), from 6 to 8 (A6 B8).
EVENTS = readings("a1 -2 b3 -4 a6 -7 b8 -9")
COUNT = f"{A_AND_B} PATTERN A before B WITHIN {{}} seconds EVERY {{}} seconds RETURN COUNT(*)"


@pytest.mark.parametrize(
    ("within", "every", "expected"),
    [
        (5, 5, {(0, 5): 1, (5, 10): 1}),
        (10, 10, {(0, 10): 3}),
        (4, 2, {(0, 4): 1, (6, 10): 1}),
        (8, 4, {(-4, 4): 1, (0, 8): 1, (4, 12): 1}),
    ],
)
def test_matches_per_window(run: Run, within: int, every: int, expected: dict[tuple[int, int], int]) -> None:
    assert windows(run(COUNT.format(within, every), EVENTS)) == expected


def test_windows_without_a_match_have_no_row(run: Run) -> None:
    assert run(COUNT.format(2, 2), EVENTS) == []


def test_per_partition(run: Run) -> None:
    events = readings("a1 a1 -2 -2 b3 b3 -4 b5", k=["u", "v", "u", "v", "u", "v", "u", "u"])
    query = COUNT.format(10, 10).replace("DEFINE", "PARTITION BY k DEFINE")
    assert windows(run(query, events)) == {(0, 10): 3}
    found = run(query.replace("RETURN", "RETURN k,"), events)
    assert sorted((row["k"], row["count"]) for row in found) == [("u", 2), ("v", 1)]
