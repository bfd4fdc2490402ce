"""The cases for Flink, without Flink: our side of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tools.compare_flink.__main__ import case_lines, ours
from tools.compare_flink.cases import CASES, STRATEGIES, Case, Event, streams


@pytest.mark.parametrize(
    ("strategy", "trends"),
    [
        ("skip-till-any-match", {(0, 3), (1, 3), (0, 1, 3)}),
        ("skip-till-next-match", {(1, 3), (0, 1, 3)}),
        ("contiguous", set()),
    ],
)
def test_trends_are_told_by_the_ids_of_their_events(strategy: str, trends: set[tuple[int, ...]]) -> None:
    events = [Event(number, number, kind, number) for number, kind in enumerate("AAXB")]
    assert ours(Case(strategy, ("A+", "B"), rising=True), events) == trends


def test_every_case_is_asked_of_all_its_streams() -> None:
    lines = [line.rstrip("\n").split("\t") for line in case_lines()]
    assert {int(line[0]) for line in lines} == set(range(len(CASES)))
    assert len(lines) == sum(len(streams(case)) for case in CASES)
    assert {line[1] for line in lines} == set(STRATEGIES)


def test_what_skips_less_finds_some_of_what_skips_more() -> None:
    shown = 0
    for case in CASES:
        for events in streams(case)[:7]:
            every = ours(replace(case, strategy="skip-till-any-match"), events)
            assert ours(case, events) <= every
            shown += len(every)
    assert shown > len(CASES)
