"""Stretches of time in which all trends lie: the coarse pattern map over blocks, candidates of index hits, and replay
intervals (thesis, 3.4.2 to 3.4.4).

The thesis walks over sorted index entries and puts candidates together. Here each occurrence is asked for the latest
begin of a chain that leads to it, and for the earliest end of one that goes on from it: both together tell whether
any candidate holds it, for all occurrences at once. An occurrence is a point of time where an index has named an
event, or a stretch where only a block is known that may hold one, so that the same code makes the coarse pattern
map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trendweave.planning.plan import MovingWindow, SessionWindow, SlidingWindow, WholeInput, Window
from trendweave.rows.times import TimeType, moving_span, steps_of
from trendweave.rows.windows import session_gap
from trendweave.store.patterns.rewriting import Necessary, Steps


@dataclass(frozen=True, slots=True)
class Stretches:
    """`lows[i]` to `highs[i]`; each ends before the next begins."""

    lows: np.ndarray
    highs: np.ndarray

    @property
    def count(self) -> int:
        return int(self.lows.size)

    @property
    def length(self) -> int:
        """How many steps they have together."""
        return int((self.highs - self.lows + 1).sum())

    @staticmethod
    def of(lows: np.ndarray, highs: np.ndarray, near: int = 1) -> Stretches:
        """Stretches of intervals in any order, which may overlap; what is `near` becomes one.

        Args:
            lows: Where intervals begin.
            highs: Where they end; those that end before they begin are left out.
            near: Two are one where so many steps or fewer lie between the end of one and the beginning of the next.
        """
        kept = lows <= highs
        lows, highs = lows[kept].astype(np.int64), highs[kept].astype(np.int64)
        if not lows.size:
            return NOWHERE
        order = np.argsort(lows, kind="stable")
        lows, reached = lows[order], np.maximum.accumulate(highs[order])
        apart = np.flatnonzero(lows[1:] - reached[:-1] > near) + 1
        return Stretches(lows[np.append(0, apart)], reached[np.append(apart, lows.size) - 1])

    def places(self, times: np.ndarray) -> np.ndarray:
        """The number of the stretch that each time lies in; -1 where there is none."""
        if not self.count:
            return np.full(times.size, -1, np.int64)
        place = np.searchsorted(self.lows, times, side="right") - 1
        return np.where((place >= 0) & (times <= self.highs[place]), place, -1)

    def hold(self, times: np.ndarray) -> np.ndarray:
        """Whether each time lies in a stretch."""
        if self.count == 1:
            return (times >= self.lows[0]) & (times <= self.highs[0])
        if self.count and (times[1:] >= times[:-1]).all():
            # Times that rise are cut by the few stretches, instead of looking for each of them.
            change = np.zeros(times.size + 1, np.int8)
            begins, ends = np.searchsorted(times, self.lows), np.searchsorted(times, self.highs, side="right")
            held = begins < ends
            np.add.at(change, begins[held], 1)
            np.subtract.at(change, ends[held], 1)
            return np.cumsum(change[:-1], dtype=np.int8) > 0
        return self.places(times) >= 0

    def touch(self, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
        """Whether each of these intervals has a time in common with a stretch."""
        if not self.count:
            return np.zeros(lows.size, np.bool_)
        following = np.searchsorted(self.highs, lows)
        return (following < self.count) & (np.append(self.lows, 0)[following] <= highs)

    def clip(self, low: int | None, high: int | None) -> Stretches:
        """What lies between two times, both included; None: no bound."""
        lows = self.lows if low is None else np.maximum(self.lows, low)
        highs = self.highs if high is None else np.minimum(self.highs, high)
        kept = lows <= highs
        return Stretches(lows[kept], highs[kept])

    def common(self, other: Stretches) -> Stretches:
        """What lies in both."""
        first = np.searchsorted(other.highs, self.lows)
        end = np.searchsorted(other.lows, self.highs, side="right")
        number = np.maximum(end - first, 0)
        mine = np.repeat(np.arange(self.count), number)
        theirs = np.arange(mine.size) - np.repeat(np.cumsum(number) - number, number) + first[mine]
        lows = np.maximum(self.lows[mine], other.lows[theirs])
        return Stretches(lows, np.minimum(self.highs[mine], other.highs[theirs]))

    def united(self, other: Stretches) -> Stretches:
        """What lies in one of both."""
        return Stretches.of(np.concatenate([self.lows, other.lows]), np.concatenate([self.highs, other.highs]))


NOWHERE = Stretches(np.empty(0, np.int64), np.empty(0, np.int64))


class Reach(Protocol):
    """Both functions never fall as times grow."""

    @property
    def typical(self) -> float:
        """How many steps a trend can be long, for estimates."""

    def latest_end(self, begins: np.ndarray) -> np.ndarray:
        """The last times that a trend can reach which begins then, or before."""

    def earliest_begin(self, ends: np.ndarray) -> np.ndarray:
        """The first times at which a trend can begin that ends then, or later."""


@dataclass(frozen=True, slots=True)
class Span:
    """Two times of a trend are less than so many steps apart."""

    steps: int

    @property
    def typical(self) -> float:
        return float(self.steps)

    def latest_end(self, begins: np.ndarray) -> np.ndarray:
        return begins + (self.steps - 1)

    def earliest_begin(self, ends: np.ndarray) -> np.ndarray:
        return ends - (self.steps - 1)


@dataclass(frozen=True, slots=True)
class Sliding:
    """A trend lies in one of the windows `[i * slide, i * slide + length)`."""

    length: int
    slide: int

    @property
    def typical(self) -> float:
        return self.length - (self.slide - 1) / 2

    def latest_end(self, begins: np.ndarray) -> np.ndarray:
        return np.floor_divide(begins, self.slide) * self.slide + (self.length - 1)

    def earliest_begin(self, ends: np.ndarray) -> np.ndarray:
        return (np.floor_divide(ends - self.length, self.slide) + 1) * self.slide


@dataclass(frozen=True, slots=True)
class Inside:
    """A trend lies in one of some stretches, whose ends all of its times have in common."""

    stretches: Stretches

    @property
    def typical(self) -> float:
        return self.stretches.length / max(1, self.stretches.count)

    def latest_end(self, begins: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.stretches.lows, begins, side="right") - 1
        return self.stretches.highs[np.maximum(place, 0)]

    def earliest_begin(self, ends: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.stretches.highs, ends)
        return self.stretches.lows[np.minimum(place, self.stretches.count - 1)]


def find_reach(window: Window, kind: TimeType, firsts: np.ndarray, lasts: np.ndarray) -> Reach:
    """The reach of a window over blocks of events.

    Args:
        window: The window of a plan.
        kind: How the time column counts.
        firsts: The first time of each block; there is one at least.
        lasts: The last time of each.
    """
    everything = Span(int(lasts.max()) - int(firsts.min()) + 1)
    match window:
        case WholeInput():
            return everything
        case SlidingWindow():
            length, slide = steps_of(window.length, kind, "WITHIN"), steps_of(window.slide, kind, "SLIDE")
            return Sliding(length, slide)
        case MovingWindow():
            span = moving_span(window, kind)
            return Span(span) if span < everything.steps else everything
        case SessionWindow():
            # Events of all partitions together are never further apart than those of one.
            return Inside(Stretches.of(firsts, lasts, near=session_gap(window, kind) - 1))


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


@dataclass(frozen=True, slots=True)
class Pace:
    """The least and the greatest number of steps of time from an event to the next one. The least counts between events
    of one trend, which never share a time; the greatest is known only where a trend takes every event."""

    least: int = 1
    greatest: int | None = None

    def at_most(self, steps: Steps) -> int | None:
        """How much time so many steps of a trend take at most."""
        if steps.most == 0:
            return 0
        return None if steps.most is None or self.greatest is None else steps.most * self.greatest


def find_intervals(candidates: Candidates, before: Steps, after: Steps, reach: Reach, pace: Pace) -> Stretches:
    """Where trends lie that hold a candidate each.

    Args:
        candidates: What indexes, or the coarse pattern map, have found.
        before: The steps from a trend's first event to the first symbol of the candidates.
        after: Those from their last symbol to the trend's last event.
        reach: How far apart the events of a trend can be.
        pace: How far apart neighbours are.

    Returns:
        The stretches. In the thesis' words: without steps before, case S1; without steps before and after, S2; without
        steps after, S3; else the base case, shortened by the steps that are still to come.
    """
    first = candidates.first
    if not first.count or not candidates.last.count:
        return NOWHERE
    lows = reach.earliest_begin(candidates.ends + after.least * pace.least)
    back = pace.at_most(before)
    if back is not None:
        lows = np.maximum(lows, first.begin_low - back)
    highs = reach.latest_end(first.begin_high - before.least * pace.least)
    ahead = pace.at_most(after)
    if ahead is not None and candidates.is_one_symbol:
        highs = np.minimum(highs, first.end_high + ahead)
    elif ahead is not None:
        order = in_order(candidates.last.end_low)
        latest = np.maximum.accumulate(candidates.last.end_high[order])
        reached = np.searchsorted(candidates.last.end_low[order], highs, side="right")
        highs = np.minimum(highs, latest[np.maximum(reached, 1) - 1] + ahead)
    return Stretches.of(lows, highs)


@dataclass(frozen=True, slots=True)
class CoarseMap:
    """Attributes:
    stretches: Where all trends lie.
    possible: Per symbol and block, whether it may hold an event of the symbol that is part of a trend.
    """

    stretches: Stretches
    possible: np.ndarray


def make_coarse_map(
    necessary: Necessary, possible: np.ndarray, firsts: np.ndarray, lasts: np.ndarray, reach: Reach, pace: Pace
) -> CoarseMap:
    """The map over some blocks, in any order; they may overlap in time.

    Args:
        necessary: What every trend has.
        possible: Per symbol and block, whether the block may hold an event of it.
        firsts: The first time of each block.
        lasts: The last time of each.
        reach: How far apart the events of a trend can be.
        pace: How far apart neighbours are.
    """
    places = [np.flatnonzero(row) for row in possible]
    symbols = [Occurrences.within(firsts[place], lasts[place]) for place in places]
    gaps = [gap.least * pace.least for gap in necessary.gaps]
    kept = np.zeros(possible.shape, np.bool_)
    for row, place, taken in zip(kept, places, find_participants(symbols, gaps, reach), strict=True):
        row[place[taken]] = True
    candidates = find_candidates(symbols, gaps, reach)
    nothing = necessary.steps_between(0, 0)
    return CoarseMap(find_intervals(candidates, nothing, nothing, reach, pace), kept)
