"""Sequential pattern matching (Definitions 2.14 to 2.18), over all subsequences of a stream.

Where the thesis says two things, both are here:

- Definition 2.15 (4) lets a Kleene-star symbol take every event that it can: an event that satisfies both B and C never
  is the C of AB*C. The pattern that the thesis explains (a temperature that rises by five degrees) would never match
  that way, because its last event rises, too. `greedy=False` lets such an event be either, as our language does.
- Definition 2.16 (2) looks at events that satisfy the symbol of the later neighbour alone, so that `a1 c1` of
  `a1 b1 c1` is a match. Figure 2.6, and "for any event e, there is at most one match starting with e", want no event to
  be skipped that could have come next, as our language does: `skip_till_next`. The other is
  `skip_till_next_as_written`.

The window of the thesis holds matches with `last - first <= w`; ours has `last - first < w`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from .events import Event

#: Symbol and event of all that a match has before the event that is looked at.
Bound = tuple[tuple[str, Event], ...]


@dataclass(frozen=True)
class Symbol:
    """A basic symbol, or with `star` a Kleene-star symbol.

    Attributes:
        name: What it is called.
        condition: On an event and on what is bound before it; None (NULL) is not true.
        star: Does it stand for any number of events?
    """

    name: str
    condition: Callable[[Event, Bound], Any]
    star: bool = False

    def holds(self, event: Event, bound: Bound) -> bool:
        """Is its condition true?"""
        return self.condition(event, bound) is True


Strategy = Callable[[Sequence[Event], tuple[int, ...], Sequence[Symbol], int, str, bool], bool]


def readings(
    sequence: Sequence[Event],
    symbols: Sequence[Symbol],
    within: int,
    time: str = "time",
    greedy: bool = True,
    bound: Bound = (),
) -> Iterator[tuple[str, ...]]:
    """Definition 2.15: the ways to read a sequence as a match, each as the symbols of its events.

    With `greedy`, as it is written, there is at most one.
    """
    if not sequence:
        if all(symbol.star for symbol in symbols):
            yield ()
        return
    if any(later[time] <= event[time] for event, later in pairwise(sequence)):  # (1)
        return
    if sequence[-1][time] - sequence[0][time] > within:  # (2)
        return
    if not symbols:
        return
    first, event = symbols[0], sequence[0]
    left = within - (sequence[1][time] - event[time]) if len(sequence) > 1 else within
    holds = first.holds(event, bound)
    if holds:  # (3), and the first half of (4)
        following = symbols if first.star else symbols[1:]
        for rest in readings(sequence[1:], following, left, time, greedy, (*bound, (first.name, event))):
            yield (first.name, *rest)
    if first.star and not (holds and greedy):  # the second half of (4)
        yield from readings(sequence, symbols[1:], within, time, greedy, bound)


def skip_till_any(
    stream: Sequence[Event], places: tuple[int, ...], symbols: Sequence[Symbol], within: int, time: str, greedy: bool
) -> bool:
    """Definition 2.15."""
    return next(readings([stream[place] for place in places], symbols, within, time, greedy), None) is not None


def skip_till_next_as_written(
    stream: Sequence[Event], places: tuple[int, ...], symbols: Sequence[Symbol], within: int, time: str, greedy: bool
) -> bool:
    """Definition 2.16, to the letter."""
    by_name = {symbol.name: symbol for symbol in symbols}
    events = [stream[place] for place in places]
    for reading in readings(events, symbols, within, time, greedy):
        bound = tuple(zip(reading, events, strict=True))
        if not any(
            by_name[reading[number]].holds(stream[between], bound[:number])
            for number in range(1, len(places))
            for between in range(places[number - 1] + 1, places[number])
        ):
            return True
    return False


def skip_till_next(
    stream: Sequence[Event], places: tuple[int, ...], symbols: Sequence[Symbol], within: int, time: str, greedy: bool
) -> bool:
    """Definition 2.16 as Figure 2.6 and its text read it: no event is skipped that could have been the next one."""
    events = [stream[place] for place in places]
    for reading in readings(events, symbols, within, time, greedy):
        bound = tuple(zip(reading, events, strict=True))
        if not any(
            symbol.holds(stream[between], bound[:number])
            for number in range(1, len(places))
            for symbol in _next_symbols(symbols, reading[:number])
            for between in range(places[number - 1] + 1, places[number])
        ):
            return True
    return False


def _next_symbols(symbols: Sequence[Symbol], reading: tuple[str, ...]) -> list[Symbol]:
    """The symbols that may come next: the last one if it is a star, later ones up to the first that is none."""
    names = [symbol.name for symbol in symbols]
    place = names.index(reading[-1])
    if not symbols[place].star:
        place += 1
    found = []
    for symbol in symbols[place:]:
        found.append(symbol)
        if not symbol.star:
            break
    return found


def contiguous(
    stream: Sequence[Event], places: tuple[int, ...], symbols: Sequence[Symbol], within: int, time: str, greedy: bool
) -> bool:
    """Definition 2.17."""
    return places == tuple(range(places[0], places[-1] + 1)) and skip_till_any(
        stream, places, symbols, within, time, greedy
    )


def match(
    stream: Sequence[Event],
    symbols: Sequence[Symbol],
    within: int,
    strategy: Strategy = skip_till_any,
    time: str = "time",
    greedy: bool = True,
) -> list[tuple[Event, ...]]:
    """Definition 2.18: all subsequences that are a match, in order of their times; `map` is the caller's.

    The stream is in order of time and has no two events of one time; it is short, there are 2^n subsequences.
    """
    assert len({symbol.name for symbol in symbols}) == len(symbols)
    found = []
    for length in range(1, len(stream) + 1):
        for places in combinations(range(len(stream)), length):
            if strategy(stream, places, symbols, within, time, greedy):
                found.append(places)
    # The time of a result is that of the last event.
    found.sort(key=lambda places: (places[-1], places))
    return [tuple(stream[place] for place in places) for places in found]
