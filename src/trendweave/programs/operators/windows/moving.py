"""Counts, sums and extremes between the edges of windows: by loops of this process, or on a GPU."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from trendweave.gpu.card import Card, find_card, memory_told
from trendweave.gpu.windows import Stretches, count_flags, extremes, ordered_codes, put_stretches, sum_floats, sum_whole
from trendweave.programs.operators.measured import codes_of
from trendweave.programs.operators.sums import Sums, fold_between, sums_of, sums_of_words
from trendweave.programs.operators.windows.edges import WindowEdges


class Moving(Protocol):
    """What is computed of values with a place each, over the places of windows; no window is empty. Values lie where
    they are computed: in arrays of `xp`."""

    xp: Any

    def lengths(self) -> np.ndarray:
        """How many places each window has."""

    def count(self, flags: Any) -> np.ndarray:
        """How many flags are set in each window, or the sums of whole numbers that 64 bits hold."""

    def sum(self, values: Any) -> Sums:
        """Sums of floats, or of whole numbers."""

    def codes(self, values: Any) -> Any:
        """Floats as int64 numbers of the same order."""

    def extreme(self, codes: Any, largest: bool) -> np.ndarray:
        """The smallest or the largest int64 number of each window."""


def moving(device: str, edges: WindowEdges) -> Moving:
    """What computes windows on a device.

    Raises:
        ExecutionError: There is no card, and one is asked for.
    """
    if device != "gpu":
        return MovingHere(edges)
    card = find_card()
    with memory_told(card):
        return MovingOnCard(card, put_stretches(card, edges.low, edges.high))


class MovingHere:
    """By loops of this process."""

    xp: Any = np

    def __init__(self, edges: WindowEdges) -> None:
        self._edges = edges
        self._low, self._high = edges.low, edges.high

    def lengths(self) -> np.ndarray:
        return self._high - self._low

    def count(self, flags: np.ndarray) -> np.ndarray:
        total = np.zeros(flags.size + 1, np.int64)
        np.cumsum(flags, out=total[1:])
        return self._edges.last(total[1:]) - self._edges.first(total[:-1])

    def sum(self, values: np.ndarray) -> Sums:
        if values.dtype == np.float64:
            return Sums(fold_between("sum", values, self._low, self._high)[None])
        longest = int(self.lengths().max(initial=0))
        largest = max(-int(values.min(initial=0)), int(values.max(initial=0)))
        if largest * longest < 2**63:  # differences of totals are right even where totals have wrapped around
            return Sums(self.count(values)[None])
        return sums_of(values).between(self._low, self._high)

    def codes(self, values: np.ndarray) -> np.ndarray:
        return codes_of(values)

    def extreme(self, codes: np.ndarray, largest: bool) -> np.ndarray:
        return fold_between("most" if largest else "least", codes, self._low, self._high)


class MovingOnCard:
    """On a GPU. Values that lie in this process are put there."""

    def __init__(self, card: Card, stretches: Stretches) -> None:
        self._card, self._stretches, self.xp = card, stretches, card.xp

    def _put(self, values: Any) -> Any:
        return self._card.put(values) if isinstance(values, np.ndarray) else values

    def lengths(self) -> np.ndarray:
        return self._card.get(self._stretches.lengths(self._card))

    def count(self, flags: Any) -> np.ndarray:
        with memory_told(self._card):
            return self._card.get(count_flags(self._card, self._put(flags).astype(np.uint8), self._stretches))

    def sum(self, values: Any) -> Sums:
        card, stretches = self._card, self._stretches
        with memory_told(card):
            values = self._put(values)
            if values.dtype.kind != "f":
                return sums_of_words(card.get(sum_whole(card, values.astype(np.int64), None, stretches)))
            found = sum_floats(card, values, None, stretches)
            if found is not None:
                return Sums(card.get(found)[None])
            # Floats too far apart for whole numbers of two words.
            low, high = (card.get(ends) for ends in stretches.ends(card))
        order = np.lexsort((high, low))
        sums = np.empty(low.size)
        sums[order] = fold_between("sum", card.get(values).astype(np.float64), low[order], high[order])
        return Sums(sums[None])

    def codes(self, values: Any) -> Any:
        return ordered_codes(self._card, self._put(values))

    def extreme(self, codes: Any, largest: bool) -> np.ndarray:
        with memory_told(self._card):
            return self._card.get(extremes(self._card, self._put(codes), self._stretches, largest))
