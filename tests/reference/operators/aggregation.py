"""Windowed aggregation (Definition 2.11), in exact fractions, each result rounded once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .events import Event, by_key, in_order, rank
from .windows import Held, Rows, Span, count_windows, time_windows

#: Name of the output, function, column (None for COUNT(*)).
Wanted = tuple[str, str, str | None]


def window_aggregate(
    events: Iterable[Event],
    wanted: Sequence[Wanted],
    window: Rows | Span,
    keys: Sequence[str] = (),
    order_by: Sequence[str] = (),
    time: str = "time",
    schema: Sequence[str] = (),
) -> list[Event]:
    """A row per key and window: keys, `window_start`, `window_end`, the time of the row, the outputs.

    Of time windows, those that hold an event; of count windows, those that are full. Rows come in order of their time,
    then of the start of the window, then of the key.

    Args:
        events: In any order.
        wanted: The outputs.
        window: Count windows, or time windows with a slide.
        keys: The columns that make a stream of each key.
        order_by: Columns that tell which of several events of one time comes first.
        time: The name of the time column.
        schema: The names of all columns, as they stand: of the columns that are read, the earlier tell first which of
            several events of one time comes first.
    """
    read = {column for _, _, column in wanted if column is not None} | set(keys)
    ordered = in_order(events, time, order_by, [name for name in schema if name in read and name != time])
    rows = []
    for key, stream in by_key(ordered, keys).items():
        for number, held in enumerate(_windows(stream, window, time)):
            if held.events:
                row = {name: held.events[0][name] for name in keys}
                row |= {"window_start": held.start, "window_end": held.end, time: held.time}
                row |= {name: aggregate(function, held.events, column) for name, function, column in wanted}
                rows.append(((held.time, held.start, key, number), row))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def _windows(stream: list[Event], window: Rows | Span, time: str) -> list[Held]:
    if isinstance(window, Rows):
        return count_windows(stream, window.size, window.slide, time)
    assert window.slide is not None
    assert isinstance(window.size, int)
    return time_windows(stream, window.size, window.slide, 0, time)


def aggregate(function: str, events: Sequence[Event], column: str | None) -> Any:
    """COUNT, SUM, AVG, MIN or MAX of a column without its NULLs; NULL where nothing is left, but 0 for COUNT."""
    if column is None:
        return len(events)
    values = [event[column] for event in events if event[column] is not None]
    if function == "COUNT":
        return len(values)
    if not values:
        return None
    if function == "MIN":
        return min(values, key=rank)
    if function == "MAX":
        return max(values, key=rank)
    assert function in ("SUM", "AVG")
    is_float = function == "AVG" or isinstance(values[0], float)
    special = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    if special:
        return sum(special)  # infinity, or NaN where there is one or where infinities differ
    total = sum(map(Fraction, values), Fraction(0))
    if is_float:
        parts, size = len(values) if function == "AVG" else 1, sum(map(abs, map(Fraction, values)), Fraction(0))
        return Rounded(_rounded(total / parts), size, len(values) // parts)
    return _as_decimal(total) if isinstance(values[0], Decimal) else int(total)


class Rounded(float):
    """A sum or mean in float64 additions in any order: equal to all floats as near as rounding of what is added leaves
    them, and where additions may leave the range of floats to what they come to there."""

    within: Fraction
    overflows: bool

    def __new__(cls, value: float, size: Fraction, count: int) -> Rounded:
        """The value, how large what is added is without its sign, and how often rounding may count."""
        found = super().__new__(cls, value)
        found.within = size * count * Fraction(2, 2**52) + Fraction(5e-324)
        found.overflows = math.isinf(_rounded(size))
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, float) or not math.isfinite(self) or not math.isfinite(other):
            if self.overflows and isinstance(other, float) and not math.isfinite(other):
                return True
            return float(self) == other
        return abs(Fraction(self) - Fraction(other)) <= self.within

    def __hash__(self) -> int:
        return super().__hash__()


def _rounded(number: Fraction) -> float:
    """The nearest float; infinity where it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _as_decimal(number: Fraction) -> Decimal:
    """A sum of decimals, which is one: written with as many places behind the point as it needs."""
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
    return Decimal(int(number * 10**places)).scaleb(-places)
