"""The result rows of an interval query: of matches, of matches per window, of the situations themselves."""

from __future__ import annotations

import math

from ..aggregates import average, total
from ..scalars import Scalar, identity, largest, smallest
from .conditions import Row
from .matches import Match, known_at, length_is_certain, matches
from .query import Aggregate, PartitionAttribute, Query
from .situations import Situation, Time, partitions


def rows(query: Query, events: list[Row]) -> list[Row]:
    """All rows, in no order that means anything. Of a query FROM INTERVALS, `events` are the intervals."""
    if query.return_situations:
        return situation_rows(query, events)
    found = list(matches(query, events))
    if query.every is not None:
        return window_rows(query, found)
    return [match_row(query, match, events) for match in found]


# -------------------------------------------------------------------------------------------------------------- matches


def match_row(query: Query, match: Match, events: list[Row]) -> Row:
    row: Row = {"time": match.time}
    for situation in match.situations:
        row[f"{situation.name}_start"] = situation.start
        row[f"{situation.name}_end"] = known_at(situation, match.time).end
    for returned in query.returns:
        if isinstance(returned, PartitionAttribute):
            row[returned.column] = match.partition[query.partition_by.index(returned.attribute)]
        else:
            row[returned.column] = aggregate(returned, match, events)
    return row


def aggregate(wanted: Aggregate, match: Match, events: list[Row]) -> Scalar:
    """Over the situation as known when the match is reported: `[start, end)`, or `[start, time)` while it runs."""
    (situation,) = [situation for situation in match.situations if situation.name == wanted.name]
    end = known_at(situation, match.time).end
    until = match.time if end is None else end
    if wanted.function == "DURATION":
        return until - situation.start
    return aggregate_events(wanted, [events[index] for index in situation.events if events[index]["time"] < until])


def aggregate_events(wanted: Aggregate, seen: list[Row]) -> Scalar:
    if wanted.attribute is None:
        return len(seen)
    if wanted.function in ("FIRST", "LAST"):
        return first_or_last(wanted, seen)
    known = [event[wanted.attribute] for event in seen if event[wanted.attribute] is not None]
    if wanted.function == "COUNT":
        return len(known)
    if not known:
        return None
    return {"SUM": total, "AVG": average, "MIN": smallest, "MAX": largest}[wanted.function](known)


def first_or_last(wanted: Aggregate, seen: list[Row]) -> Scalar:
    """The value of the first or last event; where several have its time, their smallest or largest value."""
    if not seen:
        return None
    pick_time, pick_value = (min, smallest) if wanted.function == "FIRST" else (max, largest)
    time = pick_time(event["time"] for event in seen)
    values = [event[wanted.attribute] for event in seen if event["time"] == time]
    return pick_value([value for value in values if value is not None])


# ------------------------------------------------------------------------------------------------------------- windows


def window_rows(query: Query, found: list[Match]) -> list[Row]:
    """COUNT(*) per window `[i * slide, i * slide + within)` and returned attributes, where there is a match."""
    counts: dict[tuple, int] = {}
    kept: dict[tuple, dict[str, Scalar]] = {}
    attributes = [returned for returned in query.returns if isinstance(returned, PartitionAttribute)]
    for match in found:
        values = {r.column: match.partition[query.partition_by.index(r.attribute)] for r in attributes}
        for window_start in windows_that_hold(match.start, match.time, query.within, query.every):
            key = (window_start, tuple(identity(value) for value in values.values()))
            counts[key] = counts.get(key, 0) + 1
            kept[key] = values
    (count,) = [returned.column for returned in query.returns if isinstance(returned, Aggregate)]
    return [
        {"window_start": start, "window_end": start + query.within, **kept[start, group], count: number}
        for (start, group), number in counts.items()
    ]


def windows_that_hold(start: Time, time: Time, within: int, slide: int) -> list[int]:
    """The starts of the windows that hold the whole match, from its first start to the time of its row."""
    first = math.floor((start - within) / slide)
    last = math.ceil(time / slide)
    return [
        place * slide for place in range(first, last + 1) if place * slide <= start and time < place * slide + within
    ]


# ----------------------------------------------------------------------------------------------------------- situations


def situation_rows(query: Query, events: list[Row]) -> list[Row]:
    """The derived intervals. One that still runs is there, without an end, if it is certain that its length is allowed.

    DETECT AT END: only those that have ended.
    """
    result = []
    for partition in partitions(query, events):
        for definition in query.definitions:
            for situation in partition.situations[definition.name]:
                known = known_at(situation, partition.times[-1])
                if query.at_end and known.end is None:
                    continue
                if length_is_certain(definition, known, partition.times[-1]):
                    result.append(_situation_row(query, partition.values, situation))
    return result


def _situation_row(query: Query, values: tuple[Scalar, ...], situation: Situation) -> Row:
    keys = dict(zip(query.partition_by, values, strict=True))
    return {**keys, "name": situation.name, "start": situation.start, "end": situation.end}
