"""How far the events of one trend can be apart, as the window of a query says: where it ends at the latest if it begins
by some time, and where it begins at the earliest if it ends at some time or later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trendweave.planning.plan import MovingWindow, SessionWindow, SlidingWindow, WholeInput, Window
from trendweave.rows.sessions import session_gap
from trendweave.rows.times import TimeType, moving_span, steps_of
from trendweave.store.patterns.intervals.stretches import Stretches


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
