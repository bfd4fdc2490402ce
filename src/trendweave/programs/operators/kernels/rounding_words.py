"""Whole numbers of two words, as sums have them, divided and rounded once: to the nearest float, half to even."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import inlined_late, outer
from trendweave.kernels.packs import leading_zeros

_LOWER = np.uint64(0xFFFFFFFF)
_ONE, _HALF, _LAST, _ALL = np.uint64(1), np.uint64(32), np.uint64(63), np.uint64(64)


@inlined_late
def _nearest(upper: np.uint64, lower: np.uint64, more: bool, powers: np.ndarray) -> float:
    """A number of two words; `more`: there is a little more than that, which two words with at least 55 bits tell."""
    if upper == 0:
        if more:
            lower |= _ONE
        return np.float64(lower)
    zeros = np.int64(leading_zeros(upper))
    shift = np.uint64(zeros)
    top = (upper << shift) | ((lower >> _ONE) >> (_LAST - shift))
    # A bit below all that a float keeps stands for all bits that are gone.
    if more or (lower << shift) != 0:
        top |= _ONE
    return np.float64(top) * powers[64 - zeros]


@outer
def _round(words: np.ndarray, scale: float, powers: np.ndarray, results: np.ndarray) -> None:
    for number in range(results.size):
        upper, lower = np.uint64(words[number, 1]), np.uint64(words[number, 0])
        negative = words[number, 1] < 0
        if negative:
            lower = ~lower + _ONE
            upper = ~upper + np.uint64(1 if lower == 0 else 0)
        result = _nearest(upper, lower, False, powers) * scale
        results[number] = -result if negative else result


@outer
def _divide(
    words: np.ndarray, divisors: np.ndarray, scale: float, powers: np.ndarray, scales: np.ndarray, results: np.ndarray
) -> None:
    for number in range(results.size):
        upper, lower = np.uint64(words[number, 1]), np.uint64(words[number, 0])
        negative = words[number, 1] < 0
        if negative:
            lower = ~lower + _ONE
            upper = ~upper + np.uint64(1 if lower == 0 else 0)
        divisor = np.uint64(divisors[number])
        if upper == 0 and lower < np.uint64(1 << 53):
            result = np.float64(lower) / np.float64(divisor) * scale
        else:
            # Moved to the top of two words; three of four limbs are divided, so the quotient has at least 64 bits.
            zeros = np.int64(leading_zeros(upper)) if upper != 0 else 64 + np.int64(leading_zeros(lower))
            shift = np.uint64(zeros & 63)
            if zeros >= 64:
                upper, lower = lower << shift, np.uint64(0)
            else:
                upper = (upper << shift) | ((lower >> _ONE) >> (_LAST - shift))
                lower <<= shift
            rest = upper >> _HALF
            high = rest // divisor
            rest = ((rest % divisor) << _HALF) | (upper & _LOWER)
            middle = rest // divisor
            rest = ((rest % divisor) << _HALF) | (lower >> _HALF)
            low = rest // divisor
            more = rest % divisor != 0 or (lower & _LOWER) != 0
            result = _nearest(high, (middle << _HALF) | low, more, powers) * scales[zeros]
        results[number] = -result if negative else result


#: Units from this one on and divisors of 32 bits give no quotient below the normal floats.
LEAST_UNIT = -900


def round_words(words: np.ndarray, unit: int, divisors: np.ndarray | None = None) -> np.ndarray:
    """Numbers of two words, divided by whole numbers, as floats.

    Args:
        words: int64[numbers, 2], the lower one first, which has no sign.
        unit: They count 2**unit; not below `LEAST_UNIT`.
        divisors: From 1 to 2**32 - 1; None: all are 1.
    """
    results = np.empty(words.shape[0])
    powers = np.ldexp(1.0, np.arange(65))
    scale = float(np.ldexp(1.0, unit))
    if divisors is None:
        _round(read_only(words), scale, powers, results)
        return results
    scales = np.ldexp(1.0, 32 - np.arange(128) + unit)
    _divide(read_only(words), read_only(np.ascontiguousarray(divisors, np.int64)), scale, powers, scales, results)
    return results
