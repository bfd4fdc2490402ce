"""Which trends a list shows (semantics, "Detection"): each once, complete ones, conditions on the whole, AFTER MATCH.

The order of the questions: which trends there are, which of them are complete, which satisfy the conditions on whole
matches, and which of those AFTER MATCH SKIP and PER START choose.
"""

from __future__ import annotations

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


def listed(query: Query, rows: list[Row]) -> list[Found]:
    """The trends that have rows in a list."""
    found = every_trend(query, rows)
    if query.complete:
        found = complete_trends(found)
    found = [one for one in found if whole_match_conditions_hold(query, one.trend, rows)]
    if query.after_match is None and query.per_start is None:
        return found
    chosen = []
    for together in _by_window_and_partition(found):
        chosen += choose(query, together, rows)
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


def choose(query: Query, found: list[Found], rows: list[Row]) -> list[Found]:
    """Of the trends of one window and partition, those that are taken, in order.

    Trends of one place in the order are taken together. Without AFTER MATCH a taken trend takes away the others that
    begin when it does, which is TO NEXT EVENT.
    """
    after_match = query.after_match or AfterMatch("next")
    chosen: list[Found] = []
    places = sorted({place_in_order(query, one.trend, rows) for one in found})
    for place in places:
        here = [one for one in found if place_in_order(query, one.trend, rows) == place]
        beginning = _moment(here[0].trend[0], rows)
        if not any(takes_away(after_match, one.trend, beginning, rows) for one in chosen):
            chosen += here
    return chosen


def place_in_order(query: Query, trend: Trend, rows: list[Row]) -> tuple:
    """First the earliest beginning, then the latest end, then the most events (SHORTEST: the earliest, the fewest)."""
    sign = 1 if query.per_start == "shortest" else -1
    moments = sorted({moment(row) for row in rows if is_event(row)})
    times = tuple(moments.index(_moment(pair, rows)) for pair in trend)
    first_named = list(variable_types(query.pattern))
    variables = tuple(first_named.index(variable) for _, variable in trend)
    return times[0], sign * times[-1], sign * len(trend), times, variables


def takes_away(after_match: AfterMatch, taken: Trend, beginning: Moment, rows: list[Row]) -> bool:
    """Does this taken trend take away the trends that begin at this time?"""
    if beginning <= _moment(taken[0], rows):
        return True
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
