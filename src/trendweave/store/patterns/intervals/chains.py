"""Candidates: occurrences of symbols in their order, near enough to each other to be in one trend (thesis, 3.4.2).

The thesis walks over sorted index entries and puts candidates together. Here each occurrence is asked for the latest
begin of a chain that leads to it, and for the earliest end of one that goes on from it: both together tell whether any
candidate holds it, for all occurrences at once. An occurrence is a point of time where an index has named an event, or
a stretch where only a block is known that may hold one, so that the same code makes the coarse pattern map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.store.patterns.intervals.reach import Reach

_NEVER, _ALWAYS = np.int64(2**63 - 1), np.int64(-(2**63))


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Where a symbol, or a run of symbols, may occur: bounds of its first and of its last time, per occurrence."""

    begin_low: np.ndarray
    begin_high: np.ndarray
    end_low: np.ndarray
    end_high: np.ndarray

    @property
    def count(self) -> int:
        return int(self.begin_low.size)

    @staticmethod
    def at(times: np.ndarray) -> Occurrences:
        """Events at known times, in any order."""
        times = np.sort(times)
        return Occurrences(times, times, times, times)

    @staticmethod
    def within(lows: np.ndarray, highs: np.ndarray) -> Occurrences:
        """Events at some time between two each."""
        return Occurrences(lows, highs, lows, highs)

    @staticmethod
    def runs(begins: np.ndarray, ends: np.ndarray) -> Occurrences:
        """Runs of events that begin and end at known times."""
        return Occurrences(begins, begins, ends, ends)

    def take(self, kept: np.ndarray) -> Occurrences:
        return Occurrences(self.begin_low[kept], self.begin_high[kept], self.end_low[kept], self.end_high[kept])

    def and_those(self, other: Occurrences) -> Occurrences:
        """These, and others behind them."""
        return Occurrences(
            np.concatenate([self.begin_low, other.begin_low]),
            np.concatenate([self.begin_high, other.begin_high]),
            np.concatenate([self.end_low, other.end_low]),
            np.concatenate([self.end_high, other.end_high]),
        )


@dataclass(frozen=True, slots=True)
class Candidates:
    """Occurrences of the first and of the last symbol that some candidate holds. `ends` is the earliest end of a
    candidate with each of the first."""

    first: Occurrences
    ends: np.ndarray
    last: Occurrences
    is_one_symbol: bool


def find_candidates(
    symbols: Sequence[Occurrences], gaps: Sequence[int], reach: Reach, around: tuple[int, int] = (0, 0)
) -> Candidates:
    """Occurrences that are part of a candidate.

    Args:
        symbols: Where each symbol occurs, in their order.
        gaps: How many steps of time lie at least between the end of an occurrence and the begin of one of the next
            symbol.
        reach: How far apart they can be.
        around: How many steps a trend takes at least before the first, and behind the last of them.

    Returns:
        Those of the first and the last symbol.
    """
    begins, ends = _latest_begins(symbols, gaps), _earliest_ends(symbols, gaps)
    first, last = (_are_near(begins[place], ends[place], reach, around) for place in (0, -1))
    return Candidates(symbols[0].take(first), ends[0][first], symbols[-1].take(last), len(symbols) == 1)


def find_participants(
    symbols: Sequence[Occurrences], gaps: Sequence[int], reach: Reach, around: tuple[int, int] = (0, 0)
) -> list[np.ndarray]:
    """Per symbol, whether each of its occurrences is part of a candidate; see `find_candidates`."""
    begins, ends = _latest_begins(symbols, gaps), _earliest_ends(symbols, gaps)
    return [_are_near(begin, end, reach, around) for begin, end in zip(begins, ends, strict=True)]


def _are_near(begins: np.ndarray, ends: np.ndarray, reach: Reach, around: tuple[int, int]) -> np.ndarray:
    before, after = around
    known = (begins > _ALWAYS) & (ends < _NEVER)
    return known & (np.where(known, ends, 0) + after <= reach.latest_end(np.where(known, begins, 0) - before))


def in_order(values: np.ndarray) -> np.ndarray | slice:
    """The order in which values rise; often they stand in it."""
    if (values[1:] >= values[:-1]).all():
        return slice(None)
    return np.argsort(values, kind="stable")


def _latest_begins(symbols: Sequence[Occurrences], gaps: Sequence[int]) -> list[np.ndarray]:
    """Per occurrence, the latest time at which a chain can begin that leads to it."""
    found = [symbols[0].begin_high]
    for before, here, gap in zip(symbols, symbols[1:], gaps, strict=False):
        order = in_order(before.end_low)
        best = np.maximum.accumulate(np.append(_ALWAYS, found[-1][order]))
        reached = np.searchsorted(before.end_low[order], here.begin_high - gap, side="right")
        found.append(np.minimum(best[reached], here.begin_high - gap))
    return found


def _earliest_ends(symbols: Sequence[Occurrences], gaps: Sequence[int]) -> list[np.ndarray]:
    """Per occurrence, the earliest time at which a chain can end that goes on from it."""
    found = [symbols[-1].end_low]
    for here, after, gap in zip(reversed(symbols[:-1]), reversed(symbols[1:]), reversed(gaps), strict=True):
        order = in_order(after.begin_high)
        best = np.minimum.accumulate(np.append(found[-1][order], _NEVER)[::-1])[::-1]
        reached = np.searchsorted(after.begin_high[order], here.end_low + gap)
        found.append(np.maximum(best[reached], here.end_low + gap))
    return found[::-1]
