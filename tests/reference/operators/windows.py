"""Count windows, time windows, and the window that is active at a moment (Definitions 2.7 to 2.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .events import Event


@dataclass(frozen=True)
class Held:
    """A tuple (seq, t) of the definitions, with the edges of a time window.

    Attributes:
        events: What the window holds.
        time: The largest time that it covers.
        start: Where it begins; of a count window the time of its first event.
        end: The first moment behind it; of a count window the time of its last event.
    """

    events: list[Event]
    time: int
    start: int
    end: int


@dataclass(frozen=True)
class Rows:
    """A count window: size and slide in events."""

    size: int
    slide: int = 1


@dataclass(frozen=True)
class Span:
    """A time window: size and slide in steps; without a slide it moves with every moment.

    The size of a window that moves need not be a whole number of steps.
    """

    size: int | Fraction
    slide: int | None = None


def count_windows(events: Sequence[Event], size: int, slide: int, time: str = "time") -> list[Held]:
    """Definition 2.7: E[1, size], E[1 + slide, size + slide], ... as far as they are full. `events` are in order."""
    windows = []
    start = 0
    while start + size <= len(events):
        held = list(events[start : start + size])
        windows.append(Held(held, held[-1][time], held[0][time], held[-1][time]))
        start += slide
    return windows


def time_windows(
    events: Sequence[Event], size: int, slide: int, anchor: int | None = 0, time: str = "time"
) -> list[Held]:
    """Definition 2.8, up to the last window that begins before or with the last event.

    With `anchor` None windows begin at the first event and every `slide` later, as the definition says. Else they are
    `[anchor + i * slide, anchor + i * slide + size)` for all whole numbers i, from the first that holds an event on;
    ours are anchored at 1970. Windows without events are among them.
    """
    if not events:
        return []
    first, last = events[0][time], events[-1][time]
    if anchor is None:
        start = first
    else:
        start = anchor + (first - anchor) // slide * slide
        while start - slide + size > first:
            start -= slide
    windows = []
    while start <= last:
        held = [event for event in events if start <= event[time] < start + size]
        windows.append(Held(held, start + size - 1, start, start + size))
        start += slide
    return windows


def active_window(events: Sequence[Event], window: Rows | Span, moment: int, time: str = "time") -> list[Event]:
    """Definition 2.9: the window with the largest time that is not above the moment; none holds no events.

    Time windows that slide are anchored at 1970; among count windows with one time the last is the active one.
    """
    if isinstance(window, Rows):
        return _latest(count_windows(events, window.size, window.slide, time), moment)
    if window.slide is None:
        return [event for event in events if moment - window.size < event[time] <= moment]
    # The latest [i * slide, i * slide + size) with i * slide + size - 1 <= moment.
    start = (moment + 1 - window.size) // window.slide * window.slide
    return [event for event in events if start <= event[time] < start + window.size]


def active_by_definition(windows: Sequence[Held], moment: int) -> list[Event]:
    """Definition 2.9 as it is written, over a list of windows."""
    return _latest(windows, moment)


def _latest(windows: Sequence[Held], moment: int) -> list[Event]:
    best: Held | None = None
    for window in windows:
        if window.time <= moment and (best is None or window.time >= best.time):
            best = window
    return best.events if best is not None else []
