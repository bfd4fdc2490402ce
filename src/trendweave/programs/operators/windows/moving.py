"""What computes sums and extremes of windows: compiled loops of this process, or a graphics card."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from trendweave.gpu.card import Card, find_card, memory_told
from trendweave.gpu.windows import (
    LimbSums,
    count_flags,
    extremes,
    put_stretches,
    sum_floats,
    sum_whole,
)
from trendweave.gpu.windows import mean_whole as mean_whole_on_card
from trendweave.programs.operators.exact_sums import settled
from trendweave.programs.operators.kernels.rounding import round_quotients
from trendweave.programs.operators.kernels.sliding import largest_between, smallest_between
from trendweave.programs.operators.windows.edges import WindowEdges
from trendweave.programs.operators.windows.sums import mean_whole, sum_or_mean, sum_words


class Moving(Protocol):
    """Sums, means and extremes of values with a place each, over the places of windows."""

    def count(self, flags: np.ndarray) -> np.ndarray:
        """How many flags are set in each window."""

    def sum_words(self, values: np.ndarray) -> np.ndarray:
        """Sums of int64 values: int64[windows, 2], the lower word first."""

    def mean_whole(self, values: np.ndarray, divisors: np.ndarray) -> np.ndarray:
        """The same divided by whole numbers from 1 to 2**32 - 1, rounded once."""

    def sum_or_mean(self, values: np.ndarray, divisors: np.ndarray | None) -> np.ndarray:
        """Sums of finite floats, divided where there are divisors, rounded once."""

    def smallest(self, values: np.ndarray) -> np.ndarray:
        """The smallest int64 value of each window, which has one."""

    def largest(self, values: np.ndarray) -> np.ndarray:
        """The largest one."""


def moving(device: str, edges: WindowEdges) -> Moving:
    """What computes windows on a device.

    Raises:
        ExecutionError: There is no card, and one is asked for.
    """
    return MovingOnCard(find_card(), edges) if device == "gpu" else MovingHere(edges)


class MovingHere:
    """By compiled loops."""

    def __init__(self, edges: WindowEdges) -> None:
        self._low, self._high = edges.low, edges.high

    def count(self, flags: np.ndarray) -> np.ndarray:
        total = np.zeros(flags.size + 1, np.int64)
        np.cumsum(flags, out=total[1:])
        return total[self._high] - total[self._low]

    def sum_words(self, values: np.ndarray) -> np.ndarray:
        return sum_words(values, self._low, self._high)

    def mean_whole(self, values: np.ndarray, divisors: np.ndarray) -> np.ndarray:
        return mean_whole(values, self._low, self._high, divisors)

    def sum_or_mean(self, values: np.ndarray, divisors: np.ndarray | None) -> np.ndarray:
        return sum_or_mean(values, self._low, self._high, divisors)

    def smallest(self, values: np.ndarray) -> np.ndarray:
        return smallest_between(values, self._low, self._high)

    def largest(self, values: np.ndarray) -> np.ndarray:
        return largest_between(values, self._low, self._high)


class MovingOnCard:
    """On a graphics card, the same numbers: sums are exact there, too."""

    def __init__(self, card: Card, edges: WindowEdges) -> None:
        self._card = card
        with memory_told(card):
            self._stretches = put_stretches(card, edges.low, edges.high)

    def count(self, flags: np.ndarray) -> np.ndarray:
        card = self._card
        with memory_told(card):
            return card.get(count_flags(card, card.put(flags.astype(np.uint8)), self._stretches))

    def sum_words(self, values: np.ndarray) -> np.ndarray:
        card = self._card
        with memory_told(card):
            return card.get(sum_whole(card, card.put(values), None, self._stretches))

    def mean_whole(self, values: np.ndarray, divisors: np.ndarray) -> np.ndarray:
        card = self._card
        with memory_told(card):
            means = mean_whole_on_card(card, card.put(values), None, self._stretches, card.put(_whole(divisors)))
            return card.get(means)

    def sum_or_mean(self, values: np.ndarray, divisors: np.ndarray | None) -> np.ndarray:
        card = self._card
        with memory_told(card):
            by = None if divisors is None else card.put(_whole(divisors))
            found = sum_floats(card, card.put(values), None, self._stretches, by)
            if not isinstance(found, LimbSums):
                return card.get(found)
        # Floats so far apart that two words do not hold them are rounded here.
        sums = settled(found.limbs, 0)
        divisors = np.ones(sums.size, np.int64) if divisors is None else divisors
        return round_quotients(sums.limbs, found.unit + 32 * sums.base, divisors)

    def smallest(self, values: np.ndarray) -> np.ndarray:
        return self._extreme(values, largest=False)

    def largest(self, values: np.ndarray) -> np.ndarray:
        return self._extreme(values, largest=True)

    def _extreme(self, values: np.ndarray, largest: bool) -> np.ndarray:
        card = self._card
        with memory_told(card):
            return card.get(extremes(card, card.put(values), self._stretches, largest))


def _whole(divisors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(divisors, np.int64)
