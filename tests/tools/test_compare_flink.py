"""The cases for Flink, without Flink: our side of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tools.compare_flink import cookbook, matches
from tools.compare_flink.__main__ import case_lines, ours
from tools.compare_flink.cases import CASES, STRATEGIES, Case, Event, streams
from tools.cookbook_pages import Task


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


@pytest.mark.parametrize("task", cookbook.sql_tasks(), ids=lambda task: task.name)
def test_the_cookbook_is_asked_in_sql(task: Task, tmp_path: Path) -> None:
    name, table, query = cookbook.case_line(task, tmp_path).rstrip("\n").split("\t")
    assert name == task.name
    assert query.split(" MATCH_RECOGNIZE ")[0].split()[-1] == table.split()[3]
    assert len((tmp_path / f"{name}.csv").read_text().splitlines()) == task.events.num_rows


def test_rows_of_flink_are_held_to_those_of_the_page() -> None:
    lines = []
    for task in cookbook.sql_tasks():
        first = task.recipes[0]
        backwards = [first.columns[::-1], *(row[::-1] for row in first.rows)]
        lines += ["\t".join([task.name, *(value.replace("-06 ", "-06T") for value in row)]) for row in backwards]
    assert cookbook.report(lines) == 0
    assert cookbook.report(lines[:-1]) == 1
