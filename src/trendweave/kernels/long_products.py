"""Products of small factors, of any size, which factors enter and leave.

A product is twos and an odd part, so that factors of 2 cost nothing. The odd part is kept in limbs of 32 bits, in an
array of uint64, the lowest first.
"""

import numpy as np

from trendweave.kernels.compiling import inner

LIMB = np.uint64(32)
MASK = np.uint64(2**32 - 1)


@inner
def multiply_by(limbs, used, factor):
    """Multiply the first `used` limbs by a factor below 2**32; returns how many limbs are used then."""
    carry = np.uint64(0)
    for i in range(used):
        x = limbs[i] * factor + carry
        limbs[i] = x & MASK
        carry = x >> LIMB
    if carry != np.uint64(0):
        limbs[used] = carry
        used += 1
    return used


@inner
def divide_by(limbs, used, factor):
    """Divide by one of the factors, from the highest limb down; returns how many limbs are used then."""
    rest = np.uint64(0)
    for i in range(used - 1, -1, -1):
        x = (rest << LIMB) | limbs[i]
        limbs[i] = x // factor
        rest = x - limbs[i] * factor
    return used - 1 if used > 1 and limbs[used - 1] == np.uint64(0) else used


@inner
def write_one_less(limbs, used, twos, words, at):
    """Write the odd part times 2**twos, less 1, into words of 64 bits that are 0: below the odd part, which loses its
    lowest bit, all bits are set."""
    for i in range(twos >> 6):
        words[at + i] = ~np.uint64(0)
    if twos & 63:
        words[at + (twos >> 6)] = (np.uint64(1) << np.uint64(twos & 63)) - np.uint64(1)
    for i in range(used):
        limb = limbs[i]
        if i == 0:
            limb -= np.uint64(1)
        if limb == np.uint64(0):
            continue
        bit = twos + 32 * i
        word, shift = at + (bit >> 6), np.uint64(bit & 63)
        words[word] |= limb << shift
        if shift > LIMB and limb >> (np.uint64(64) - shift) != np.uint64(0):
            words[word + 1] |= limb >> (np.uint64(64) - shift)
