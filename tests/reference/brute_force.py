"""Every trend of a query, one by one, and the result rows made from them (semantics, the whole page).

A trend is a tuple of (index of the event in the input, variable) pairs. Trends are grown event by event, because every
condition on a trend but negation is a condition on its beginnings; negation is looked at when the trend is complete.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from .pattern import And, Guard, Pattern, begins, is_of, readings, variable_types
from .query import (
    ANY_MATCH,
    CONTIGUOUS,
    NEXT_MATCH,
    Aggregate,
    Anchor,
    Anchored,
    Arithmetic,
    Attribute,
    Column,
    Constant,
    Edge,
    Expression,
    Having,
    Leaf,
    Local,
    Moving,
    Predicate,
    Query,
    Session,
    Sliding,
)
from .scalars import Scalar, calculate, holds, identity, same

Row = dict[str, Scalar]
Trend = tuple[tuple[int, str], ...]
Key = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True)
class Window:
    """A stretch of time; which of its ends belongs to it depends on the kind of window.

    Lists under `WITHIN w` alone show each trend once: its window is of the kind "once" and ends at the time of the row.
    """

    kind: str
    start: float | None
    end: float | None

    def holds(self, time: float) -> bool:
        match self.kind:
            case "sliding" | "session":
                return self.start <= time < self.end
            case "moving":
                return self.start < time <= self.end
        return True


WHOLE = Window("whole", None, None)


@dataclass(frozen=True)
class Found:
    """A trend, with the window and the partition it was found in. The same trend is found in several windows."""

    window: Window
    partition: Key
    trend: Trend


#: A place in the order of events: the time, whether the column that orders events of one time is known, and its value.
Moment = tuple[float, float, float]
ORDER = "order"


def moment(row: Row) -> Moment:
    """Events of one time are ordered by the column `order`, where rows have one; NULL comes first."""
    order = row.get(ORDER, 0)
    return row["time"], float(order is not None), order or 0


def is_event(row: Row) -> bool:
    """Rows with a NULL time or type are not events."""
    return row["time"] is not None and row["type"] is not None


def dropped(rows: list[Row]) -> int:
    return sum(not is_event(row) for row in rows)


# ---------------------------------------------------------------------------------------------- windows and partitions


def windows(query: Query, rows: list[Row]) -> list[Window]:
    """Every window that holds at least one event."""
    times = sorted({row["time"] for row in rows if is_event(row)})
    if not times:
        return []
    match query.window:
        case None:
            return [WHOLE]
        case Moving(within=within):
            return [Window("moving", time - within, time) for time in times]
        case Sliding(within=within, slide=slide):
            first, last = math.floor((times[0] - within) / slide), math.ceil(times[-1] / slide)
            every = [Window("sliding", i * slide, i * slide + within) for i in range(first, last + 1)]
            return [window for window in every if any(window.holds(time) for time in times)]
    raise TypeError(query.window)


def sessions(times: list[float], gap: float) -> list[Window]:
    """The longest runs of these times, earliest first, in which neighbours are less than `gap` apart."""
    runs: list[list[float]] = []
    for time in times:
        if runs and time - runs[-1][-1] < gap:
            runs[-1].append(time)
        else:
            runs.append([time])
    return [Window("session", run[0], run[-1] + gap) for run in runs]


def scopes(query: Query, rows: list[Row]) -> Iterator[tuple[Window, Key, list[int]]]:
    """The events that a trend can have: those of one window and partition. Sessions belong to a partition."""
    if isinstance(query.window, Session):
        for partition, members in partitions(query, rows, WHOLE).items():
            for window in sessions([rows[index]["time"] for index in members], query.window.gap):
                yield window, partition, [index for index in members if window.holds(rows[index]["time"])]
        return
    for window in windows(query, rows):
        for partition, members in partitions(query, rows, window).items():
            yield window, partition, members


def partitions(query: Query, rows: list[Row], window: Window) -> dict[Key, list[int]]:
    """The events of a window, split by the unqualified equivalence and grouping attributes; earliest first.

    An event with a NULL equivalence attribute is in no partition. A NULL grouping attribute is a value like others.
    """
    bound_and_known = [a.name for a in query.equivalence if a.variable is None]
    bound = bound_and_known + [a.name for a in query.group_by if a.variable is None]
    parts: dict[Key, list[int]] = {}
    for index in sorted((i for i, row in enumerate(rows) if is_event(row)), key=lambda i: moment(rows[i])):
        row = rows[index]
        if window.holds(row["time"]) and all(row[name] is not None for name in bound_and_known):
            parts.setdefault(tuple(identity(row[name]) for name in bound), []).append(index)
    return parts


# --------------------------------------------------------------------------------------------------------------- trends


def trends(query: Query, rows: list[Row]) -> list[Found]:
    """Every trend of every window and partition."""
    assert not isinstance(query.pattern, And), "a conjunction has pairs of trends: see `pairs`"
    return list(_found(query, query.pattern, rows))


def sides(query: Query, rows: list[Row]) -> tuple[list[Found], list[Found]]:
    """The trends of either side of a conjunction, each found by its own pattern."""
    assert isinstance(query.pattern, And)
    return list(_found(query, query.pattern.left, rows)), list(_found(query, query.pattern.right, rows))


def pairs(query: Query, rows: list[Row]) -> dict[tuple[Window, Key], set[frozenset[Trend]]]:
    """The matches of `P1 AND P2`: two different trends, one of P1, one of P2, of one window and partition.

    They are unordered, which gives GRETA's number (Section 9): Ci*Cj + Ci*Cij + Cj*Cij + Cij*(Cij - 1)/2.
    """
    lefts, rights = sides(query, rows)
    matched: dict[tuple[Window, Key], set[frozenset[Trend]]] = {}
    for a in lefts:
        for b in rights:
            if (a.window, a.partition) == (b.window, b.partition) and a.trend != b.trend:
                matched.setdefault((a.window, a.partition), set()).add(frozenset([a.trend, b.trend]))
    return matched


def _found(query: Query, pattern: Pattern, rows: list[Row]) -> Iterator[Found]:
    for window, partition, members in scopes(query, rows):
        for trend in Matcher(query, rows, members).matches(pattern, query.strategy):
            yield Found(window, partition, trend)


Limits = tuple[float, float]
"""Gaps that begin with the window begin after the first of these times, those that end with it before the second."""

EVERYTHING: Limits = (-math.inf, math.inf)


class Matcher:
    """Matches patterns, the query's and those under its NOTs, against the events of one window and partition.

    With `within` they are those of the whole partition, and each trend has a window of its own ("each trend once").
    """

    def __init__(self, query: Query, rows: list[Row], members: list[int], within: float | None = None) -> None:
        self.query, self.rows, self.members, self.within = query, rows, members, within
        self.negated_matches = cache(lambda body, limits: list(self.negated(body, limits)))

    def time(self, pair: tuple[int, str]) -> float:
        return self.rows[pair[0]]["time"]

    def moment(self, pair: tuple[int, str]) -> Moment:
        return moment(self.rows[pair[0]])

    def matches(self, pattern: Pattern, strategy: str) -> Iterator[Trend]:
        """Every non-empty sequence of pairs that is a trend of this pattern."""
        for trend in self.spelled(pattern, strategy):
            if self.fits(trend) and self.valid_readings(pattern, trend, self.limits(trend)):
                yield trend

    def negated(self, body: Pattern, limits: Limits) -> Iterator[Trend]:
        """Every match of a pattern under a NOT. Strategies do not apply to it."""
        for match in self.spelled(body, ANY_MATCH):
            if self.valid_readings(body, match, limits):
                yield match

    def spelled(self, pattern: Pattern, strategy: str) -> Iterator[Trend]:
        """Every non-empty sequence of pairs that the pattern spells, whatever its NOTs say."""
        beginnings: list[Trend] = [()]
        while beginnings:
            beginning = beginnings.pop()
            if beginning and readings(pattern, _word(beginning)):
                yield beginning
            beginnings += self.longer_by_one(pattern, strategy, beginning)

    def fits(self, trend: Trend) -> bool:
        return self.within is None or self.time(trend[-1]) - self.time(trend[0]) < self.within

    def limits(self, trend: Trend) -> Limits:
        """Where the window begins and ends for this trend's NOTs; a sliding window holds no other events anyway."""
        if self.within is None:
            return EVERYTHING
        return self.time(trend[-1]) - self.within, self.time(trend[0]) + self.within

    def time_of_its_row(self, pattern: Pattern, trend: Trend) -> float:
        """Its last event's; but a trend that is valid only if nothing follows until its window ends waits for that."""
        limits = self.limits(trend)
        for guards in self.valid_readings(pattern, trend, limits):
            if not any(place == len(trend) for place, _ in guards):
                return self.time(trend[-1])
        return limits[1]

    def longer_by_one(self, pattern: Pattern, strategy: str, beginning: Trend) -> Iterator[Trend]:
        for index in self.members:
            for variable in variable_types(pattern):
                pair = (index, variable)
                if self.can_follow(pattern, beginning, pair) and self.skips_nothing(
                    pattern, strategy, beginning, self.moment(pair)
                ):
                    yield (*beginning, pair)

    def can_follow(self, pattern: Pattern, beginning: Trend, pair: tuple[int, str]) -> bool:
        """Can this event, read as this variable, come next? (Event selection and negation play no part.)"""
        index, variable = pair
        row = self.rows[index]
        return (
            is_of(row["type"], variable_types(pattern)[variable])
            and (not beginning or self.moment(beginning[-1]) < moment(row))
            and begins(pattern, (*_word(beginning), variable))
            and self.local_predicates_hold(pair)
            and (not beginning or self.edge_predicates_hold(beginning[-1], pair))
            and self.anchor_predicates_hold(beginning, pair)
            and self.qualified_attributes_agree((*beginning, pair))
        )

    def valid_readings(self, pattern: Pattern, trend: Trend, limits: Limits) -> list[frozenset[Guard]]:
        """The ways to read it in which every gap with a NOT is clean. One is enough."""
        return [
            guards
            for guards in readings(pattern, _word(trend))
            if all(self.gap_is_clean(trend, place, body, limits) for place, body in guards)
        ]

    # ---- predicates

    def local_predicates_hold(self, pair: tuple[int, str]) -> bool:
        row = self.rows[pair[0]]
        return all(
            condition_holds(p, lambda column: row[column.attribute])
            for p in self.query.predicates
            if isinstance(p, Local) and p.variable == pair[1]
        )

    def edge_predicates_hold(self, earlier: tuple[int, str], later: tuple[int, str]) -> bool:
        row, next_row = self.rows[earlier[0]], self.rows[later[0]]
        return all(
            condition_holds(p, lambda column: (next_row if column.later else row)[column.attribute])
            for p in self.query.predicates
            if isinstance(p, Edge) and p.variable == earlier[1] == later[1]
        )

    def anchor_predicates_hold(self, beginning: Trend, pair: tuple[int, str]) -> bool:
        """Of the events before it, does this one find its anchors, and hold up against them?"""
        return all(
            self.anchor_predicate_holds(p, beginning, pair)
            for p in self.query.predicates
            if isinstance(p, Anchor) and p.variable == pair[1]
        )

    def anchor_predicate_holds(self, condition: Anchor, beginning: Trend, pair: tuple[int, str]) -> bool:
        """An event before which one of the anchors is missing is not bound."""
        found = {anchor: anchor_event(anchor, beginning) for anchor in condition.anchors()}
        if None in found.values():
            return True
        return condition_holds(condition, lambda column: self.rows[found.get(column, pair[0])][column.attribute])

    def qualified_attributes_agree(self, trend: Trend) -> bool:
        """`[P.vehicle]`: P's events have one known vehicle. `GROUP-BY T.district`: T's events have one, or all none."""
        for attribute in self.query.equivalence + self.query.group_by:
            values = [self.rows[index][attribute.name] for index, variable in trend if variable == attribute.variable]
            if not all(same(value, values[0]) for value in values):
                return False
            if attribute in self.query.equivalence and None in values:
                return False
        return True

    # ---- event selection

    def skips_nothing(self, pattern: Pattern, strategy: str, beginning: Trend, until: Moment) -> bool:
        """Does the strategy allow the step from the last event of this beginning to an event at this moment?"""
        if not beginning:
            return True
        between = [i for i in self.members if self.moment(beginning[-1]) < moment(self.rows[i]) < until]
        if strategy == CONTIGUOUS:
            return not between
        if strategy == NEXT_MATCH:
            return not any(
                self.can_follow(pattern, beginning, (index, variable))
                for index in between
                for variable in variable_types(pattern)
            )
        return True

    # ---- negation

    def gap_is_clean(self, trend: Trend, place: int, body: Pattern, limits: Limits) -> bool:
        """Is there no match of the negated pattern between the trend's events before and after this place?

        Where one of them is missing, the window is the limit.
        """
        # Limits are times: what has the first one itself is not after it, and what has the second not before it.
        after = (limits[0], math.inf, 0) if place == 0 else self.moment(trend[place - 1])
        before = (limits[1], -math.inf, 0) if place == len(trend) else self.moment(trend[place])
        return not any(
            after < self.moment(match[0]) and self.moment(match[-1]) < before
            for match in self.negated_matches(body, limits)
        )


def anchor_event(anchor: Anchored, beginning: Trend) -> int | None:
    """The event that the anchor names, of those before the event that the condition is about."""
    if anchor.which == "PREV":
        beginning = beginning[-1:]
    events = [index for index, variable in beginning if variable == anchor.variable]
    if not events:
        return None
    return events[0] if anchor.which == "FIRST" else events[-1]


def condition_holds(condition: Predicate | Having, value: Callable[[Leaf], Scalar]) -> bool:
    return holds(evaluate(condition.left, value), condition.comparison, evaluate(condition.right, value))


def evaluate(expression: Expression, value: Callable[[Leaf], Scalar]) -> Scalar:
    """The value of a scalar expression, given those of its columns."""
    match expression:
        case Constant(value=constant):
            return constant
        case Column() | Anchored() | Aggregate() | Attribute():
            return value(expression)
        case Arithmetic(left=left, operator=operator, right=right):
            return calculate(evaluate(left, value), operator, evaluate(right, value))
    raise TypeError(expression)


def _word(trend: Trend) -> tuple[str, ...]:
    return tuple(variable for _, variable in trend)
