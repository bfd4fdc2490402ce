"""Events, their order, and the streams of keys."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

#: An event is a dictionary of its columns; NULL is None, the time is a whole number of steps.
Event = dict[str, Any]


def is_nan(value: Any) -> bool:
    """Is it a number that is none? Decimals and whole numbers never are."""
    return isinstance(value, float) and math.isnan(value)


def rank(value: Any) -> tuple[int, Any]:
    """What values are ordered by: NULL first, NaN above all numbers; -0.0 is 0.0."""
    if value is None:
        return 0, 0
    return (2, 0) if is_nan(value) else (1, value)


def with_time(events: Iterable[Event], time: str = "time") -> list[Event]:
    """Rows without a time are no events."""
    return [event for event in events if event[time] is not None]


def in_order(
    events: Iterable[Event], time: str = "time", order_by: Sequence[str] = (), read: Sequence[str] = ()
) -> list[Event]:
    """Events by time; those of one time by `order_by`, then by the columns that an operator reads.

    Definition 2.5 has ties "broken via an additional attribute"; with this one, rows do not depend on the arrival.
    """
    return sorted(
        with_time(events, time),
        key=lambda event: (event[time], [rank(event[name]) for name in (*order_by, *read)]),
    )


def key_of(event: Event, keys: Sequence[str]) -> tuple[tuple[int, Any], ...]:
    """What events of one key have in common: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0."""
    return tuple(rank(event[name]) for name in keys)


def by_key(events: Iterable[Event], keys: Sequence[str]) -> dict[tuple[tuple[int, Any], ...], list[Event]]:
    """The stream of each key, in the order of the events."""
    streams: dict[tuple[tuple[int, Any], ...], list[Event]] = {}
    for event in events:
        streams.setdefault(key_of(event, keys), []).append(event)
    return streams
