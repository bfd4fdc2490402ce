"""Which bits floats use: how wide the words are that their sums fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer


@outer
def _gather(bits: np.ndarray, used: np.ndarray) -> None:
    for row in range(bits.size):
        used[(bits[row] >> 52) & 0x7FF] |= np.uint64(bits[row] & 0xFFFFFFFFFFFFF)
        used[2048 + ((bits[row] >> 52) & 0x7FF)] = np.uint64(1)


@outer
def _order(bits: np.ndarray, codes: np.ndarray) -> None:
    for row in range(bits.size):
        code = bits[row]
        if code & 0x7FFFFFFFFFFFFFFF > 0x7FF0000000000000:
            codes[row] = 0x7FF8000000000000  # NaN, whatever its other bits are
        elif code >= 0:
            codes[row] = code
        elif code == -0x8000000000000000:
            codes[row] = 0
        else:
            codes[row] = code ^ 0x7FFFFFFFFFFFFFFF


def ordered_codes(values: np.ndarray) -> np.ndarray:
    """Floats as integers in the same order: -0.0 is 0.0, and NaN is the largest. As `rows.codes.ordered_bits`, in one
    pass."""
    codes = np.empty(values.size, np.int64)
    _order(read_only(values).view(np.int64), codes)
    return codes


class UsedBits(NamedTuple):
    """Of the finite values: exponents as they are written in a float, where 1 stands for 2**-1074.

    Attributes:
        lowest: The exponent of the lowest bit that is set in some value.
        above: The exponent above the highest one; not above `lowest` where all values are zeros.
        exponents: The least and the largest exponent of a value that is not zero.
        finite: Whether there are no others.
    """

    lowest: int
    above: int
    exponents: tuple[int, int]
    finite: bool


def used_bits(values: np.ndarray) -> UsedBits:
    """The bits that floats use."""
    used = np.zeros(4096, np.uint64)
    _gather(read_only(values).view(np.int64), used)
    there = used[2048:] > 0
    mantissas = used[:2048] | np.where(there, np.uint64(1 << 52), np.uint64(0))
    mantissas[0] = used[0]
    finite = not there[2047]
    places = np.flatnonzero(mantissas[:2047])
    if not places.size:
        return UsedBits(1, 1, (1, 1), finite)
    exponents = np.maximum(places, 1)
    found = mantissas[places]
    trailing = np.log2((found & (~found + np.uint64(1))).astype(np.float64)).astype(np.int64)
    # Rounding may give one too much, never too little.
    leading = np.floor(np.log2(found.astype(np.float64))).astype(np.int64) + 1
    edges = int(exponents[0]), int(exponents[-1])
    return UsedBits(int((exponents + trailing).min()), int((exponents + leading).max()), edges, finite)
