"""Numbers that are spread evenly over 64 bits and depend on nothing but what they are made of."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import inlined_late, outer

# Multipliers and shifts of MurmurHash3's finishing steps; START is the golden ratio's fraction.
START = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_WORD = np.uint64(8)
_ONE = np.uint64(1)


@inlined_late
def _mix(number: np.uint64) -> np.uint64:
    """Each bit of the result depends on all bits; different numbers stay different."""
    number ^= number >> _SHIFT
    number *= _FIRST
    number ^= number >> _SHIFT
    number *= _SECOND
    return number ^ (number >> _SHIFT)


@outer
def _add_words(hashes: np.ndarray, words: np.ndarray) -> None:
    for row in range(hashes.size):
        hashes[row] = _mix(hashes[row] ^ words[row])


@outer
def _hash_texts(offsets: np.ndarray, data: np.ndarray, hashes: np.ndarray) -> None:
    """Eight bytes at a time, the first one lowest; the rest with zeros behind it. Unsigned places need no test for
    negative ones. The length is spread over all bits, so that it and the first word do not cancel out."""
    for row in range(hashes.size):
        place, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        result = START ^ ((end - place) * _FIRST)
        while end - place >= _WORD:
            word = np.uint64(0)
            for byte in range(8):
                word |= np.uint64(data[place + np.uint64(byte)]) << np.uint64(8 * byte)
            result = _mix(result ^ word)
            place += _WORD
        word = np.uint64(0)
        while end > place:
            end -= _ONE
            word = (word << _WORD) | np.uint64(data[end])
        hashes[row] = _mix(result ^ word)


@outer
def _hash_lists(offsets: np.ndarray, words: np.ndarray, hashes: np.ndarray) -> None:
    for row in range(hashes.size):
        result = START ^ (np.uint64(offsets[row + 1] - offsets[row]) * _FIRST)
        for place in range(offsets[row], offsets[row + 1]):
            result = _mix(result ^ words[place])
        hashes[row] = _mix(result)


def add_words(hashes: np.ndarray, words: np.ndarray) -> None:
    """Make each hash depend on one more word, in place."""
    with np.errstate(over="ignore"):
        _add_words(hashes, read_only(words))


def hash_texts(offsets: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Hash runs of bytes: run i is data[offsets[i] : offsets[i + 1]]."""
    hashes = np.empty(offsets.size - 1, np.uint64)
    with np.errstate(over="ignore"):
        _hash_texts(read_only(offsets), read_only(data), hashes)
    return hashes


def hash_lists(offsets: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Hash runs of words, in the same way."""
    hashes = np.empty(offsets.size - 1, np.uint64)
    with np.errstate(over="ignore"):
        _hash_lists(read_only(offsets), read_only(words), hashes)
    return hashes
