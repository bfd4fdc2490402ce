"""Exact numbers in limbs, divided and rounded once: to the nearest float, half to even."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import inlined_late, outer
from trendweave.kernels.packs import leading_zeros

_MASK = np.uint64(0xFFFFFFFF)
_WORD, _ONE = np.uint64(32), np.uint64(1)
#: Limbs below the lowest one, so that a quotient has more bits than a float.
_BELOW = 4


@inlined_late
def _as_float(top: np.uint64, exponent: int) -> float:
    """top * 2**exponent, rounded once. The highest bit is set, and the lowest one where a little more is left."""
    if exponent > 961:
        return np.inf
    dropped = -1074 - exponent
    if dropped < 12:
        return np.ldexp(np.float64(top), np.int64(exponent))
    # There is no bit below 2**-1074.
    if dropped > 64:
        return 0.0
    kept = np.uint64(0) if dropped == 64 else top >> np.uint64(dropped)
    half = (top >> np.uint64(dropped - 1)) & _ONE
    below = top & ((_ONE << np.uint64(dropped - 1)) - _ONE)
    if half != 0 and (below != 0 or kept & _ONE != 0):
        kept += _ONE
    return np.ldexp(np.float64(kept), np.int64(-1074))


@outer
def _round(limbs: np.ndarray, unit: int, divisors: np.ndarray, results: np.ndarray) -> None:
    width = limbs.shape[0]
    work = np.zeros(width + _BELOW, np.uint64)
    lowest = unit - 32 * _BELOW  # what the lowest bit of `work` counts, as a power of two
    for number in range(limbs.shape[1]):
        negative = limbs[width - 1, number] < 0
        carry = _ONE
        highest = -1
        for limb in range(width):
            word = np.uint64(limbs[limb, number]) & _MASK
            if negative:
                word = (~word & _MASK) + carry
                carry = word >> _WORD
                word &= _MASK
            work[_BELOW + limb] = word
            if word != 0:
                highest = _BELOW + limb
        if highest < 0:
            results[number] = 0.0
            continue
        # Four limbs from the highest one on: their quotient has at least 65 bits. What is below only tells whether
        # there is more.
        divisor = np.uint64(divisors[number])
        rest = upper = lower = np.uint64(0)
        for limb in range(highest, highest - 4, -1):
            whole = (rest << _WORD) | work[limb]
            upper = (upper << _WORD) | (lower >> _WORD)
            lower = (lower << _WORD) | (whole // divisor)
            rest = whole % divisor
        more = rest != 0
        for limb in range(_BELOW, highest - 3):
            more |= work[limb] != 0
        zeros = np.int64(leading_zeros(upper))
        shift = np.uint64(zeros)
        top = (upper << shift) | ((lower >> _ONE) >> (np.uint64(63) - shift))
        if more or (lower << shift) != 0:
            top |= _ONE
        result = _as_float(top, lowest + 32 * (highest - 3) + 64 - zeros)
        results[number] = -result if negative else result


def round_quotients(limbs: np.ndarray, unit: int, divisors: np.ndarray) -> np.ndarray:
    """Exact numbers divided by whole numbers, as floats.

    Args:
        limbs: int64[limbs, numbers], settled, lowest first.
        unit: The lowest limb counts 2**unit.
        divisors: From 1 to 2**32 - 1.
    """
    results = np.empty(limbs.shape[1])
    _round(read_only(np.ascontiguousarray(limbs)), unit, read_only(np.ascontiguousarray(divisors, np.int64)), results)
    return results
