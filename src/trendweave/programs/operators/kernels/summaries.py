"""Runs of values as their smallest, their largest and their exact sum.

A sum is kept in limbs of 32 bits, lowest first, each in a place of 64 bits: limb k counts 2**(32 k - 1074) for floats
and 2**(32 k) for whole numbers. No addition rounds, so that sums are the same in whatever order and grouping they are
made.
"""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer

_MASK = 0xFFFFFFFF


@outer
def _exponents(values: np.ndarray, valid: np.ndarray) -> tuple[int, int]:
    """The lowest and the highest exponent of finite values that are not zero; the highest is -1 where there is none."""
    least, most = 4096, -1
    bits = values.view(np.int64)
    for row in range(values.size):
        if valid.size and not valid[row]:
            continue
        exponent = (bits[row] >> 52) & 0x7FF
        if exponent == 0x7FF or (bits[row] & 0x7FFFFFFFFFFFFFFF) == 0:
            continue
        if exponent < 1:
            exponent = 1
        least, most = min(least, exponent), max(most, exponent)
    return least, most


@outer
def _add_floats(
    values: np.ndarray,
    valid: np.ndarray,
    starts: np.ndarray,
    base: int,
    limbs: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    known: np.ndarray,
    nans: np.ndarray,
) -> None:
    bits = values.view(np.int64)
    for run in range(starts.size - 1):
        least, most = np.inf, -np.inf
        count, not_numbers = 0, 0
        for row in range(starts[run], starts[run + 1]):
            if valid.size and not valid[row]:
                continue
            count += 1
            value = values[row]
            if value != value:
                not_numbers += 1
                continue
            least, most = min(least, value), max(most, value)
            exponent = (bits[row] >> 52) & 0x7FF
            if exponent == 0x7FF:
                continue
            mantissa = bits[row] & 0xFFFFFFFFFFFFF
            if exponent > 0:
                mantissa |= 1 << 52
            elif mantissa == 0:
                continue
            else:
                exponent = 1
            place = exponent - 1
            limb = (place >> 5) - base
            shift = place & 31
            # Two halves of 32 and 21 bits, so that neither leaves 64 bits when it is moved.
            lower = np.uint64(mantissa & _MASK) << np.uint64(shift)
            upper = np.uint64(mantissa >> 32) << np.uint64(shift)
            first = np.int64(lower & np.uint64(_MASK))
            second = np.int64((lower >> np.uint64(32)) + (upper & np.uint64(_MASK)))
            third = np.int64(upper >> np.uint64(32))
            if bits[row] < 0:
                limbs[run, limb] -= first
                limbs[run, limb + 1] -= second
                limbs[run, limb + 2] -= third
            else:
                limbs[run, limb] += first
                limbs[run, limb + 1] += second
                limbs[run, limb + 2] += third
        low[run], high[run], known[run], nans[run] = least + 0.0, most + 0.0, count, not_numbers


@outer
def _add_whole(
    values: np.ndarray,
    valid: np.ndarray,
    starts: np.ndarray,
    limbs: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    known: np.ndarray,
) -> None:
    for run in range(starts.size - 1):
        least, most = np.int64(9223372036854775807), np.int64(-9223372036854775808)
        count, lower, upper = 0, np.int64(0), np.int64(0)
        for row in range(starts[run], starts[run + 1]):
            if valid.size and not valid[row]:
                continue
            value = values[row]
            count += 1
            least, most = min(least, value), max(most, value)
            lower += value & _MASK
            upper += value >> 32
        low[run], high[run], known[run] = least, most, count
        limbs[run, 0], limbs[run, 1] = lower, upper


@outer
def _settle(limbs: np.ndarray) -> None:
    for run in range(limbs.shape[0]):
        carry = np.int64(0)
        for limb in range(limbs.shape[1] - 1):
            number = limbs[run, limb] + carry
            carry = number >> 32
            limbs[run, limb] = number & _MASK
        limbs[run, limbs.shape[1] - 1] += carry


def summarise_floats(
    values: np.ndarray, valid: np.ndarray | None, starts: np.ndarray
) -> tuple[np.ndarray, int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Limbs (one row per run) and the number of the lowest one; smallest, largest, how many values, how many of them
    are NaN. Infinities are in the bounds and not in the sum; without a value bounds are the wrong way round."""
    runs = starts.size - 1
    valid = np.empty(0, np.bool_) if valid is None else valid
    values, valid, starts = read_only(values), read_only(valid), read_only(starts)
    least, most = _exponents(values, valid)
    base = (least - 1) >> 5 if most > 0 else 0
    width = ((most - 1) >> 5) - base + 3 if most > 0 else 1
    limbs = np.zeros((runs, width + 1), np.int64)
    low, high = np.empty(runs), np.empty(runs)
    known, nans = np.empty(runs, np.int64), np.empty(runs, np.int64)
    _add_floats(values, valid, starts, base, limbs, low, high, known, nans)
    _settle(limbs)
    return limbs, base, low, high, known, nans


def summarise_whole(
    values: np.ndarray, valid: np.ndarray | None, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Limbs, smallest, largest, how many values. Fewer than 2**31 of them."""
    runs = starts.size - 1
    valid = np.empty(0, np.bool_) if valid is None else valid
    limbs = np.zeros((runs, 3), np.int64)
    low, high, known = np.empty(runs, np.int64), np.empty(runs, np.int64), np.empty(runs, np.int64)
    _add_whole(read_only(values), read_only(valid), read_only(starts), limbs, low, high, known)
    _settle(limbs)
    return limbs, low, high, known


def settle(limbs: np.ndarray) -> None:
    """Carry between the limbs of each row, in place: all but the last are in [0, 2**32), the last has the sign."""
    _settle(limbs)
