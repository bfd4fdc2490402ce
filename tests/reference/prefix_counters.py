"""Trends counted without one of them being written down: A-Seq's prefix counters, and panes of them put together.

Where a trend's events are bound by nothing but their order, all that matters of the events so far is how many
beginnings of trends stand in each state of the pattern (A-Seq, Section 3.1: a counter for each prefix). Each beginning
brings the values of its events along, as a bag of values with the number of times each occurs; of the bags every
aggregate is made. Counters of a stretch of time ("pane") that begin in every state are a matrix, and matrices of
neighbouring panes are multiplied: so windows that overlap share their panes.

It is slow, obvious, and needs neither the trends nor the graph of GRETA: a second opinion on streams that are too long
for `brute_force`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import groupby

from .aggregates import nearest_double
from .brute_force import Key, Matcher, Row, Window, scopes
from .pattern import Event, Or, Pattern, Repeat, Seq, can_be_empty, is_of, variable_types
from .query import ANY_MATCH, Aggregate, Anchor, Edge, Query, Sliding, Whole
from .results import window_columns
from .scalars import Scalar, identity, is_nan, largest, smallest

# --------------------------------------------------------------------------------------------------- states of patterns

State = frozenset[tuple[Pattern, ...]]
"""What may still follow: any of these sequences of patterns (Antimirov's partial derivatives). Each word leads to one
state, so a trend is counted once however many ways there are to spell it."""


def beginning(pattern: Pattern) -> State:
    return frozenset([(pattern,)])


@lru_cache(maxsize=65536)
def after(state: State, variable: str) -> State:
    """The state that an event of the variable leads to; the empty one where it cannot come."""
    return frozenset(rest for parts in state for rest in _rests(parts, variable))


def is_complete(state: State) -> bool:
    return any(all(map(can_be_empty, parts)) for parts in state)


def _rests(parts: tuple[Pattern, ...], variable: str) -> Iterator[tuple[Pattern, ...]]:
    if not parts:
        return
    first, *others = parts
    then = tuple(others)
    match first:
        case Event():
            if first.name == variable:
                yield then
        case Seq(parts=inner):
            yield from _rests((*inner, *then), variable)
        case Or(alternatives=alternatives):
            for alternative in alternatives:
                yield from _rests((alternative, *then), variable)
        case Repeat(body=body, low=low, high=high):
            if high != 0:
                again = Repeat(body, max(low - 1, 0), None if high is None else high - 1)
                for rest in _rests((body,), variable):
                    yield (*rest, again, *then)
            if low == 0 or can_be_empty(body):
                yield from _rests(then, variable)
        case _:
            raise TypeError(f"{first} needs more than counters")


# ------------------------------------------------------------------------------------------------------------- counters

Place = tuple[str, str | None]
"""A variable, and the attribute whose values are brought along; None to count the events."""


@dataclass(frozen=True)
class Paths:
    """Some beginnings of trends, or pieces of them: how many, and how often each value occurs in all of them."""

    number: int = 0
    values: dict[Place, Counter] = field(default_factory=dict)

    def __add__(self, other: Paths) -> Paths:
        """Either of these or of those."""
        values = {place: bag.copy() for place, bag in self.values.items()}
        for place, bag in other.values.items():
            values.setdefault(place, Counter()).update(bag)
        return Paths(self.number + other.number, values)

    def __mul__(self, then: Paths) -> Paths:
        """Each of these, followed by each of those: every value occurs once for each way to go on, or to get here."""
        values: dict[Place, Counter] = {}
        for bags, times in ((self.values, then.number), (then.values, self.number)):
            for place, bag in bags.items():
                values.setdefault(place, Counter()).update({value: often * times for value, often in bag.items()})
        return Paths(self.number * then.number, values)


Counters = dict[State, Paths]


class Counting:
    """Counters for one query, of events that lie in one partition."""

    def __init__(self, query: Query, rows: list[Row]) -> None:
        refused = (Edge, Anchor, Whole)
        assert not any(isinstance(predicate, refused) for predicate in query.predicates), "an event would matter later"
        assert all(a.variable is None for a in query.equivalence + query.group_by), "an event would matter later"
        assert query.strategy == ANY_MATCH, "what lies between two events would matter"
        self.query, self.rows = query, rows
        self.start = beginning(query.pattern)
        self.places = [(a.variable, a.attribute) for a in query.aggregates if isinstance(a, Aggregate) and a.variable]

    def readings(self, index: int) -> Iterator[tuple[str, Paths]]:
        """The variables that an event can be read as, each with the one path of that event alone."""
        row, matcher = self.rows[index], Matcher(self.query, self.rows, [index])
        for variable, type_ in variable_types(self.query.pattern).items():
            if is_of(row["type"], type_) and matcher.local_predicates_hold((index, variable)):
                bags = {
                    place: Counter([None if place[1] is None else _Value.of(row[place[1]])])
                    for place in self.places
                    if place[0] == variable
                }
                yield variable, Paths(1, bags)

    def at_times(self, members: list[int]) -> Iterator[list[int]]:
        """Events of one time never follow each other."""
        for _, together in groupby(members, key=lambda index: self.rows[index]["time"]):
            yield list(together)

    def count(self, members: list[int]) -> Counters:
        """A-Seq's counters after these events, earliest first."""
        counters: Counters = {}
        for together in self.at_times(members):
            counters = added(counters, self._reached({self.start: Paths(1)}, counters, together))
        return counters

    def matrix(self, members: list[int]) -> dict[State, Counters]:
        """For each state before these events, the counters of what begins there; `count` is the row of the start."""
        table: dict[State, Counters] = {}
        unseen = [self.start]
        while unseen:
            before = unseen.pop()
            if before in table:
                continue
            reached: Counters = {}
            for together in self.at_times(members):
                reached = added(reached, self._reached({before: Paths(1)}, reached, together))
            table[before] = reached
            unseen += [after(before, name) for name in variable_types(self.query.pattern) if after(before, name)]
        return table

    def _reached(self, fresh: Counters, counters: Counters, together: list[int]) -> Counters:
        found: Counters = {}
        for index in together:
            for variable, alone in self.readings(index):
                for state, paths in [*fresh.items(), *counters.items()]:
                    if then := after(state, variable):
                        found[then] = found.get(then, Paths()) + paths * alone
        return found

    def step(self, counters: Counters, pane: dict[State, Counters]) -> Counters:
        """Counters before a pane and its matrix give the counters after it."""
        going_on = [(state, paths) for state, paths in [(self.start, Paths(1)), *counters.items()] if state in pane]
        for state, paths in going_on:
            counters = added(counters, {then: paths * more for then, more in pane[state].items()})
        return counters

    def trends(self, counters: Counters) -> Paths:
        return sum((paths for state, paths in counters.items() if is_complete(state)), Paths())


def added(one: Counters, other: Counters) -> Counters:
    return {state: one.get(state, Paths()) + other.get(state, Paths()) for state in {**one, **other}}


# ----------------------------------------------------------------------------------------------------------------- rows


def rows(query: Query, events: list[Row]) -> list[Row]:
    """The result rows, each window counted by itself. A moving window has a row where the last event ends a trend."""
    counting = Counting(query, events)
    found: dict[tuple, tuple[Window, list[int], Paths]] = {}
    for window, partition, members in scopes(query, events):
        paths = counting.trends(counting.count(members))
        if window.kind == "moving":
            earlier = [index for index in members if events[index]["time"] != window.end]
            if paths.number == counting.trends(counting.count(earlier)).number:
                continue
        _add(found, query, events, window, partition, members, paths)
    return [_row(query, events, *one) for one in found.values()]


def rows_of_panes(query: Query, events: list[Row]) -> list[Row]:
    """The same for sliding windows, each put together from panes as long as all windows begin and end with."""
    assert isinstance(query.window, Sliding)
    counting, length = Counting(query, events), math.gcd(query.window.within, query.window.slide)
    matrices: dict[tuple, dict[State, Counters]] = {}
    found: dict[tuple, tuple[Window, list[int], Paths]] = {}
    for window, partition, members in scopes(query, events):
        counters: Counters = {}
        for pane, of_pane in groupby(members, key=lambda index: events[index]["time"] // length):
            if (partition, pane) not in matrices:
                matrices[partition, pane] = counting.matrix(list(of_pane))
            counters = counting.step(counters, matrices[partition, pane])
        _add(found, query, events, window, partition, members, counting.trends(counters))
    return [_row(query, events, *one) for one in found.values()]


def _add(
    found: dict[tuple, tuple[Window, list[int], Paths]],
    query: Query,
    events: list[Row],
    window: Window,
    partition: Key,
    members: list[int],
    paths: Paths,
) -> None:
    """Partitions of one group share a row; a session belongs to its partition."""
    if not paths.number:
        return
    group = tuple(identity(events[members[0]][attribute.name]) for attribute in query.group_by)
    place = (window, group, partition if window.kind == "session" else None)
    before = found.get(place, (window, members, Paths()))[2]
    found[place] = (window, members, before + paths)


def _row(query: Query, events: list[Row], window: Window, members: list[int], paths: Paths) -> Row:
    row = window_columns(query, window)
    row |= {attribute.name: events[members[0]][attribute.name] for attribute in query.group_by}
    return row | {wanted.column: _aggregate(wanted, paths) for wanted in query.aggregates}


# ----------------------------------------------------------------------------------------------------------- aggregates


@dataclass(frozen=True)
class _Value:
    """A value that can be counted: NaN is one value, as it is not in Python."""

    value: Scalar | Decimal = None
    kind: str = ""

    @staticmethod
    def of(value: Scalar | Decimal) -> _Value:
        return _Value(None, "nan") if is_nan(value) else _Value(value, type(value).__name__)

    def plain(self) -> Scalar | Decimal:
        return math.nan if self.kind == "nan" else self.value


def _aggregate(wanted: Aggregate, paths: Paths) -> Scalar | Decimal:
    if wanted.variable is None:
        return paths.number
    bag = paths.values.get((wanted.variable, wanted.attribute), Counter())
    if wanted.attribute is None:
        return bag.total()
    known = {value.plain(): often for value, often in bag.items() if value.value is not None or value.kind == "nan"}
    if not known:
        return None
    match wanted.function:
        case "MIN":
            return smallest(list(known))
        case "MAX":
            return largest(list(known))
        case "SUM":
            return _total(known)
        case "AVG":
            whole = _total(known)
            if isinstance(whole, float) and not math.isfinite(whole) and not all(map(math.isfinite, known)):
                return whole
            return nearest_double(_exactly(known) / sum(known.values()))
    raise ValueError(wanted)


def _total(known: dict[Scalar | Decimal, int]) -> Scalar | Decimal:
    """Whole numbers and decimals exactly, doubles as the double nearest to the exact sum."""
    if all(isinstance(value, int) for value in known):
        return int(_exactly(known))
    if all(isinstance(value, Decimal) for value in known):
        return _exactly(known)
    endless = [value for value in known if not math.isfinite(value)]
    return sum(endless) if endless else nearest_double(_exactly(known))


def _exactly(known: dict[Scalar | Decimal, int]) -> Fraction:
    return sum((Fraction(value) * often for value, often in known.items()), Fraction(0))
