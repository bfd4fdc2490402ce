"""Rows that stand by key: keys are cut off where they end, and nothing is moved.

Whether rows stand so is told by hashes of their keys: each key is one run of rows, in one slice or across several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Runs have so many rows at least, on average; shorter ones are dealt out.
_LENGTH = 16
#: Rows that are looked at before all of them are.
_FEW = 4_096


@dataclass(frozen=True, slots=True)
class Runs:
    """Where runs of equal hashes begin, and the hash of each."""

    starts: np.ndarray
    hashes: np.ndarray

    @staticmethod
    def of(hashes: np.ndarray) -> Runs | None:
        """The runs of a slice; None where they are short."""
        for looked_at in (hashes[:_FEW], hashes):
            borders = np.flatnonzero(looked_at[1:] != looked_at[:-1])
            if borders.size * _LENGTH > looked_at.size:
                return None
        starts = np.concatenate([[0], borders + 1])
        return Runs(starts, hashes[starts])


def cut_runs(slices: Sequence[Runs], sizes: Sequence[int], parts: int) -> list[int] | None:
    """The rows at which to cut all slices, with the first and the one behind the last; None where some key stands in
    several runs, or there are too few keys.

    Args:
        slices: The runs of each slice.
        sizes: How many rows each has.
        parts: How many parts are wanted.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    starts = np.concatenate([one.starts + offset for one, offset in zip(slices, offsets, strict=False)])
    hashes = np.concatenate([one.hashes for one in slices])
    # A run may go on in the next slice.
    begins = np.ones(starts.size, np.bool_)
    begins[1:] = hashes[1:] != hashes[:-1]
    starts, hashes = starts[begins], hashes[begins]
    if starts.size < 2 or np.unique(hashes).size < hashes.size:
        return None
    wanted = offsets[-1] * np.arange(1, parts) // parts
    places = np.searchsorted(starts, wanted).clip(max=starts.size - 1)
    before = np.maximum(places - 1, 0)
    nearer = np.where(wanted - starts[before] < starts[places] - wanted, before, places)
    return np.unique(np.concatenate([[0], starts[nearer], [offsets[-1]]])).tolist()
