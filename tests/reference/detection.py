"""Which trends a list shows (semantics, "Detection"): each once, complete ones, conditions on the whole, AFTER MATCH.

The order of the questions: which trends there are, which of them are complete, which satisfy the conditions on whole
matches, and which of those AFTER MATCH SKIP and PER START choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .aggregates import of_one_trend
from .brute_force import (
    WHOLE,
    Found,
    Matcher,
    Moment,
    Row,
    Trend,
    Window,
    condition_holds,
    is_event,
    moment,
    partitions,
    trends,
)
from .pattern import variable_types
from .query import AfterMatch, Moving, Query, Whole
from .scalars import in_order


def listed(query: Query, rows: list[Row], returned: Sequence[str] = ()) -> list[Found]:
    """The trends that have rows in a list. `returned`: the columns of events that the rows show."""
    found = every_trend(query, rows)
    if query.complete:
        found = complete_trends(found)
    found = [one for one in found if whole_match_conditions_hold(query, one.trend, rows)]
    if query.after_match is None and query.per_start is None:
        return found
    order = Order(query, rows, returned)
    chosen = []
    for together in _by_window_and_partition(found):
        chosen += choose(order, together)
    return chosen


def every_trend(query: Query, rows: list[Row]) -> list[Found]:
    """Those of each window; under `WITHIN w` alone each trend once."""
    if not isinstance(query.window, Moving):
        return trends(query, rows)
    within, result = query.window.within, []
    for partition, members in partitions(query, rows, WHOLE).items():
        matcher = Matcher(query, rows, members, within)
        result += [
            Found(Window("once", None, matcher.time_of_its_row(query.pattern, trend)), partition, trend)
            for trend in matcher.matches(query.pattern, query.strategy)
        ]
    return result


def complete_trends(every: list[Found]) -> list[Found]:
    """Those that are not a proper sub-sequence of another of the same window and partition.

    Under `WITHIN w` alone the others are all those of the partition, at whatever time their rows stand.
    """
    return [
        found
        for found in every
        if not any(
            other.partition == found.partition
            and (other.window == found.window or found.window.kind == "once")
            and len(other.trend) > len(found.trend)
            and set(found.trend) < set(other.trend)  # both are sorted by time: a subset is a sub-sequence
            for other in every
        )
    ]


def whole_match_conditions_hold(query: Query, trend: Trend, rows: list[Row]) -> bool:
    return all(
        condition_holds(condition, lambda wanted: of_one_trend(wanted, trend, rows))
        for condition in query.predicates
        if isinstance(condition, Whole)
    )


def _by_window_and_partition(found: list[Found]) -> list[list[Found]]:
    """Under `WITHIN w` alone each partition is one whole."""
    together: dict[tuple, list[Found]] = {}
    for one in found:
        window = None if one.window.kind == "once" else one.window
        together.setdefault((window, one.partition), []).append(one)
    return list(together.values())


# --------------------------------------------------------------------------------------- AFTER MATCH SKIP and PER START


@dataclass
class Order:
    """In which order trends are taken. `returned`: the columns that decide between events that nothing else orders."""

    query: Query
    rows: list[Row]
    returned: Sequence[str]

    def of_event(self, pair: tuple[int, str]) -> tuple:
        """An event of a trend: its time, the variable in the order of the pattern, then the values of the columns that
        are returned, by the names of the columns, its type, and last the values of the others."""
        row = self.rows[pair[0]]
        shown = sorted(set(self.returned) & set(row))
        others = sorted(set(row) - set(shown) - {"time", "type", "order"})
        variable = list(variable_types(self.query.pattern)).index(pair[1])
        return moment(row), variable, tuple(in_order(row[name]) for name in [*shown, "type", *others])

    def of_one_beginning(self, trend: Trend) -> tuple:
        """Among trends of the same first event: the latest end first (SHORTEST: the earliest), then event by event."""
        times = sorted({moment(row) for row in self.rows if is_event(row)})
        end = times.index(moment(self.rows[trend[-1][0]]))
        return end if self.query.per_start == "shortest" else -end, [self.of_event(pair) for pair in trend]

    def of_beginnings(self, trend: Trend) -> tuple:
        """Among the first trends of different events."""
        time, variable, _ = self.of_event(trend[0])
        return time, variable, *self.of_one_beginning(trend)


def choose(order: Order, found: list[Found]) -> list[Found]:
    """Of the trends of one window and partition, those that are taken, in order.

    A taken trend takes away all that begin with its first event, so only the first of these can ever be taken. Without
    AFTER MATCH it takes away no more, which is TO NEXT EVENT.
    """
    after_match = order.query.after_match or AfterMatch("next")
    first: dict[int, Found] = {}
    for one in sorted(found, key=lambda one: order.of_one_beginning(one.trend)):
        first.setdefault(one.trend[0][0], one)
    chosen: list[Found] = []
    for one in sorted(first.values(), key=lambda one: order.of_beginnings(one.trend)):
        beginning = _moment(one.trend[0], order.rows)
        if not any(takes_away(after_match, taken.trend, beginning, order.rows) for taken in chosen):
            chosen.append(one)
    return chosen


def takes_away(after_match: AfterMatch, taken: Trend, beginning: Moment, rows: list[Row]) -> bool:
    """Does this taken trend take away the trends that begin with another event, at this time?"""
    named = [_moment(pair, rows) for pair in taken if pair[1] == after_match.variable]
    match after_match.kind:
        case "past last":
            return beginning <= _moment(taken[-1], rows)
        case "first":
            return bool(named) and beginning < named[0]
        case "last":
            return bool(named) and beginning < named[-1]
    return False


def _moment(pair: tuple[int, str], rows: list[Row]) -> Moment:
    return moment(rows[pair[0]])
