"""Exact sums over stretches of rows whose both ends only move forward: what enters is added, what leaves is taken off,
and nothing is rounded, so that a sum costs the same however long the stretch is.

Sums are words of 64 bits, the lower one first: two of them, as Arrow keeps decimals; or limbs of 32 bits in places of
64, lowest first, where floats are further apart than two words reach.
"""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import inlined_late, outer

_LOWER = 0xFFFFFFFF
_MANTISSA = 0xFFFFFFFFFFFFF


@outer
def _bounds(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.int64, np.int64, np.int64]:
    """The smallest and the largest value, and the length of the longest stretch."""
    least = most = np.int64(0)
    for value in values:
        least, most = min(least, value), max(most, value)
    longest = np.int64(0)
    for stretch in range(low.size):
        longest = max(longest, high[stretch] - low[stretch])
    return least, most, longest


@outer
def _narrow(values: np.ndarray, low: np.ndarray, high: np.ndarray, sums: np.ndarray, words: bool) -> None:
    first = end = 0
    total = np.int64(0)
    for stretch in range(low.size):
        if low[stretch] >= end:
            first = end = low[stretch]
            total = np.int64(0)
        while end < high[stretch]:
            total += values[end]
            end += 1
        while first < low[stretch]:
            total -= values[first]
            first += 1
        if words:
            sums[2 * stretch], sums[2 * stretch + 1] = total, total >> 63
        else:
            sums[stretch] = total


@outer
def _wide(values: np.ndarray, low: np.ndarray, high: np.ndarray, words: np.ndarray) -> None:
    first = end = 0
    lower = upper = np.int64(0)
    for stretch in range(low.size):
        if low[stretch] >= end:
            first = end = low[stretch]
            lower = upper = np.int64(0)
        while end < high[stretch]:
            lower += values[end] & _LOWER
            upper += values[end] >> 32
            end += 1
        while first < low[stretch]:
            lower -= values[first] & _LOWER
            upper -= values[first] >> 32
            first += 1
        moved = np.uint64(upper) << np.uint64(32)
        word = moved + np.uint64(lower)
        words[stretch, 0] = np.int64(word)
        words[stretch, 1] = (upper >> 32) + (1 if word < moved else 0)


@inlined_late
def _fixed(bits: int, lowest: int) -> tuple[np.uint64, np.uint64]:
    """A finite float, by its bits, as a whole number of two words: times 2**(1075 - lowest), which no exponent is
    below."""
    exponent = (bits >> 52) & 0x7FF
    normal = 1 if exponent > 0 else 0
    mantissa = np.uint64((bits & _MANTISSA) | (normal << 52))
    shift = exponent - lowest + 1 - normal
    if shift < 0:  # of a zero
        shift = 0
    if shift < 64:
        lower = mantissa << np.uint64(shift)
        upper = (mantissa >> np.uint64(1)) >> np.uint64(63 - shift)
    else:
        lower = np.uint64(0)
        upper = mantissa << np.uint64(shift - 64)
    # All ones for negative numbers: turned, and one more.
    sign = np.uint64(bits >> 63)
    lower = (lower ^ sign) - sign
    upper = (upper ^ sign) + np.uint64(1 if (sign != 0) & (lower == 0) else 0)
    return lower, upper


@outer
def _floats(bits: np.ndarray, low: np.ndarray, high: np.ndarray, lowest: int, words: np.ndarray) -> None:
    first = end = 0
    lower = upper = np.uint64(0)
    for stretch in range(low.size):
        if low[stretch] >= end:
            first = end = low[stretch]
            lower = upper = np.uint64(0)
        while end < high[stretch]:
            word, more = _fixed(bits[end], lowest)
            lower += word
            upper += more + np.uint64(1 if lower < word else 0)
            end += 1
        while first < low[stretch]:
            word, more = _fixed(bits[first], lowest)
            upper -= more + np.uint64(1 if lower < word else 0)
            lower -= word
            first += 1
        words[stretch, 0] = np.int64(lower)
        words[stretch, 1] = np.int64(upper)


