"""Sums and means of moving stretches of rows: exact, rounded once, at a cost that does not grow with a stretch.

Floats are added as whole numbers of their lowest bit: in one word where all sums fit it, in two where those do, else in
as many limbs as their exponents ask for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trendweave.programs.operators.kernels.float_bits import UsedBits, used_bits
from trendweave.programs.operators.kernels.moving_sums import (
    LimbSums,
    are_narrow,
    longest_of,
    sum_floats,
    sum_narrow,
    sum_narrow_words,
    sum_whole,
)
from trendweave.programs.operators.kernels.rounding import round_quotients
from trendweave.programs.operators.kernels.rounding_words import LEAST_UNIT, round_words

#: What the exponent 0 of a float would stand for, as a power of two.
_UNIT = -1075
#: Whole numbers up to this one are floats.
_EXACT = 2**53
#: Stretches whose limbs are held at once.
_AT_ONCE = 1 << 14


def sum_words(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Sums of int64 values over low[i] <= place < high[i], both of which ascend: words of 64 bits, int64[sums, 2], the
    lower one first, as Arrow keeps decimals."""
    narrow = are_narrow(values, low, high)
    return sum_narrow_words(values, low, high) if narrow else sum_whole(values, low, high)


def mean_whole(values: np.ndarray, low: np.ndarray, high: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    """Sums of int64 values, each divided by a whole number from 1 to 2**32 - 1 and rounded once."""
    if are_narrow(values, low, high):
        return _divide_narrow(sum_narrow(values, low, high), 0, divisors)
    return round_words(sum_whole(values, low, high), 0, divisors)


def sum_or_mean(
    values: np.ndarray, low: np.ndarray, high: np.ndarray, divisors: np.ndarray | None = None
) -> np.ndarray:
    """Sums of finite floats, each divided by a whole number from 1 to 2**32 - 1 where some are given, rounded once."""
    used = used_bits(values)
    more = longest_of(low, high).bit_length() + 1
    unit = used.lowest + _UNIT
    if unit >= LEAST_UNIT and used.above - used.lowest < 63:
        # Whole numbers of the lowest bit that some value has, which fit a word: mostly there are no others.
        whole = (values * np.ldexp(1.0, -unit)).astype(np.int64)
        if used.above - used.lowest + more > 63:
            return round_words(sum_whole(whole, low, high), unit, divisors)
        sums = sum_narrow(whole, low, high)
        if divisors is not None:
            return _divide_narrow(sums, unit, divisors)
        with np.errstate(over="ignore"):  # beyond all floats there is infinity
            return sums * np.ldexp(1.0, unit)
    least = used.exponents[0]
    if least + _UNIT >= LEAST_UNIT and used.above - least + more <= 127:
        return round_words(sum_floats(values, low, high, least), least + _UNIT, divisors)
    parts = list(_in_limbs(values, low, high, divisors, used))
    return np.concatenate(parts) if parts else np.empty(0)


def _as_words(sums: np.ndarray) -> np.ndarray:
    words = np.empty((sums.size, 2), np.int64)
    words[:, 0] = sums
    np.right_shift(sums, 63, out=words[:, 1])
    return words


def _divide_narrow(sums: np.ndarray, unit: int, divisors: np.ndarray) -> np.ndarray:
    if sums.size and sums.min() >= -_EXACT and sums.max() <= _EXACT:
        return sums / divisors * np.ldexp(1.0, unit)
    return round_words(_as_words(sums), unit, divisors)


def _in_limbs(
    values: np.ndarray, low: np.ndarray, high: np.ndarray, divisors: np.ndarray | None, used: UsedBits
) -> Iterator[np.ndarray]:
    base = (used.exponents[0] - 1) >> 5
    width = ((used.exponents[1] - 1) >> 5) - base + 4
    moving = LimbSums(values, base, width)
    for first in range(0, low.size, _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        own = np.ones(low[part].size, np.int64) if divisors is None else divisors[part]
        yield round_quotients(moving.next(low[part], high[part]), _UNIT + 1 + 32 * base, own)
