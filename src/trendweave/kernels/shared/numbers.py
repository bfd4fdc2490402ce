"""Vectors of numbers, one per lane, in one array, and what can be done with them.

Kinds of numbers: LINEAR ones are added and multiplied (float64; int64; or limbs of 28 bits in int64, least significant
first, one vector per limb). EXTREMUM ones are added by keeping the larger and multiplied by keeping the larger too,
except that NO_TREND, which adds nothing, also absorbs what it is multiplied with: a place without trends has no largest
value.

Limbs may grow beyond 28 bits and below zero until `settle` carries what is too much; after it all but the last
are in [0, 2**28) and the last is between -2**28 and 2**28.

Indexes are unsigned: Numba checks signed ones for being negative.
"""

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.inputs import NO_TREND, NO_VALUE

LINEAR = 0
EXTREMUM = 1

LIMB_BITS = 28
SETTLED = 2.0**LIMB_BITS
MOST = 2.0**61  # no int64 gets larger than this, as far as bounds can tell


@inner
def fill(numbers, at, length, kind):
    """Set to what adds nothing."""
    to = np.uint64(at)
    value = 0 if kind == LINEAR else NO_TREND
    for i in range(np.uint64(length)):
        numbers[to + i] = value


@inner
def copy(numbers, at, source_at, length):
    to, come = np.uint64(at), np.uint64(source_at)
    for i in range(np.uint64(length)):
        numbers[to + i] = numbers[come + i]


@inner
def add(numbers, at, source_at, length, kind):
    to, come = np.uint64(at), np.uint64(source_at)
    if kind == LINEAR:
        for i in range(np.uint64(length)):
            numbers[to + i] += numbers[come + i]
    else:
        for i in range(np.uint64(length)):
            numbers[to + i] = max(numbers[to + i], numbers[come + i])


@inner
def add_multiple(numbers, at, factor, source_at, length):
    """Add factor * source, where what is not there is not multiplied: infinity times nothing is nothing."""
    to, come = np.uint64(at), np.uint64(source_at)
    for i in range(np.uint64(length)):
        number = numbers[come + i]
        numbers[to + i] += factor * number if number != 0 else number


@inner
def raise_to(numbers, at, code, length):
    """No trend stays none; else the larger of both."""
    to = np.uint64(at)
    for i in range(np.uint64(length)):
        number = numbers[to + i]
        numbers[to + i] = number if number == NO_TREND else max(number, code)


@inner
def add_product(numbers, at, factor, source_at, length, kind):
    """Add factor * source for a factor of a track, which is finite."""
    to, come = np.uint64(at), np.uint64(source_at)
    if kind == LINEAR:
        for i in range(np.uint64(length)):
            numbers[to + i] += factor * numbers[come + i]
    else:
        for i in range(np.uint64(length)):
            number = numbers[come + i]
            numbers[to + i] = max(numbers[to + i], number if number == NO_TREND else max(number, factor))


@inner
def double_and_add(numbers, at, source_at, length):
    """2 * target + source: a state that only follows itself and what is outside."""
    to, come = np.uint64(at), np.uint64(source_at)
    for i in range(np.uint64(length)):
        numbers[to + i] += numbers[to + i] + numbers[come + i]


@inner
def scale_and_add(numbers, at, factor, other, source_at, length):
    """factor * target + other * source."""
    to, come = np.uint64(at), np.uint64(source_at)
    for i in range(np.uint64(length)):
        numbers[to + i] = factor * numbers[to + i] + other * numbers[come + i]


@inner
def largest(numbers, at, length):
    """The largest magnitude."""
    come = np.uint64(at)
    high, low = np.int64(0), np.int64(0)
    for i in range(np.uint64(length)):
        high = max(high, numbers[come + i])
        low = min(low, numbers[come + i])
    return max(float(high), -float(low))


@inner
def settle(numbers, at, lanes, limbs, room):
    """Carry over in `limbs` vectors of so many lanes; returns how many limbs there are now, room + 1 if there is no
    room for them."""
    mask = np.int64((1 << LIMB_BITS) - 1)
    limb = 0
    while True:
        if limb + 1 >= limbs and largest(numbers, at + limb * lanes, lanes) < SETTLED:
            return limb + 1
        if limb + 1 == room:
            return room + 1
        to, step = np.uint64(at + limb * lanes), np.uint64(lanes)
        for i in range(step):
            number = numbers[to + i]
            numbers[to + i] = number & mask
            numbers[to + step + i] += number >> LIMB_BITS
        limb += 1


__all__ = [
    "EXTREMUM", "LIMB_BITS", "LINEAR", "MOST", "NO_TREND", "NO_VALUE", "SETTLED", "add", "add_multiple", "add_product",
    "copy", "double_and_add", "fill", "largest", "raise_to", "scale_and_add", "settle",
]  # fmt: skip
