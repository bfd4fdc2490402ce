"""Chains: the rows of one operator are the events of the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .events import Event

Stage = Callable[[list[Event]], list[Event]]


def chain(stages: Sequence[Stage], events: Iterable[Event]) -> list[Event]:
    """The rows of the last stage."""
    rows = list(events)
    for stage in stages:
        rows = stage(rows)
    return rows
