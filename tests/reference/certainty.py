"""Which matches of a list under `WITHIN w` alone are certain at a watermark (semantics, "Streams"): its row's time has
passed, and no event that may still come and no undecided earlier beginning can change, lengthen or remove it.

All events before the watermark have come, none at it or later. Events of one time begin together here: they wait for
each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .brute_force import WHOLE, Found, Matcher, Row, Trend, is_event, moment, partitions
from .detection import Order, choose, every_trend, takes_away, whole_match_conditions_hold
from .pattern import begins, can_end_with_not, variable_types
from .query import AfterMatch, Moving, Query


def certain(query: Query, rows: list[Row], watermark: float, returned: Sequence[str] = ()) -> list[Found]:
    """The trends that a list has shown when the watermark is here, however the events came. Complete ones and those
    that end with a NOT wait for the end of a window, and are not told here."""
    assert isinstance(query.window, Moving), "others wait for their windows"
    assert not query.complete, "these wait for longer ones"
    assert not can_end_with_not(query.pattern), "these wait for the end of their windows"
    known = [row if is_event(row) and row["time"] < watermark else row | {"time": None} for row in rows]
    found = [one for one in every_trend(query, known) if whole_match_conditions_hold(query, one.trend, known)]
    if query.after_match is None and query.per_start is None:
        return found
    chosen: list[Found] = []
    for partition, members in partitions(query, known, WHOLE).items():
        own = [one for one in found if one.partition == partition]
        chosen += _chosen(
            Order(query, known, returned), own, Matcher(query, known, members, query.window.within), watermark
        )
    return chosen


def _chosen(order: Order, found: list[Found], matcher: Matcher, watermark: float) -> list[Found]:
    """Of the trends of one partition, those that are taken and certain."""
    query, rows = order.query, order.rows
    after_match, chosen = query.after_match or AfterMatch("next"), []
    open_times = undecided(query, matcher, watermark)
    for time in sorted({rows[index]["time"] for index in matcher.members}):
        here = [one for one in found if rows[one.trend[0][0]]["time"] == time]
        if time in open_times and not (here and query.per_start == "shortest"):
            beginnings = {moment(rows[index]) for index in matcher.members if rows[index]["time"] == time}
            gone = all(
                any(takes_away(after_match, one.trend, beginning, rows) for one in chosen) for beginning in beginnings
            )
            if gone or after_match.kind == "next":
                continue
            return chosen
        chosen = choose(order, [*chosen, *here])
    return chosen


def undecided(query: Query, matcher: Matcher, watermark: float) -> set[float]:
    """The times of events from which a trend could still go on at the watermark or later. NOTs play no part."""
    return {
        matcher.time(beginning[0])
        for beginning in _beginnings(query, matcher)
        if goes_on(query, matcher, beginning, watermark)
    }


def _beginnings(query: Query, matcher: Matcher) -> Iterator[Trend]:
    """Every beginning of a trend, whatever its NOTs say."""
    waiting: list[Trend] = [()]
    while waiting:
        beginning = waiting.pop()
        if beginning:
            yield beginning
        waiting += matcher.longer_by_one(query.pattern, query.strategy, beginning)


def goes_on(query: Query, matcher: Matcher, beginning: Trend, watermark: float) -> bool:
    """Could some event at the watermark follow?"""
    word = tuple(variable for _, variable in beginning)
    return (
        watermark - matcher.time(beginning[0]) < query.window.within
        and any(begins(query.pattern, (*word, variable)) for variable in variable_types(query.pattern))
        and matcher.skips_nothing(query.pattern, query.strategy, beginning, (watermark, float("-inf"), 0))
    )
