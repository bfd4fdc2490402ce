"""Whole numbers of several words: two's complement, the lowest word first, at a place of an array of uint64.

Nothing here looks for overflow: callers know how many bits their numbers have at most, and take enough words.
"""

import numpy as np

from trendweave.kernels.compiling import inner

WORD = 64
LOW_HALF = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
NOTHING = np.uint64(0)
ONE = np.uint64(1)
TOP_BIT = np.uint64(63)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


@inner
def multiply_high(one, other):
    """The upper 64 of the 128 bits of a product."""
    one_low, one_high = one & LOW_HALF, one >> HALF
    other_low, other_high = other & LOW_HALF, other >> HALF
    cross = one_high * other_low + ((one_low * other_low) >> HALF)
    middle = one_low * other_high + (cross & LOW_HALF)
    return one_high * other_high + (cross >> HALF) + (middle >> HALF)


@inner
def add_words(target, at, source, source_at, width):
    """target += source. Unsigned indexes: Numba checks signed ones for being negative."""
    carry = NOTHING
    to, come = np.uint64(at), np.uint64(source_at)
    for i in range(np.uint64(width)):
        word = source[come + i]
        total = target[to + i] + word
        with_carry = total + carry
        carry = np.uint64(total < word) | np.uint64(with_carry < total)
        target[to + i] = with_carry


@inner
def add_one(target, at, width):
    """target += 1."""
    for i in range(width):
        target[at + i] += ONE
        if target[at + i] != NOTHING:
            break


@inner
def add_product(target, at, width, count, count_at, count_width, factor, negative, shift):
    """target += count * factor * 2**shift, or -= where `negative`; the count is not negative.

    To subtract is to add the complement and one: words are turned around, and the first carry is that one.
    """
    first, bit = shift >> 6, np.uint64(shift & 63)
    rest = TOP_BIT - bit
    turned, begun = (ALL_ONES, ONE) if negative else (NOTHING, NOTHING)
    high, before, carry = NOTHING, NOTHING, begun
    to, come = np.uint64(at + first), np.uint64(count_at)
    both = np.uint64(min(count_width, max(width - first, 0)))
    for i in range(both):
        word = count[come + i]
        low = word * factor
        product = low + high
        high = multiply_high(word, factor) + np.uint64(product < low)
        added = ((product << bit) | ((before >> ONE) >> rest)) ^ turned
        before = product
        total = target[to + i] + added
        with_carry = total + carry
        carry = np.uint64(total < added) | np.uint64(with_carry < total)
        target[to + i] = with_carry
    for i in range(both, np.uint64(max(width - first, 0))):
        added = ((high << bit) | ((before >> ONE) >> rest)) ^ turned
        before, high = high, NOTHING
        total = target[to + i] + added
        with_carry = total + carry
        carry = np.uint64(total < added) | np.uint64(with_carry < total)
        target[to + i] = with_carry
        if before == NOTHING and carry == begun:
            break


@inner
def shift_left(target, at, width, shift):
    """target *= 2**shift."""
    first, bit = shift >> 6, np.uint64(shift & 63)
    rest = np.uint64(WORD) - bit
    for i in range(width - 1, -1, -1):
        word = NOTHING
        if i >= first:
            word = target[at + i - first] << bit
            if bit != NOTHING and i > first:
                word |= target[at + i - first - 1] >> rest
        target[at + i] = word


@inner
def is_negative(source, at, width):
    return (source[at + width - 1] >> TOP_BIT) != NOTHING


@inner
def is_zero(source, at, width):
    for i in range(width):
        if source[at + i] != NOTHING:
            return False
    return True


@inner
def negate(target, at, width):
    """target = -target."""
    carry = ONE
    for i in range(width):
        word = ~target[at + i] + carry
        carry = ONE if carry == ONE and word == NOTHING else NOTHING
        target[at + i] = word


@inner
def copy_words(target, at, width, source, source_at, source_width):
    """target = source, cut or continued with its sign."""
    sign = ALL_ONES if is_negative(source, source_at, source_width) else NOTHING
    for i in range(width):
        target[at + i] = source[source_at + i] if i < source_width else sign


@inner
def bits_of_word(word):
    """Without a loop: this is asked for often."""
    bits = 0
    if word >> np.uint64(32) != NOTHING:
        word = word >> np.uint64(32)
        bits += 32
    if word >> np.uint64(16) != NOTHING:
        word = word >> np.uint64(16)
        bits += 16
    if word >> np.uint64(8) != NOTHING:
        word = word >> np.uint64(8)
        bits += 8
    if word >> np.uint64(4) != NOTHING:
        word = word >> np.uint64(4)
        bits += 4
    if word >> np.uint64(2) != NOTHING:
        word = word >> np.uint64(2)
        bits += 2
    return bits + np.int64(word >> ONE) + (1 if word != NOTHING else 0)


@inner
def most_bits(source, at, cells, stride, width):
    """Bits of the largest of some numbers, without the sign: it fits a width of more than so many bits."""
    for i in range(width - 1, -1, -1):
        seen = NOTHING
        for cell in range(cells):
            begin = at + cell * stride
            sign = np.uint64(np.int64(source[begin + width - 1]) >> 63)
            seen |= source[begin + i] ^ sign
        if seen != NOTHING:
            return i * WORD + bits_of_word(seen)
    return 0
