"""Numbers of any size: limbs to Python integers, values to digits, decimals for sums beyond floats.

An int64 array holds what fits; beyond that results are object arrays of Python integers. Never a wrong number.
"""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import partial

import numpy as np

DIGIT_BITS = 30
INT64 = np.iinfo(np.int64)
#: Sums of floats beyond all floats: as precise, and of any size.
DECIMALS = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


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


def settle_numbers(limbs: np.ndarray, width: int, count: int) -> np.ndarray:
    """Carry between limbs of so many bits: uint64[count, n] words in two's complement of int64[n, limbs]."""
    words = np.zeros((count, limbs.shape[0]), np.uint64)
    carry = np.zeros(limbs.shape[0], np.int64)
    for limb in range(limbs.shape[1]):
        x = limbs[:, limb] + carry
        carry = x >> width
        low = (x & ((1 << width) - 1)).view(np.uint64)
        word, bit = divmod(limb * width, 64)
        words[word] |= low << np.uint64(bit)
        if bit + width > 64:
            words[word + 1] = low >> np.uint64(64 - bit)
    word, bit = divmod(limbs.shape[1] * width, 64)
    words[word] |= carry.view(np.uint64) << np.uint64(bit)  # what is left has the sign
    words[word + 1 :] = (carry >> 63).view(np.uint64)
    if bit > 0:
        words[word + 1] = (carry >> (64 - bit)).view(np.uint64)
    return words


def from_limbs(limbs: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """int64[n, limbs] (possibly unsettled) with bits[n] per limb, below 63: int64[n] if all fit, else object[n]."""
    if limbs.shape[1] == 1 or limbs.shape[0] == 0:
        return limbs[:, 0].copy()
    used = int(np.flatnonzero(limbs.any(axis=0)).max(initial=0)) + 1
    words = np.empty((limbs.shape[0], used * int(bits.max()) // 64 + 2), np.uint64)
    for width in np.unique(bits).tolist():
        words[bits == width] = settle_numbers(limbs[bits == width, :used], width, words.shape[1]).T
    lengths = count_words(words)
    if lengths.max() == 1:
        return words[:, 0].view(np.int64).copy()
    starts = np.zeros(limbs.shape[0] + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    chosen = np.arange(words.shape[1]) < lengths[:, None]
    return from_words(words[chosen], starts)


def count_words(words: np.ndarray) -> np.ndarray:
    """As many of the words uint64[n, words] of each number as tell it with its sign."""
    sign = (words[:, -1:].view(np.int64) >> 63).view(np.uint64)
    tells = words != sign
    tells[:, 1:] |= ((words[:, :-1] ^ sign) >> np.uint64(63)).astype(np.bool_)
    return np.where(tells.any(axis=1), words.shape[1] - np.argmax(tells[:, ::-1], axis=1), 1)


def from_words(words: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Python integers of words in two's complement, lowest first: number i is words[starts[i]:starts[i + 1]]."""
    lengths = np.diff(starts)
    words = words.astype("<u8", copy=False)
    numbers = np.zeros(lengths.size, object)
    read = partial(int.from_bytes, byteorder="little", signed=True)
    order = np.argsort(lengths, kind="stable")
    for chosen in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):  # those of one length at once
        length = int(lengths[chosen[0]]) if chosen.size else 0
        if length == 0:
            continue
        raw = words[starts[chosen][:, None] + np.arange(length)].view(f"V{8 * length}")[:, 0].tolist()
        numbers[chosen] = list(map(read, raw))
    return numbers


def narrow_integers(numbers: np.ndarray) -> np.ndarray:
    """An object array of integers as int64 if all of them fit."""
    if numbers.size == 0:
        return numbers.astype(np.int64)
    if not INT64.min <= numbers[numbers.size // 2] <= INT64.max:  # where many are large, one tells
        return numbers
    if int(numbers.max()) <= INT64.max and int(numbers.min()) >= INT64.min:
        return numbers.astype(np.int64)
    return numbers


def as_decimals(values: np.ndarray) -> np.ndarray:
    """Floats as decimals, which have no largest one."""
    found = np.empty(values.shape, object)
    found.reshape(-1)[:] = list(map(Decimal, values.reshape(-1).tolist()))
    return found


def average_floats(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Averages from sums of floats; 0 where nothing is counted. Sums and counts may be beyond all floats."""
    if sums.dtype != object and counts.dtype != object:
        with np.errstate(invalid="ignore"):
            return sums / np.where(counts != 0, counts, 1)
    with localcontext(DECIMALS):
        pairs = zip(sums.tolist(), counts.tolist(), strict=True)
        return np.array([float(Decimal(one) / int(n)) if n else 0.0 for one, n in pairs], np.float64)
