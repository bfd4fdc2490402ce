"""Matches: every combination of one situation per name, and the time at which each is certain.

The earliest certain time is found by trying all possible futures. At a time t, all that is known of a situation that
has begun is its start, and its end if that is not later than t. A situation that runs at t may end at any time after t,
however soon, or never; what one situation does says nothing about another one.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from ..scalars import Scalar
from .conditions import Row
from .query import Definition, Query
from .relations import Interval, satisfied
from .situations import Partition, Situation, Time, partitions


@dataclass(frozen=True)
class Match:
    """One situation of each name, in the order of the definitions; `time` is when the match is reported."""

    partition: tuple[Scalar, ...]
    situations: tuple[Situation, ...]
    time: Time

    @property
    def start(self) -> Time:
        return min(situation.start for situation in self.situations)


def matches(query: Query, rows: list[Row]) -> Iterator[Match]:
    reported_at = end_time if query.at_end else certain_time
    for partition in partitions(query, rows):
        for combination in combinations(query, partition):
            time = reported_at(query, combination, partition.times)
            if time is None:
                continue
            match = Match(partition.values, combination, time)
            if query.within is None or match.time - match.start <= query.within:
                yield match


def combinations(query: Query, partition: Partition) -> Iterator[tuple[Situation, ...]]:
    return itertools.product(*(partition.situations[definition.name] for definition in query.definitions))


# --------------------------------------------------------------------------------------------------------------- at end


def end_time(query: Query, combination: tuple[Situation, ...], times: tuple[Time, ...]) -> Time | None:
    """DETECT AT END: when the last situation has ended; None if one has not, or if this is no match."""
    ends = [situation.end for situation in combination]
    if None in ends:
        return None
    intervals = {situation.name: (situation.start, situation.end) for situation in combination}
    if not is_match(query, intervals):
        return None
    return max(ends)


def is_match(query: Query, intervals: dict[str, Interval]) -> bool:
    """Do all lengths and all constraints hold of these intervals, one for each name, with all ends known?"""
    return all(length_is_allowed(d, intervals[d.name]) for d in query.definitions) and all(
        satisfied(c.relations, intervals[c.left], intervals[c.right]) for c in query.constraints
    )


def length_is_allowed(definition: Definition, interval: Interval) -> bool:
    start, end = interval
    long_enough = definition.at_least is None or end - start >= definition.at_least
    short_enough = definition.at_most is None or end - start <= definition.at_most
    return long_enough and short_enough


# ---------------------------------------------------------------------------------------------------- earliest certain


def certain_time(query: Query, combination: tuple[Situation, ...], times: tuple[Time, ...]) -> Time | None:
    """The first time at which something is seen in the partition and the match is certain; None if there is none."""
    for time in times:
        if is_certain(query, combination, time):
            return time
    return None


@dataclass(frozen=True)
class Known:
    """What is known of a situation at some time: no end means that it runs."""

    start: Time
    end: Time | None


def known_at(situation: Situation, time: Time) -> Known | None:
    """None: it has not begun. What is seen at `time` itself is known."""
    if situation.start > time:
        return None
    if situation.end is None or situation.end > time:
        return Known(situation.start, None)
    return Known(situation.start, situation.end)


def is_certain(query: Query, combination: tuple[Situation, ...], time: Time) -> bool:
    """Have all situations begun, and is it a match in every possible future?

    All lengths and constraints hold in every future iff each one holds in every future, and a length or a constraint is
    about one or two situations only. So it is enough to try the futures of those. Two situations need not be tried
    together with the lengths of others, because situations end independently of each other.
    """
    known = {situation.name: known_at(situation, time) for situation in combination}
    if None in known.values():
        return False
    return all(length_is_certain(definition, known[definition.name], time) for definition in query.definitions) and all(
        constraint_is_certain(constraint.relations, known[constraint.left], known[constraint.right], time)
        for constraint in query.constraints
    )


def is_certain_trying_all_futures_together(query: Query, combination: tuple[Situation, ...], time: Time) -> bool:
    """The same, tried for all situations at once. Only for small cases: the number of futures is a power."""
    known = {situation.name: known_at(situation, time) for situation in combination}
    if None in known.values():
        return False
    bounds = [
        known[definition.name].start + bound
        for definition in query.definitions
        for bound in (definition.at_least, definition.at_most)
        if bound is not None
    ]
    futures = [possible_intervals(known[definition.name], time, bounds) for definition in query.definitions]
    names = [definition.name for definition in query.definitions]
    return all(is_match(query, dict(zip(names, future, strict=True))) for future in itertools.product(*futures))


@functools.lru_cache(maxsize=10_000)
def length_is_certain(definition: Definition, known: Known, time: Time) -> bool:
    bounds = [known.start + bound for bound in (definition.at_least, definition.at_most) if bound is not None]
    return all(length_is_allowed(definition, interval) for interval in possible_intervals(known, time, bounds))


@functools.lru_cache(maxsize=100_000)
def constraint_is_certain(relations: tuple[str, ...], left: Known, right: Known, time: Time) -> bool:
    futures = itertools.product(possible_intervals(left, time), possible_intervals(right, time))
    return all(satisfied(relations, *future) for future in futures)


def possible_intervals(known: Known, time: Time, bounds: list[Time] | None = None) -> list[Interval]:
    if known.end is not None:
        return [(known.start, known.end)]
    return [(known.start, end) for end in possible_ends(time, bounds or [])]


def possible_ends(time: Time, bounds: list[Time]) -> list[float | Fraction]:
    """Times after `time`, some of each kind: at each bound, two between any two neighbours, three after all; never.

    Time is dense: an end may come sooner after `time` than any bound, so also sooner than the next whole second.
    """
    instants = sorted({Fraction(time)} | {Fraction(bound) for bound in bounds if bound > time})
    between = [
        earlier + (later - earlier) * third / 3 for earlier, later in itertools.pairwise(instants) for third in (1, 2)
    ]
    after = [instants[-1] + more for more in (1, 2, 3)]
    return [*sorted([*instants[1:], *between, *after]), math.inf]
