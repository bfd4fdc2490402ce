"""Sums side by side, and sums and extremes between two places: floats in float64 additions, whole numbers exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from trendweave.gpu.card import find_card, memory_told
from trendweave.gpu.windows import fold_windows
from trendweave.kernel_cache.kernel import Kernel, load_text
from trendweave.kernels.columns import read_only
from trendweave.programs.operators.measured import LEAST, MOST

_LOWER = np.int64(0xFFFFFFFF)

#: Two stacks: what was folded from a middle backwards, up to each place, and what has come behind the middle since. A
#: window is one of each, so nothing is ever subtracted: a window's sum has no trace of what has left it.
_FOLD = """
import numpy as np

from trendweave.kernels.stopping import is_to_stop


@loop
def fold(values, low, high, front, results):
    middle = end = 0
    back = nothing = {nothing}
    for window in range(low.size):
        first, last = low[window], high[window]
        if first >= middle:
            if is_to_stop():
                return
            middle = end = last
            back = nothing
            for place in range(last - 1, first - 1, -1):
                back = {back}
                front[place] = back
            back = nothing
        while end < last:
            value = values[end]
            back = {add}
            end += 1
        results[window] = {both}
"""
#: What a fold begins with, and how it takes one more value.
_FOLDS = {
    "sum": ("0.0", "{} + {}"),
    "least": (f"np.int64({MOST})", "min({}, {})"),
    "most": (f"np.int64({LEAST})", "max({}, {})"),
}


@lru_cache
def _load_fold(what: str) -> Kernel:
    nothing, fold = _FOLDS[what]
    back, add, both = (
        fold.format(*pair) for pair in (("back", "values[place]"), ("back", "value"), ("front[first]", "back"))
    )
    return load_text(_FOLD.format(nothing=nothing, back=back, add=add, both=both), "fold")


def fold_between(
    what: Literal["sum", "least", "most"], values: np.ndarray, low: np.ndarray, high: np.ndarray, device: str = "cpu"
) -> np.ndarray:
    """The sum of floats, or the least or the largest of int64 values, over low[i] <= place < high[i]. No window is
    empty, and both ends ascend."""
    if device == "gpu":
        card = find_card()
        with memory_told(card):
            return card.get(fold_windows(card, what, *map(card.put, (values, low, high))))
    results = np.empty(low.size, values.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        _load_fold(what)(read_only(values), read_only(low), read_only(high), np.empty_like(values), results)
    return results


def count_between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Differences of running totals of whole numbers, or of flags, which fit 64 bits."""
    total = np.zeros(values.size + 1, np.int64)
    np.cumsum(values, out=total[1:])
    return total[high] - total[low]


@dataclass(frozen=True)
class Sums:
    """Sums of floats, or of whole numbers, which are exact.

    Attributes:
        parts: float64[1, sums]; or int64[1, sums]; or, of whole numbers that 64 bits may not hold, int64[2, sums]: the
            lower one, from 0 to 2**32 - 1, and how often to add 2**32.
    """

    parts: np.ndarray

    @property
    def size(self) -> int:
        """How many sums there are."""
        return int(self.parts.shape[1])

    def take(self, places: np.ndarray | slice) -> Sums:
        """Some of them."""
        return Sums(self.parts[:, places])

    def add_runs(self, starts: np.ndarray) -> Sums:
        """The sums of runs, which begin at some places and are not empty."""
        with np.errstate(over="ignore", invalid="ignore"):
            return carry(np.add.reduceat(self.parts, starts, axis=1))

    def between(self, low: np.ndarray, high: np.ndarray, device: str = "cpu") -> Sums:
        """The sums over low[i] <= place < high[i]; both ends ascend, and no window is empty."""
        if self.parts.dtype == np.float64:
            return Sums(fold_between("sum", np.ascontiguousarray(self.parts[0]), low, high, device)[None])
        return carry(np.stack([count_between(part, low, high) for part in self.parts]))

    def times(self, counts: np.ndarray) -> Sums:
        """Each so many times, below 2**31."""
        return carry(self.parts * counts)

    def floats(self) -> np.ndarray:
        """The nearest floats, or floats next to these."""
        return (
            self.parts[0].astype(np.float64, copy=False)
            if len(self.parts) == 1
            else self.parts[1] * 2.0**32 + self.parts[0]
        )

    def words(self) -> np.ndarray:
        """Whole numbers in two words, int64[sums, 2], the lower one first, as Arrow keeps decimals."""
        if len(self.parts) == 1:
            return np.stack([self.parts[0], self.parts[0] >> 63], axis=1)
        return np.stack([(self.parts[1] << 32) | self.parts[0], self.parts[1] >> 32], axis=1)


def sums_of(values: np.ndarray) -> Sums:
    """Each value as a sum."""
    return Sums(values[None] if values.dtype == np.float64 else np.stack([values & _LOWER, values >> 32]))


def no_sums(size: int, of_floats: bool) -> Sums:
    """Sums of nothing."""
    return Sums(np.zeros((1, size)) if of_floats else np.zeros((2, size), np.int64))


def carry(parts: np.ndarray) -> Sums:
    """Sums of which lower words may have grown."""
    if parts.shape[0] == 2:
        parts[1] += parts[0] >> 32
        parts[0] &= _LOWER
    return Sums(parts)


def join_sums(parts: Sequence[Sums]) -> Sums:
    """Several arrays of sums as one."""
    parts = [part for part in parts if part.size] or list(parts[:1])
    return parts[0] if len(parts) == 1 else Sums(np.concatenate([part.parts for part in parts], axis=1))