@inlined_late
def _add_limbs(total: np.ndarray, bits: int, base: int, sign: int) -> None:
    """Add a finite float to limbs, the lowest of which has the number `base`, or take it off."""
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & _MANTISSA
    if exponent > 0:
        mantissa |= 1 << 52
    elif mantissa == 0:
        return
    else:
        exponent = 1
    place = exponent - 1
    limb, shift = (place >> 5) - base, place & 31
    # Two halves of 32 and 21 bits, so that neither leaves 64 bits when it is moved.
    lower = np.uint64(mantissa & _LOWER) << np.uint64(shift)
    upper = np.uint64(mantissa >> 32) << np.uint64(shift)
    if bits < 0:
        sign = -sign
    total[limb] += sign * np.int64(lower & np.uint64(_LOWER))
    total[limb + 1] += sign * np.int64((lower >> np.uint64(32)) + (upper & np.uint64(_LOWER)))
    total[limb + 2] += sign * np.int64(upper >> np.uint64(32))


@outer
def _limbs(
    bits: np.ndarray, low: np.ndarray, high: np.ndarray, base: int, total: np.ndarray, place: np.ndarray,
    limbs: np.ndarray,
) -> None:  # fmt: skip
    first, end = place[0], place[1]
    width = total.size
    for stretch in range(low.size):
        if low[stretch] >= end:
            first = end = low[stretch]
            total[:] = 0
        while end < high[stretch]:
            _add_limbs(total, bits[end], base, 1)
            end += 1
        while first < low[stretch]:
            _add_limbs(total, bits[first], base, -1)
            first += 1
        carry = np.int64(0)
        for limb in range(width - 1):
            number = total[limb] + carry
            carry = number >> 32
            limbs[limb, stretch] = number & _LOWER
        limbs[width - 1, stretch] = total[width - 1] + carry
    place[0], place[1] = first, end


def are_narrow(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether no sum of int64 values over such stretches leaves 64 bits."""
    least, most, longest = _bounds(read_only(values), read_only(low), read_only(high))
    return bool(max(-int(least), int(most)) * int(longest) < 2**63)


def longest_of(low: np.ndarray, high: np.ndarray) -> int:
    """The length of the longest stretch."""
    return int(_bounds(read_only(np.empty(0, np.int64)), read_only(low), read_only(high))[2])


def sum_narrow(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Sums over low[i] <= place < high[i] of int64 values, where no sum leaves 64 bits. Both ends ascend."""
    sums = np.empty(low.size, np.int64)
    _narrow(read_only(values), read_only(low), read_only(high), sums, False)
    return sums


def sum_narrow_words(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The same as two words each, int64[stretches, 2]."""
    words = np.empty(2 * low.size, np.int64)
    _narrow(read_only(values), read_only(low), read_only(high), words, True)
    return words.reshape(-1, 2)


def sum_whole(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The same for any int64 values, fewer than 2**31 of them in a stretch: int64[stretches, 2]."""
    words = np.empty((low.size, 2), np.int64)
    _wide(read_only(values), read_only(low), read_only(high), words)
    return words


def sum_floats(values: np.ndarray, low: np.ndarray, high: np.ndarray, lowest: int) -> np.ndarray:
    """The same for finite floats, in words that count 2**(lowest - 1075), where no exponent is below `lowest` and sums
    fit 127 of these bits."""
    words = np.empty((low.size, 2), np.int64)
    _floats(read_only(values).view(np.int64), read_only(low), read_only(high), lowest, words)
    return words


class LimbSums:
    """The same for finite floats of any size, some stretches after the other.

    Args:
        values: The floats.
        base: The number of the lowest limb that some value has.
        width: How many limbs from there on sums can have, the last one with the sign.
    """

    def __init__(self, values: np.ndarray, base: int, width: int) -> None:
        self._bits, self._base = read_only(values).view(np.int64), base
        self._total, self._place = np.zeros(width, np.int64), np.zeros(2, np.int64)

    def next(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The settled limbs of further stretches, int64[limbs, stretches]."""
        limbs = np.empty((self._total.size, low.size), np.int64)
        _limbs(self._bits, read_only(low), read_only(high), self._base, self._total, self._place, limbs)
        return limbs
