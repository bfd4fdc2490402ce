"""Packs: numbers that lie side by side, worked on at once in vector registers.

A pack is eight numbers of an array (int64 or float64). LLVM finds out by itself that a loop can be worked on in
vectors, but only for one whose length it can count, with a remainder for what is no whole number of vectors and a check
that its arrays do not overlap: for forty numbers at a time these cost more than the additions. What a pack is to the
processor (one register, two or four) is left to LLVM.

Packs have the operators + & | ^ and >>, whose other operand is a pack or one integer; so what is done to a number is
written as what is done to a pack. Here is what else loops do that are interpreted; `numba_packs` says the same to LLVM.
"""

import numpy as np

from trendweave.stopping import STOPS

LANES = 8


def spread(number):
    """A pack of eight times the number."""
    return np.full(LANES, number)


def load(pack, array, at):
    """The numbers of the array from `at` on, which are of the type of the given pack."""
    return array[at : at + LANES].copy()


def store(array, at, pack):
    """Write a pack into the array, from `at` on."""
    array[at : at + LANES] = pack


def differs(pack, other):
    """Whether any number differs from that of another pack."""
    return bool((pack != other).any())


def put_between(pack, lane, first, end, others):
    """The numbers of lanes from `first` to before `end`, those of another pack on others; the first number is that of
    `lane`."""
    lanes = lane + np.arange(LANES)
    return np.where((lanes >= first) & (lanes < end), pack, others)


def all_bits(pack):
    """The bits that any of the integers has."""
    return np.bitwise_or.reduce(pack)


def times(pack, number):
    """Products with the number; 0 stays 0, also if the number is infinite or none."""
    return np.where(pack != 0, pack * number, np.zeros_like(pack))


def larger(pack, other):
    """The larger ones of integers."""
    return np.maximum(pack, other)


def raise_others(pack, number, nothing):
    """Integers that are raised to the number where they are smaller, but for those that are `nothing`."""
    return np.where(pack == nothing, pack, np.maximum(pack, number))


def stops(place):
    """A number of the list of threads that are to stop."""
    return STOPS[place]


def current_thread():
    """The number of this thread in that list; none here, as interpreted loops look themselves (`Kernel`)."""
    return 0
