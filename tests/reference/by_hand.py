"""Short ways to write streams and ask for counts, for tests written by hand.

Streams are written as `a1 b2 c2`: type A at second 1, B at 2, C at 2.
"""

from __future__ import annotations

from .brute_force import Row, trends
from .pattern import Event, Pattern
from .query import Moving, Query
from .results import rows

A, B, C, D, E = (Event(name) for name in "ABCDE")


def stream(written: str, **columns: list) -> list[Row]:
    """`stream("a1 b2", x=[5, None])`"""
    events = [{"type": word[0].upper(), "time": int(word[1:])} for word in written.split()]
    for name, values in columns.items():
        for event, value in zip(events, values, strict=True):
            event[name] = value
    return events


def one_second_apart(types: str, **columns: list) -> list[Row]:
    return stream(" ".join(f"{type_}{time}" for time, type_ in enumerate(types.split(), start=1)), **columns)


def count(pattern: Pattern, events: list[Row], **clauses: object) -> int:
    """COUNT(*) over the whole input; 0 where there is no row."""
    result = rows(Query(pattern, **clauses), events)
    assert len(result) <= 1
    return result[0]["count"] if result else 0


def names(query: Query, events: list[Row]) -> set[str]:
    """The trends as `a1 b2` words."""
    return {
        " ".join(f"{events[index]['type'].lower()}{events[index]['time']}" for index, _ in found.trend)
        for found in trends(query, events)
    }


def moving_counts(pattern: Pattern, within: int, events: list[Row]) -> dict[int, int]:
    """COUNT(*) of `WITHIN within`, by the time of the row."""
    return {row["time"]: row["count"] for row in rows(Query(pattern, window=Moving(within)), events)}
