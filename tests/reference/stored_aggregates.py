"""Aggregates over windows of events as they are defined, one window after the other and in exact fractions.

A slow twin for `EventStore.aggregate`: it knows no files, no blocks and no slices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from tests.reference.operators.aggregation import Rounded

Event = dict[str, Any]


def aggregate_by_time(
    events: Sequence[Event],
    wanted: Sequence[tuple[str, str | None]],
    length: int | None,
    slide: int | None,
    between: tuple[int | None, int | None] = (None, None),
) -> list[list[Any]]:
    """Rows [window start, window end, aggregates ...]: one per window [i * slide, i * slide + length) with an event."""
    inside = [event for event in events if _is_inside(event["time"], between)]
    if length is None or slide is None:
        return [[None, None, *_all(inside, wanted)]] if inside else []
    starts = set()
    for event in inside:
        window = event["time"] // slide
        while window * slide + length > event["time"]:
            starts.add(window * slide)
            window -= 1
    rows = []
    for start in sorted(starts):
        held = [event for event in inside if start <= event["time"] < start + length]
        rows.append([start, start + length, *_all(held, wanted)])
    return rows


def aggregate_by_groups(
    events: Sequence[Event],
    wanted: Sequence[tuple[str, str | None]],
    by: Sequence[str],
    length: int | None,
    slide: int | None,
    between: tuple[int | None, int | None] = (None, None),
) -> list[list[Any]]:
    """Rows [window start, window end, values of the group ..., aggregates ...], in order of windows, then of groups.

    NULL and NaN are groups of their own; NaN is above all numbers, NULL comes last.
    """
    groups: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        groups.setdefault(tuple(_rank(event.get(name)) for name in by), []).append(event)
    rows = []
    for key, own in groups.items():
        values = [own[0].get(name) for name in by]
        for start, end, *numbers in aggregate_by_time(own, wanted, length, slide, between):
            rows.append(((start or 0, key), [start, end, *values, *numbers]))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def _rank(value: Any) -> tuple[int, Any]:
    if value is None:
        return 2, 0
    return (1, 0) if _is_nan(value) else (0, value)


def aggregate_by_events(
    events: Sequence[Event],
    wanted: Sequence[tuple[str, str | None]],
    length: int,
    slide: int,
    between: tuple[int | None, int | None] = (None, None),
) -> list[list[Any]]:
    """Rows [number of the first event, its time, the time of the last one, aggregates ...], of full windows.

    `events` are in the order of files and of rows in them; they are numbered by time, equal times in that order.
    """
    inside = sorted((event for event in events if _is_inside(event["time"], between)), key=lambda event: event["time"])
    rows = []
    for start in range(0, len(inside) - length + 1, slide):
        held = inside[start : start + length]
        rows.append([start, held[0]["time"], held[-1]["time"], *_all(held, wanted)])
    return rows


def _is_inside(time: int | None, between: tuple[int | None, int | None]) -> bool:
    first, end = between
    return time is not None and (first is None or time >= first) and (end is None or time < end)


def _all(held: Sequence[Event], wanted: Iterable[tuple[str, str | None]]) -> list[Any]:
    return [_aggregate(function, held, column) for function, column in wanted]


def _aggregate(function: str, held: Sequence[Event], column: str | None) -> Any:
    if column is None:
        return len(held)
    values = [event[column] for event in held if event.get(column) is not None]
    if function == "COUNT":
        return len(values)
    if not values:
        return None
    if function in ("MIN", "MAX"):
        # NaN is above all numbers.
        choose = min if function == "MIN" else max
        return choose(values, key=lambda value: (1, 0) if _is_nan(value) else (0, value))
    total = _sum(values)
    if isinstance(total, float):
        return total
    if function == "SUM" and not isinstance(values[0], float):
        return total
    parts = len(values) if function == "AVG" else 1
    size = sum((abs(Fraction(value)) for value in values), Fraction(0))
    return Rounded(_as_float(Fraction(total) / parts), size, len(values) // parts)


def _sum(values: Sequence[Any]) -> Any:
    """Exactly; of floats that are not finite as they add up."""
    special = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    if special:
        return sum(special)
    return sum(map(Fraction, values)) if isinstance(values[0], float) else sum(values)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
