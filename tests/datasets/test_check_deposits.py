"""Check deposits: CET, Section 7.1. Compatible events are counted here one by one."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from trendweave import datasets

Check = tuple[int, int, int]  # time, source, destination


def open_checks(events: int, rate: float, compatibility: int, selectivity: float, seed: int = 1) -> list[Check]:
    """The checks that are not covered, which is what CET's query Q1 looks at."""
    table = datasets.check_deposits(events, seed, rate, compatibility, selectivity, time="seconds")
    columns = (table[name].to_pylist() for name in ("time", "source", "destination", "status"))
    return [check[:3] for check in zip(*columns, strict=True) if check[3] == "notcovered"]


def compatible_before(checks: list[Check]) -> list[tuple[int, int]]:
    """For each check, its time and the number of earlier checks that it can follow."""
    return [
        (time, sum(before < time and destination == source for before, _, destination in checks))
        for time, source, _ in checks
    ]


@pytest.mark.parametrize("selectivity", [1, 0.5, 0.29])
@pytest.mark.parametrize("compatibility", [1, 2, 3, 7])
@pytest.mark.parametrize("rate", [20, 30.5])
def test_each_open_check_has_the_wanted_number_before_it(rate: float, compatibility: int, selectivity: float) -> None:
    counts = compatible_before(open_checks(600, rate, compatibility, selectivity))

    # A layer is one second, or two where one second has too few checks that are not covered.
    behind_first_layer = 1 if rate * selectivity >= 8 else 2
    assert {count for time, count in counts if time >= behind_first_layer} <= {compatibility}
    assert len([count for _, count in counts if count == compatibility]) > 500 * selectivity


def test_more_compatible_events_than_events_in_a_second() -> None:
    counts = compatible_before(open_checks(400, 4, 25, 0.5))

    assert {count for _, count in counts} == {0, 25}
    assert {count for time, count in counts if time >= 13} == {25}, "13 seconds have 26 checks that are not covered"


def test_figure_4_twelve_events_in_groups_of_three_have_81_complete_trends() -> None:
    checks = open_checks(12, 3, 3, 1)

    trends = [[check] for check in checks if check[0] == 0]
    for second in (1, 2, 3):
        trends = [[*trend, c] for trend in trends for c in checks if c[0] == second and c[1] == trend[-1][2]]
    assert len(trends) == 81


@pytest.mark.parametrize("selectivity", [0, 0.1, 0.33, 0.5, 1])
def test_selectivity_holds_in_every_second(selectivity: float) -> None:
    table = datasets.check_deposits(10_000, seed=1, rate=1_000, selectivity=selectivity, time="seconds")

    assert Counter(table["time"].to_pylist()) == dict.fromkeys(range(10), 1_000)
    assert set(table["type"].to_pylist()) == {"Check"}
    of_second = Counter(time for time, *_ in open_checks(10_000, 1_000, 3, selectivity))
    assert of_second == {second: round(1_000 * selectivity) for second in range(10) if selectivity}


def test_covered_checks_come_at_random_and_use_the_same_banks() -> None:
    table = datasets.check_deposits(7_000, seed=1)

    status = table["status"].to_pylist()
    assert status.count("covered") == 3_500
    changes = sum(one != other for one, other in itertools.pairwise(status))
    assert 3_300 < changes < 3_700
    banks: dict[str, set[int]] = {"covered": set(), "notcovered": set()}
    for bank, of_status in zip(table["source"].to_pylist(), status, strict=True):
        banks[of_status].add(bank)
    assert banks["covered"] <= banks["notcovered"]


def test_defaults_are_those_of_the_paper() -> None:
    table = datasets.check_deposits(7_000, seed=1, time="seconds")

    assert Counter(table["time"].to_pylist()) == {0: 3_500, 1: 3_500}
    counts = compatible_before([c for c in open_checks(7_000, 3_500, 3, 0.5) if c[0] == 0 or c[1] % 10 == 0])
    assert {count for time, count in counts if time == 1} == {3}
