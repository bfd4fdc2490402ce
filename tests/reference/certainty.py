"""Which matches of a list under `WITHIN w` alone are certain at a watermark (semantics, "Streams"): its row's time has
passed, and no event that may still come and no undecided earlier beginning can change, lengthen or remove it.

All events before the watermark have come, none at it or later. Events of one time begin together here: they wait for
each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from .brute_force import WHOLE, Found, Matcher, Row, Trend, is_event, moment, partitions
from .detection import Order, choose, complete_trends, every_trend, takes_away, whole_match_conditions_hold
from .pattern import Pattern, Word, begins, can_begin_with_not, can_end_with_not, variable_types, words
from .query import ANY_MATCH, CONTIGUOUS, AfterMatch, Moving, Query

#: Words are written out up to so many letters, and what they show is held against trends of at most so many events.
LONGEST_WORD, LONGEST_TREND = 9, 4


def certain(query: Query, rows: list[Row], watermark: float, returned: Sequence[str] = ()) -> list[Found]:
    """The trends that a list has shown when the watermark is here, however the events came. What AFTER MATCH and PER
    START choose is not told where trends are complete or may end with a NOT."""
    assert isinstance(query.window, Moving), "others wait for their windows"
    chooses = query.after_match is not None or query.per_start is not None
    assert not chooses or not (query.complete or can_end_with_not(query.pattern)), "not told"
    known = [row if is_event(row) and row["time"] < watermark else row | {"time": None} for row in rows]
    found = every_trend(query, known)
    if query.complete:
        found = _complete(query, known, found, watermark)
    # One that ends with a NOT has its row at the end of its window.
    found = [
        one for one in found if one.window.end <= watermark and whole_match_conditions_hold(query, one.trend, known)
    ]
    if not chooses:
        return found
    chosen: list[Found] = []
    for partition, members in partitions(query, known, WHOLE).items():
        own = [one for one in found if one.partition == partition]
        chosen += _chosen(
            Order(query, known, returned), own, Matcher(query, known, members, query.window.within), watermark
        )
    return chosen


def _complete(query: Query, rows: list[Row], found: list[Found], watermark: float) -> list[Found]:
    """Of the trends, those that are complete and stay so. A longer one begins no later, so that nothing is added when
    no beginning up to a trend's own goes on; a window after its first event that is so in any case."""
    pattern, within = query.pattern, query.window.within
    open_beginnings = {
        partition: undecided(query, Matcher(query, rows, members, within), watermark)
        for partition, members in partitions(query, rows, WHOLE).items()
    }

    def stays(one: Found) -> bool:
        first, last = (rows[one.trend[place][0]]["time"] for place in (0, -1))
        if can_end_with_not(pattern):
            return first + within <= watermark
        if not goes_on_after_its_end(pattern, query.strategy == CONTIGUOUS) and len(one.trend) <= LONGEST_TREND:
            return True
        if can_begin_with_not(pattern):
            return last + within <= watermark
        if query.strategy == ANY_MATCH:
            ended = not goes_on_after_its_end(pattern, False, one.trend[-1][1]) and len(one.trend) <= LONGEST_TREND
            return ended or first + within <= watermark
        return not any(rows[index]["time"] <= first for index in open_beginnings[one.partition])

    return [one for one in complete_trends(found) if stays(one)]


@lru_cache(maxsize=4096)
def goes_on_after_its_end(pattern: Pattern, contiguous: bool, last: str | None = None) -> bool:
    """Can a trend, or one that ends with a variable, be part of a longer one that has a later event than its last?"""
    spelled = words(pattern, LONGEST_WORD) - {()}
    held = {word for word in spelled if last is None or word[-1] == last}
    return any(not held.isdisjoint(_parts(word[:-1], contiguous)) for word in spelled)


def _parts(word: Word, contiguous: bool) -> set[Word]:
    places = range(len(word))
    if contiguous:
        return {word[first : last + 1] for first in places for last in places if first <= last}
    return {tuple(word[place] for place in kept) for size in places for kept in combinations(places, size + 1)}


def _chosen(order: Order, found: list[Found], matcher: Matcher, watermark: float) -> list[Found]:
    """Of the trends of one partition, those that are taken and certain."""
    query, rows = order.query, order.rows
    after_match, chosen = query.after_match or AfterMatch("next"), []
    open_beginnings = undecided(query, matcher, watermark)
    for time in sorted({rows[index]["time"] for index in matcher.members}):
        here = [one for one in found if rows[one.trend[0][0]]["time"] == time]
        waits_for = {index for index in open_beginnings if rows[index]["time"] == time}
        if query.per_start == "shortest":
            waits_for -= {one.trend[0][0] for one in here}
        if waits_for:
            beginnings = {moment(rows[index]) for index in matcher.members if rows[index]["time"] == time}
            gone = all(
                any(takes_away(after_match, one.trend, beginning, rows) for one in chosen) for beginning in beginnings
            )
            if gone or after_match.kind == "next":
                continue
            return chosen
        chosen = choose(order, [*chosen, *here])
    return chosen


def undecided(query: Query, matcher: Matcher, watermark: float) -> set[int]:
    """The events from which a trend could still go on at the watermark or later. NOTs play no part."""
    return {
        beginning[0][0] for beginning in _beginnings(query, matcher) if goes_on(query, matcher, beginning, watermark)
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
