"""Exact numbers of any size: limbs to Python integers, values to digits, floats to fixed point and back.

An int64 array holds what fits; beyond that results are object arrays of Python integers. Never a wrong number.
"""

import math

import numpy as np

DIGIT_BITS = 30
INT64 = np.iinfo(np.int64)


def value_bits(values: np.ndarray) -> int:
    """Bits of the largest magnitude in an int64 array."""
    if values.size == 0:
        return 0
    return max(int(values.max()), -int(values.min())).bit_length()


def to_digits(values: np.ndarray, digits: int) -> np.ndarray:
    """int64[k, n] as int64[k, digits, n]: signed digits base 2**30, least significant first."""
    magnitude = np.abs(values).view(np.uint64)  # |-2**63| wraps to itself, which reads as 2**63 unsigned
    sign = np.sign(values)
    out = np.zeros((values.shape[0], digits, values.shape[1]), np.int64)
    for digit in range(digits):
        part = (magnitude >> np.uint64(min(63, digit * DIGIT_BITS))) & np.uint64(2**DIGIT_BITS - 1)
        if digit * DIGIT_BITS < 64:
            out[:, digit] = part.astype(np.int64) * sign
    return out


def from_limbs(limbs: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """int64[n, limbs] (possibly unsettled) with bits[n] per limb: int64[n] if all fit, else object[n]."""
    if limbs.shape[1] == 1:
        return limbs[:, 0].copy()
    used = limbs.shape[1] - np.argmax(limbs[:, ::-1] != 0, axis=1)
    used[~limbs.any(axis=1)] = 1
    out = np.empty(limbs.shape[0], object)
    for count in np.unique(used):  # each number only as long as it is
        chosen = np.flatnonzero(used == count)
        shift = bits[chosen].astype(object)
        total = limbs[chosen, count - 1].astype(object)
        for limb in range(count - 2, -1, -1):
            total = (total << shift) + limbs[chosen, limb].astype(object)
        out[chosen] = total
    return narrow_integers(out)


def narrow_integers(numbers: np.ndarray) -> np.ndarray:
    """An object array of integers as int64 if all of them fit."""
    if numbers.size == 0:
        return numbers.astype(np.int64)
    if int(numbers.max()) <= INT64.max and int(numbers.min()) >= INT64.min:
        return numbers.astype(np.int64)
    return numbers


def float_digits(values: np.ndarray, valid: np.ndarray) -> tuple:
    """Finite floats as exact fixed-point numbers: (int64[digits, n] base 2**30, exponent): value = number *
    2**exponent."""
    mantissa, exponent = np.frexp(np.where(valid, values, 0.0))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = exponent.astype(np.int64) - 53
    used = whole != 0
    if not used.any():
        return np.zeros((1, values.size), np.int64), 0
    # drop trailing zero bits so that short decimals and whole numbers stay short
    trailing = np.zeros(values.size, np.int64)
    trailing[used] = np.log2((whole[used] & -whole[used]).astype(np.float64)).astype(np.int64)
    whole >>= trailing
    exponent = np.where(used, exponent + trailing, 0)
    lowest = int(exponent[used].min())
    offset = np.where(used, exponent - lowest, 0)
    lengths = np.where(used, np.frexp(np.abs(whole).astype(np.float64))[1], 0)
    digits = int((offset + lengths).max()) // DIGIT_BITS + 3
    out = np.zeros((digits, values.size), np.int64)
    rows = np.arange(values.size)
    sign = np.sign(whole)
    magnitude = np.abs(whole)
    for part, at in ((magnitude & (2**27 - 1), offset), (magnitude >> 27, offset + 27)):
        moved = part << (at % DIGIT_BITS)
        place = at // DIGIT_BITS
        out[place, rows] += sign * (moved & (2**DIGIT_BITS - 1))
        out[place + 1, rows] += sign * (moved >> DIGIT_BITS)
    while digits > 1 and not out[digits - 1].any():
        digits -= 1
    return out[:digits], lowest


def scale(number: int, exponent: int, divisor: int = 1) -> float:
    """number * 2**exponent / divisor, correctly rounded; infinite if too large."""
    number = int(number)
    try:
        if exponent >= 0:
            return (number << exponent) / divisor
        return number / (divisor << -exponent)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def order_codes(values: np.ndarray) -> np.ndarray:
    """int64 codes that order like the values: NaN above all other floats, -0.0 equal to 0.0."""
    if values.dtype == np.float64:
        bits = (values + 0.0).view(np.int64)
        codes = np.where(bits < 0, bits ^ INT64.max, bits)
        codes[np.isnan(values)] = INT64.max - 4
        return codes
    return values


def values_of_codes(codes: np.ndarray, is_float: bool) -> np.ndarray:
    """The inverse of `order_codes`."""
    if not is_float:
        return codes
    return np.where(codes < 0, codes ^ INT64.max, codes).view(np.float64)
