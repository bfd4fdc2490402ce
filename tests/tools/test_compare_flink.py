"""The cases for Flink, without Flink: our side of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from tools.compare_flink import matches
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


@pytest.mark.parametrize("case", matches.CASES, ids=lambda case: case.name)
def test_matches_are_told_by_the_ends_of_their_variables(case: matches.SkipCase) -> None:
    found = matches.ours(case)
    assert found
    for _, *ends in found:
        # Contiguous: each variable begins right behind the one before it.
        assert all(later == earlier + 1 for earlier, later in zip(ends[1::2], ends[2::2], strict=False))
    assert len(list(matches.csv_lines(case))) == sum(map(len, matches.streams(case)))
    assert "\t" not in case.sql


def test_matches_past_the_last_event_do_not_overlap() -> None:
    for case in matches.CASES:
        if case.skip == "PAST LAST EVENT":
            ends = sorted((match[0], match[1], match[-1]) for match in matches.ours(case))
            assert all(one[0] != two[0] or one[2] < two[1] for one, two in pairwise(ends))
