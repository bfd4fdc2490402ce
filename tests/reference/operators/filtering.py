"""The filter (Definition 2.10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .events import Event, with_time


def keep(events: Iterable[Event], condition: Callable[[Event], Any], time: str = "time") -> list[Event]:
    """The events in which the condition is true, in order of time; those of one time stay in the order they had.

    A condition that is NULL (None) is not true.
    """
    kept = []
    for event in sorted(with_time(events, time), key=lambda event: event[time]):
        if condition(event) is True:
            kept.append(event)
    return kept
