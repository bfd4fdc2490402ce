"""Exact numbers in limbs, divided and rounded once: to the nearest float, half to even."""

from __future__ import annotations

import math

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer

_MASK = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
#: Limbs below the lowest one, so that a quotient has more bits than a float.
_BELOW = 4


@outer
def _round(limbs: np.ndarray, unit: int, divisors: np.ndarray, results: np.ndarray) -> None:
    width = limbs.shape[0]
    work = np.zeros(width + _BELOW, np.uint64)
    lowest = unit - 32 * _BELOW  # what the lowest bit of `work` counts, as a power of two
    for number in range(limbs.shape[1]):
        negative = limbs[width - 1, number] < 0
        carry = np.uint64(1)
        for limb in range(_BELOW):
            work[limb] = 0
        for limb in range(width):
            word = np.uint64(limbs[limb, number]) & _MASK
            if negative:
                word = (~word & _MASK) + carry
                carry = word >> _WORD
                word &= _MASK
            work[_BELOW + limb] = word
        divisor = np.uint64(divisors[number])
        rest = np.uint64(0)
        top = -1
        for limb in range(width + _BELOW - 1, -1, -1):
            whole = (rest << _WORD) | work[limb]
            work[limb] = whole // divisor
            rest = whole % divisor
            if top < 0 and work[limb] != 0:
                top = limb
        if top < 0:
            results[number] = 0.0
            continue
        highest = 32 * top
        leading = work[top] >> np.uint64(1)
        while leading != 0:
            highest += 1
            leading >>= np.uint64(1)
        # Bits from `kept` on make the float; there is none below 2**-1074.
        kept = max(highest - 52, -1074 - lowest)
        mantissa = np.uint64(0)
        for bit in range(highest, kept - 1, -1):
            mantissa = (mantissa << np.uint64(1)) | ((work[bit >> 5] >> np.uint64(bit & 31)) & np.uint64(1))
        half = (work[(kept - 1) >> 5] >> np.uint64((kept - 1) & 31)) & np.uint64(1)
        if half != 0:
            more = rest != 0
            for bit in range(kept - 1):
                if more:
                    break
                more = (work[bit >> 5] >> np.uint64(bit & 31)) & np.uint64(1) != 0
            if more or mantissa & np.uint64(1) != 0:
                mantissa += np.uint64(1)
        exponent = kept + lowest
        if highest + lowest > 1024:
            result = np.inf
        else:
            result = math.ldexp(np.float64(mantissa), exponent)
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
