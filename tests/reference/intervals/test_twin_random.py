"""The twin against itself on random queries and inputs: properties that must hold whatever is drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.profiles import examples

from ..comparer import assert_same_rows
from .conditions import Row
from .matches import (
    Match,
    certain_time,
    combinations,
    is_certain,
    is_certain_trying_all_futures_together,
    known_at,
    matches,
)
from .query import Constraint, Query, text
from .relations import INVERSE, RELATIONS, can_hold
from .results import rows
from .situations import Situation, partitions
from .streams import COLUMN_TYPES, INTERVAL_COLUMN_TYPES, queries_and_events, queries_and_intervals

Drawn = tuple[Query, list[Row]]


def identities(found: list[Match]) -> dict[tuple, float]:
    """Which situations of which partition a match has, and its time; the end of a situation may be known or not."""
    return {(repr(m.partition), *((s.name, s.start) for s in m.situations)): m.time for m in found}


def all_times(events: list[Row]) -> list[int]:
    return sorted({event["time"] for event in events if event["time"] is not None})


# ----------------------------------------------------------------------------------------------------------------- rows


@examples(60)
@given(queries_and_events(), st.randoms(use_true_random=False))
def test_rows_have_their_columns_and_the_order_of_events_is_free(drawn: Drawn, random):
    query, events = drawn
    found = rows(query, events)
    assert all(list(row) == query.column_names() for row in found)
    assert all(set(event) == set(COLUMN_TYPES) for event in events)
    shuffled = list(events)
    random.shuffle(shuffled)
    assert_same_rows(found, rows(query, shuffled), text(query))


@examples(40)
@given(queries_and_intervals())
def test_rows_of_intervals_have_their_columns(drawn: Drawn):
    query, intervals = drawn
    found = rows(query, intervals)
    assert all(list(row) == query.column_names() for row in found)
    assert all(set(interval) == set(INTERVAL_COLUMN_TYPES) for interval in intervals)
    assert_same_rows(found, rows(query, intervals[::-1]), text(query))


@examples(40)
@given(queries_and_events(kind="matches"))
def test_each_combination_is_reported_at_most_once(drawn: Drawn):
    found = list(matches(*drawn))
    assert len(identities(found)) == len(found)


@examples(40)
@given(queries_and_events(kind="matches", partitions=False), st.integers(-50, 50))
def test_only_differences_of_times_matter(drawn: Drawn, shift: int):
    query, events = drawn
    later = [{**e, "time": None if e["time"] is None else e["time"] + shift} for e in events]
    moved = [
        {
            column: value + shift if value is not None and column.endswith(("time", "_start", "_end")) else value
            for column, value in row.items()
        }
        for row in rows(query, events)
    ]
    assert_same_rows(moved, rows(query, later))


@examples(40)
@given(queries_and_events(kind="windows"))
def test_windows_count_the_matches_they_hold(drawn: Drawn):
    query, events = drawn
    found = list(matches(query, events))
    counted: dict[int, int] = {}
    for row in rows(query, events):
        assert row["window_end"] - row["window_start"] == query.within
        counted[row["window_start"]] = counted.get(row["window_start"], 0) + row["count"]
    held = {
        start: sum(start <= match.start and match.time < start + query.within for match in found)
        for start in range(-300, 300)
        if start % query.every == 0
    }
    assert counted == {start: number for start, number in held.items() if number}


# ---------------------------------------------------------------------------------------------------------- constraints


@examples(40)
@given(queries_and_events(kind="matches"))
def test_a_constraint_says_the_same_from_the_other_side(drawn: Drawn):
    query, events = drawn
    turned = tuple(Constraint(c.right, tuple(INVERSE[r] for r in c.relations), c.left) for c in query.constraints)
    assert_same_rows(rows(query, events), rows(replace(query, constraints=turned), events), text(query))


@examples(40)
@given(queries_and_events(kind="matches", max_names=3))
def test_all_relations_together_say_nothing(drawn: Drawn):
    query, events = drawn
    anything = tuple(replace(constraint, relations=RELATIONS) for constraint in query.constraints)
    free = rows(replace(query, constraints=()), events)
    assert_same_rows(free, rows(replace(query, constraints=anything), events), text(query))


@examples(40)
@given(queries_and_events(kind="matches", consistent=False))
def test_constraints_that_never_hold_together_have_no_rows(drawn: Drawn):
    query, events = drawn
    assert not can_hold([d.name for d in query.definitions], query.constraints)
    assert rows(query, events) == []
    assert rows(replace(query, at_end=not query.at_end), events) == []


@examples(40)
@given(queries_and_events(kind="matches", consistent=True))
def test_planted_constraints_can_hold(drawn: Drawn):
    query, _ = drawn
    assert can_hold([d.name for d in query.definitions], query.constraints)


# ------------------------------------------------------------------------------------------------------------- earliest


@examples(60)
@given(queries_and_events(kind="matches"))
def test_no_match_is_certain_later_than_at_its_end(drawn: Drawn):
    query, events = drawn
    early = identities(list(matches(replace(query, at_end=False), events)))
    at_end = identities(list(matches(replace(query, at_end=True), events)))
    for combination, time in at_end.items():
        assert early[combination] <= time
    for combination in early.keys() - at_end.keys():
        assert query.within is not None or any(
            situation.end is None
            for match in matches(replace(query, at_end=False), events)
            if combination in identities([match])
            for situation in match.situations
        )


@examples(40)
@given(queries_and_events(kind="matches"))
def test_what_comes_later_changes_no_row(drawn: Drawn):
    """The rows up to a time are the rows of the events up to that time."""
    query, events = drawn
    found = rows(query, events)
    for cut in all_times(events):
        prefix = [event for event in events if event["time"] is not None and event["time"] <= cut]
        assert_same_rows([row for row in found if row["time"] <= cut], rows(query, prefix), f"{text(query)} at {cut}")


@examples(40)
@given(queries_and_events(kind="matches", max_names=3))
def test_trying_the_futures_of_each_constraint_is_trying_all_futures_together(drawn: Drawn):
    query, events = drawn
    for partition in partitions(query, events):
        for combination in itertools.islice(combinations(query, partition), 6):
            for time in partition.times[-6:]:
                together = is_certain_trying_all_futures_together(query, combination, time)
                assert is_certain(query, combination, time) == together


@examples(40)
@given(queries_and_events(kind="matches"))
def test_what_is_certain_stays_certain(drawn: Drawn):
    query, events = drawn
    for partition in partitions(query, events):
        for combination in combinations(query, partition):
            certain = [is_certain(query, combination, time) for time in partition.times]
            assert certain == sorted(certain)


def continued(query: Query, events: list[Row], time: int, ends: dict[str, float]) -> list[Row]:
    """The events up to `time`, then events at half seconds in which each running situation ends when `ends` says."""
    past = [event for event in events if event["time"] is not None and event["time"] <= time]
    bounds = [b for d in query.definitions for b in (d.at_least, d.at_most) if b is not None]
    future = []
    for half in range(1, 2 * max([5, *bounds]) + 8):
        event = {**past[0], "time": time + half / 2}
        for definition in query.definitions:
            kind = COLUMN_TYPES[definition.name.lower()]
            event[definition.name.lower()] = kind(1 if event["time"] < ends.get(definition.name, time) else 0)
        future.append(event)
    return past + future


def continuations(
    query: Query, events: list[Row], combination: tuple[Situation, ...], time: int
) -> Iterator[list[Row]]:
    """Streams that begin with what is seen at `time`, in which running situations end soon, later, and much later."""
    running = [situation.name for situation in combination if known_at(situation, time).end is None]
    bounds = [b for d in query.definitions for b in (d.at_least, d.at_most) if b is not None]
    for chosen in itertools.product([0.5, 1.0, 1.5, max([5, *bounds]) + 1], repeat=len(running)):
        ends = {name: time + later for name, later in zip(running, chosen, strict=True)}
        yield continued(query, events, time, ends)


def is_match_at_end(query: Query, stream: list[Row], combination: tuple[Situation, ...]) -> bool:
    wanted = [(situation.name, situation.start) for situation in combination]
    ended = replace(query, at_end=True, within=None)
    return any(wanted == [(s.name, s.start) for s in match.situations] for match in matches(ended, stream))


@examples(40)
@given(queries_and_events(kind="matches", max_names=3, partitions=False, own_columns=True, ties=False))
def test_certain_means_a_match_however_the_stream_goes_on(drawn: Drawn):
    """At the earliest certain time every continuation of the stream gives the match; a step before, some do not."""
    query, events = drawn
    for partition in partitions(query, events):
        for combination in itertools.islice(combinations(query, partition), 4):
            certain = certain_time(query, combination, partition.times)
            begun = [t for t in partition.times if t >= max(situation.start for situation in combination)]
            for time in begun:
                outcomes = (
                    is_match_at_end(query, s, combination) for s in continuations(query, events, combination, time)
                )
                if certain is not None and time >= certain:
                    assert all(outcomes), (text(query), combination, time)
                    break
                assert not all(outcomes), (text(query), combination, time)


# ------------------------------------------------------------------------------------------------------- from intervals


@examples(40)
@given(queries_and_events(kind="matches", own_columns=True))
def test_the_situations_of_events_as_intervals_give_the_same_matches(drawn: Drawn):
    """Without durations, because a match becomes certain only where a situation begins or ends (Section 5.5.3)."""
    query, events = drawn
    definitions = tuple(replace(definition, at_least=None, at_most=None) for definition in query.definitions)
    query = replace(query, definitions=definitions, returns=())
    derived = rows(replace(query, constraints=(), within=None, at_end=False, return_situations=True), events)
    without_conditions = tuple(replace(definition, condition=None) for definition in definitions)
    from_intervals = replace(query, definitions=without_conditions, from_intervals=True)
    assert_same_rows(rows(query, events), rows(from_intervals, derived), text(query))


# ------------------------------------------------------------------------------------------------------- the strategies


def test_drawn_queries_have_matches_often_enough_to_test_something():
    seen: dict[str, int] = {"all": 0, "rows": 0, "several": 0, "running": 0}
    kept: set[str] = set()

    @settings(max_examples=120, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(queries_and_events(kind="matches", at_end=False))
    def draw(drawn: Drawn) -> None:
        query, events = drawn
        found = rows(query, events)
        seen["all"] += 1
        seen["rows"] += bool(found)
        seen["several"] += len(found) > 1
        seen["running"] += any(row[f"{d.name}_end"] is None for row in found for d in query.definitions)
        if found:
            narrow = [relation for c in query.constraints if len(c.relations) <= 3 for relation in c.relations]
            kept.update(min(relation, INVERSE[relation]) for relation in narrow)

    draw()
    assert seen["rows"] > seen["all"] / 4
    assert seen["several"] > seen["all"] / 20
    assert seen["running"] > seen["all"] / 10
    assert kept == {min(relation, INVERSE[relation]) for relation in RELATIONS}
