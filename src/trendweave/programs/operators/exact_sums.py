"""Exact sums side by side: flat arrays of limbs that are added, cut and written without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.programs.operators.kernels.summaries import settle


@dataclass(frozen=True)
class ExactSums:
    """Sums in limbs of 32 bits.

    Attributes:
        limbs: int64[limbs, sums], lowest first. All but the last are in [0, 2**32); the last one has the sign.
        base: The number of the lowest limb.
    """

    limbs: np.ndarray
    base: int

    @property
    def size(self) -> int:
        """How many sums there are."""
        return int(self.limbs.shape[1])

    def take(self, places: np.ndarray | slice) -> ExactSums:
        """Some of them."""
        return ExactSums(self.limbs[:, places], self.base)

    def add_runs(self, starts: np.ndarray) -> ExactSums:
        """The sums of runs, which begin at some places and are not empty."""
        if not starts.size:
            return ExactSums(np.zeros((1, 0), np.int64), 0)
        return settled(np.add.reduceat(self.limbs, starts, axis=1), self.base)

    def between(self, low: np.ndarray, high: np.ndarray) -> ExactSums:
        """The sums over low[i] <= place < high[i]."""
        total = np.zeros((self.limbs.shape[0], self.size + 1), np.int64)
        np.cumsum(self.limbs, axis=1, out=total[:, 1:])
        return settled(total[:, high] - total[:, low], self.base)


def settled(limbs: np.ndarray, base: int) -> ExactSums:
    """Limbs after carrying, in as few of them as all need.

    Args:
        limbs: int64[limbs, sums], each below 2**62.
        base: The number of the lowest one.
    """
    wide = np.zeros((limbs.shape[1], limbs.shape[0] + 1), np.int64)
    wide[:, :-1] = limbs.T
    settle(wide)
    return trimmed(np.ascontiguousarray(wide.T), base)


def trimmed(limbs: np.ndarray, base: int) -> ExactSums:
    """Settled limbs without those that only repeat the sign, and without zeros below."""
    last = limbs.shape[0]
    # The limb that becomes the last one has a sign of its own: it must lie within 31 bits of it.
    while last > 1:
        top, below = limbs[last - 1], limbs[last - 2]
        if not np.array_equal(top, -(below >> 31 & 1)):
            break
        limbs = limbs[: last - 1].copy()
        limbs[-1] += top << 32
        last -= 1
    first = 0
    while first < last - 1 and not limbs[first].any():
        first += 1
    return ExactSums(np.ascontiguousarray(limbs[first:]), base + first)


def join(parts: Sequence[ExactSums]) -> ExactSums:
    """Several arrays of sums as one."""
    parts = [part for part in parts if part.size] or [ExactSums(np.zeros((1, 0), np.int64), 0)]
    if len(parts) == 1:
        return parts[0]
    base = min(part.base for part in parts)
    width = max(part.base + part.limbs.shape[0] for part in parts) - base
    limbs = np.zeros((width, sum(part.size for part in parts)), np.int64)
    done = 0
    for part in parts:
        place = part.base - base
        limbs[place : place + part.limbs.shape[0], done : done + part.size] = part.limbs
        done += part.size
    return settled(limbs, base)


def stored(sums: ExactSums) -> np.ndarray:
    """Limbs as they are kept: 32 bits each, all sums of the lowest one first."""
    return sums.limbs.astype(np.uint64).astype(np.uint32).reshape(-1)


def loaded(words: np.ndarray, base: int, count: int) -> ExactSums:
    """What `stored` wrote."""
    limbs = words.reshape(-1, count).astype(np.int64) if count else np.zeros((1, 0), np.int64)
    if count:
        limbs[-1] = words.reshape(-1, count)[-1].view(np.int32)
    return ExactSums(limbs, base)


def as_integers(sums: ExactSums) -> list[int]:
    """Each sum as a whole number of its lowest limb's unit at limb zero: limbs times 2**(32 k), added."""
    total = [0] * sums.size
    for number, limb in enumerate(sums.limbs.tolist()):
        shift = 32 * (number + sums.base)
        total = [known + (part << shift) for known, part in zip(total, limb, strict=True)]
    return total
