"""Windowed join (Definitions 2.12 and 2.13)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .events import Event, in_order, key_of
from .windows import Rows, Span, active_window

#: (left event, right event) -> True, False or None.
Condition = Callable[[Event, Event], Any]


def single_event_join(
    event: Event, other: Sequence[Event], window: Rows | Span, condition: Condition, time: str = "time"
) -> list[Event]:
    """Definition 2.12: the events of the other stream's active window at the event's time that satisfy a condition.

    The condition has the event first. `other` is in order.
    """
    return [partner for partner in active_window(other, window, event[time], time) if condition(event, partner) is True]


def window_join(
    left: Sequence[Event],
    right: Sequence[Event],
    condition: Condition | None,
    left_window: Rows | Span,
    right_window: Rows | Span,
    keys: Sequence[str] = (),
    order_by: Sequence[str] = (),
    time: str = "time",
    left_schema: Sequence[str] = (),
    right_schema: Sequence[str] = (),
) -> list[Event]:
    """Definition 2.13 for each key: a row per pair, at the later time, in order of that time, then of the left event,
    then of the right event.

    The union of the definition is one of sets of pairs: two events of one time that find each other are one pair. A
    self-join has the same events on both sides, and an event meets itself.

    Args:
        left: Events in any order.
        right: Events in any order.
        condition: On the left and the right event; None: every pair.
        left_window: The window over the left side, which events of the right side look into.
        right_window: The other one.
        keys: Only events with equal values in these columns meet, and windows are those of one such key.
        order_by: Columns that tell which of several events of one time comes first.
        time: The name of the time column.
        left_schema: The names of the left columns: all of them tell which of several events of one time comes first.
        right_schema: The same of the right ones.
    """
    holds = condition if condition is not None else lambda left, right: True
    lefts = in_order(left, time, order_by, [name for name in left_schema if name != time])
    rights = in_order(right, time, order_by, [name for name in right_schema if name != time])
    # An event is known by its place among those of its side.
    left_place = {id(event): place for place, event in enumerate(lefts)}
    right_place = {id(event): place for place, event in enumerate(rights)}
    pairs: set[tuple[int, int]] = set()
    for event in lefts:
        stream = [other for other in rights if key_of(other, keys) == key_of(event, keys)]
        for other in single_event_join(event, stream, right_window, holds, time):
            pairs.add((left_place[id(event)], right_place[id(other)]))
    for event in rights:
        stream = [other for other in lefts if key_of(other, keys) == key_of(event, keys)]
        for other in single_event_join(event, stream, left_window, lambda one, two: holds(two, one), time):
            pairs.add((left_place[id(other)], right_place[id(event)]))
    rows = []
    for one, two in sorted(pairs, key=lambda pair: (max(lefts[pair[0]][time], rights[pair[1]][time]), *pair)):
        row = {time: max(lefts[one][time], rights[two][time])} | {name: lefts[one][name] for name in keys}
        row |= {f"left_{name}": value for name, value in lefts[one].items() if name not in keys}
        row |= {f"right_{name}": value for name, value in rights[two].items() if name not in keys}
        rows.append(row)
    return rows
