"""Packs: numbers that lie side by side, worked on at once in vector registers.

A pack is eight numbers of an array (int64 or float64), or a single one where vectors have but one lane; functions here
take both, so that a loop is written once. LLVM finds out by itself that a loop can be worked on in vectors, but only
for one whose length it can count, with a remainder for what is no whole number of vectors and a check that its arrays
do not overlap: for forty numbers at a time these cost more than the additions. What a pack is to the processor (one
register, two or four) is left to LLVM.

Here is what loops do that are interpreted; `numba_packs` says the same to LLVM.
"""

import numpy as np

from trendweave.stopping import STOPS

LANES = 8


def spread(number):
    """A pack of eight times the number."""
    return np.full(LANES, number)


def load(pack, array, at):
    """The numbers of the array from `at` on, in the form of the given pack."""
    return array[at : at + LANES].copy() if isinstance(pack, np.ndarray) else array[at]


def store(array, at, pack):
    """Write a pack into the array, from `at` on."""
    if isinstance(pack, np.ndarray):
        array[at : at + LANES] = pack
    else:
        array[at] = pack


def add(pack, other):
    """Their sums."""
    return pack + other


def shift_down(pack, bits):
    """What is left of integers without their lowest bits."""
    return pack >> bits


def keep_bits(pack, mask):
    """The bits of integers that the mask has, too."""
    return pack & mask


def any_set(pack):
    """Whether any integer is not 0."""
    return bool(np.any(pack))


def put_between(pack, lane, first, end, others):
    """The numbers of lanes from `first` to before `end`, those of another pack on others; the first number is that of
    `lane`."""
    lanes = lane + np.arange(np.size(pack)).reshape(np.shape(pack))
    return np.where((lanes >= first) & (lanes < end), pack, others)[()]


def join_bits(pack, other):
    """The bits that either of them has."""
    return pack | other


def magnitude_bits(pack):
    """The bits of integers, those of negative ones turned over."""
    return pack ^ (pack >> 63)


def all_bits(pack):
    """The bits that any of the integers has."""
    return np.bitwise_or.reduce(np.atleast_1d(pack))


def times(pack, number):
    """Products with the number; 0 stays 0, also if the number is infinite or none."""
    return np.where(pack != 0, pack * number, np.zeros_like(pack))[()]


def larger(pack, other):
    """The larger ones of integers."""
    return np.maximum(pack, other)


def raise_others(pack, number, nothing):
    """Integers that are raised to the number where they are smaller, but for those that are `nothing`."""
    return np.where(pack == nothing, pack, np.maximum(pack, number))[()]


def stops(place):
    """A number of the list of threads that are to stop."""
    return STOPS[place]


def current_thread():
    """The number of this thread in that list; none here, as interpreted loops look themselves (`Kernel`)."""
    return 0
