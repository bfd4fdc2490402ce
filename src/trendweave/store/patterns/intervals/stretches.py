"""Stretches of time: sorted, apart from each other, both ends included, in steps of the time column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
