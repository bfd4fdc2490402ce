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
    """target += count * factor * 2**shift, or -= where `negative`; the count is not negative."""
    first, bit = shift >> 6, np.uint64(shift & 63)
    rest = np.uint64(WORD) - bit
    high, before, carry = NOTHING, NOTHING, NOTHING
    for i in range(width - first):
        if i > count_width + 1 and carry == NOTHING:
            break
        product = high
        if i < count_width:
            word = count[count_at + i]
            low = word * factor
            product = low + high
            high = multiply_high(word, factor) + (ONE if product < low else NOTHING)
        else:
            high = NOTHING
        shifted = product if bit == NOTHING else (product << bit) | (before >> rest)
        before = product
        place = at + first + i
        if negative:
            taken = shifted + carry
            carry = ONE if taken < shifted or target[place] < taken else NOTHING
            target[place] -= taken
        else:
            total = target[place] + shifted
            over = total < shifted
            total += carry
            carry = ONE if over or total < carry else NOTHING
            target[place] = total


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
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step) != NOTHING:
            word = word >> np.uint64(step)
            bits += step
    return bits + (1 if word != NOTHING else 0)


@inner
def count_bits(source, at, width):
    """Bits without the sign: a number with so many fits a width of more than so many bits."""
    sign = ALL_ONES if is_negative(source, at, width) else NOTHING
    for i in range(width - 1, -1, -1):
        word = source[at + i] ^ sign
        if word != NOTHING:
            return i * WORD + bits_of_word(word)
    return 0
