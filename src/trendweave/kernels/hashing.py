"""Numbers that are spread evenly over 64 bits and depend on nothing but what they are made of."""

from __future__ import annotations

import numpy as np

# Multipliers and shifts of MurmurHash3's finishing steps; START is the golden ratio's fraction.
START = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_WORD = 8


def _mix(numbers: np.ndarray) -> np.ndarray:
    """In place: each bit of a result depends on all bits; different numbers stay different."""
    numbers ^= numbers >> _SHIFT
    numbers *= _FIRST
    numbers ^= numbers >> _SHIFT
    numbers *= _SECOND
    numbers ^= numbers >> _SHIFT
    return numbers


def add_words(hashes: np.ndarray, words: np.ndarray) -> None:
    """Make each hash depend on one more word, in place."""
    hashes ^= words
    _mix(hashes)


def hash_texts(offsets: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Hash runs of bytes: run i is data[offsets[i] : offsets[i + 1]].

    Eight bytes at a time, the first one lowest; the rest with zeros behind it.
    """
    lengths, begin = np.diff(offsets), int(offsets[0])
    padded = np.zeros(int(offsets[-1]) - begin + _WORD, np.uint8)
    padded[:-_WORD] = data[begin : int(offsets[-1])]
    words = np.ndarray(padded.size - _WORD + 1, "<u8", padded, strides=(1,))  # one begins at each byte
    places, rest = offsets[:-1] - begin, lengths % _WORD
    hashes = _hash_runs(places, lengths // _WORD, _WORD, words, _begin(lengths))
    mask = (np.uint64(1) << (rest * _WORD).astype(np.uint64)) - np.uint64(1)
    return _mix(hashes ^ (words[places + lengths - rest] & mask))


def hash_lists(offsets: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Hash runs of words, in the same way."""
    lengths = np.diff(offsets)
    return _mix(_hash_runs(offsets[:-1], lengths, 1, words, _begin(lengths)))


def _begin(lengths: np.ndarray) -> np.ndarray:
    """The length is spread over all bits, so that it and the first word do not cancel out."""
    return START ^ (lengths.astype(np.uint64) * _FIRST)


def _hash_runs(places: np.ndarray, counts: np.ndarray, step: int, words: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Make each hash depend on so many words from a place on, in place."""
    rows, done = np.flatnonzero(counts > 0), 0
    while rows.size:
        hashes[rows] = _mix(hashes[rows] ^ words[places[rows] + done * step])
        done += 1
        rows = rows[counts[rows] > done]
    return hashes
