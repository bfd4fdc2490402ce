"""Rows with the same letters go the same way: letters are numbered, and what a number means is written down once.

A pattern of letters has one entry per class that reads it. Where all bundles of the class read it at the same
positions, the entry's bits say at which; else every bundle has its own bits.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.growing import grow

DIFFERS = -1


class Patterns(NamedTuple):
    """What each pattern of letters means.

    entry_from      per pattern: its entries
    entry_class     the class that reads
    entry_bits      bit p: at position p; DIFFERS: bundles differ
    entry_accept    where the bits per bundle begin in `accept`, if bundles differ
    empty_from      per pattern: registers that its rows empty
    """

    entry_from: np.ndarray
    entry_class: np.ndarray
    entry_bits: np.ndarray
    entry_accept: np.ndarray
    accept: np.ndarray
    empty_from: np.ndarray
    empty_class: np.ndarray
    empty_register: np.ndarray


@inner
def hash_letters(letters, relevant, row):
    mixed = np.uint64(1469598103934665603)
    for word in range(letters.shape[1]):
        mixed = (mixed ^ (letters[row, word] & relevant[word])) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed ^ (mixed >> np.uint64(29))
    return mixed


@inner
def same_letters(letters, relevant, one, other):
    for word in range(letters.shape[1]):
        if (letters[one, word] ^ letters[other, word]) & relevant[word] != 0:
            return False
    return True


@outer
def number_patterns(letters, relevant):
    """(number of each row's letters, a row for each number). Letters that mean nothing are not looked at."""
    count = letters.shape[0]
    number = np.empty(count, np.int32)
    example = np.empty(16, np.int64)
    table = np.full(64, -1, np.int64)
    found = 0
    for row in range(count):
        if row > 0 and same_letters(letters, relevant, row - 1, row):
            number[row] = number[row - 1]
            continue
        mask = np.uint64(table.size - 1)
        place = hash_letters(letters, relevant, row) & mask
        while table[place] >= 0 and not same_letters(letters, relevant, example[table[place]], row):
            place = (place + np.uint64(1)) & mask
        if table[place] < 0:
            if found == example.size:
                example = grow(example, 2 * found)
            example[found] = row
            table[place] = found
            found += 1
            if 2 * found > table.size:
                table = np.full(4 * table.size, -1, np.int64)
                mask = np.uint64(table.size - 1)
                for i in range(found):
                    place = hash_letters(letters, relevant, example[i]) & mask
                    while table[place] >= 0:
                        place = (place + np.uint64(1)) & mask
                    table[place] = i
            number[row] = found - 1
        else:
            number[row] = table[place]
    return number, example[:found].copy()


@outer
def read_patterns(letters, example, readers, bundle_from):
    """What the pattern of each example row means."""
    classes = bundle_from.size - 1
    bits = np.zeros(bundle_from[classes], np.int64)
    seen = np.zeros(classes, np.bool_)
    touched = np.empty(classes, np.int64)
    entry_from = np.zeros(example.size + 1, np.int64)
    empty_from = np.zeros(example.size + 1, np.int64)
    entry = np.empty((16, 3), np.int64)
    accept = np.empty(64, np.int64)
    empty = np.empty((16, 2), np.int64)
    entries, accepts, empties = 0, 0, 0
    for i in range(example.size):
        count = 0
        for letter in range(readers.read_from.size - 1):
            if (letters[example[i], letter // 64] >> np.uint64(letter % 64)) & np.uint64(1) == 0:
                continue
            for j in range(readers.read_from[letter], readers.read_from[letter + 1]):
                bits[readers.read_bundle[j]] |= 1 << readers.read_position[j]
                if not seen[readers.read_class[j]]:
                    seen[readers.read_class[j]] = True
                    touched[count] = readers.read_class[j]
                    count += 1
            for j in range(readers.empty_from[letter], readers.empty_from[letter + 1]):
                if empties == empty.shape[0]:
                    empty = grow(empty, 2 * empties)
                empty[empties, 0] = readers.empty_class[j]
                empty[empties, 1] = readers.empty_register[j]
                empties += 1
        for j in range(count):
            c = touched[j]
            seen[c] = False
            first, end = bundle_from[c], bundle_from[c + 1]
            same = True
            for bundle in range(first, end):
                same = same and bits[bundle] == bits[first]
            if entries == entry.shape[0]:
                entry = grow(entry, 2 * entries)
            entry[entries, 0] = c
            entry[entries, 1] = bits[first] if same else DIFFERS
            entry[entries, 2] = accepts
            entries += 1
            if not same:
                while accepts + end - first > accept.size:
                    accept = grow(accept, 2 * accept.size)
                for bundle in range(first, end):
                    accept[accepts] = bits[bundle]
                    accepts += 1
            for bundle in range(first, end):
                bits[bundle] = 0
        entry_from[i + 1] = entries
        empty_from[i + 1] = empties
    return (
        entry_from, entry[:entries, 0].copy(), entry[:entries, 1].copy(), entry[:entries, 2].copy(),
        accept[:accepts].copy(), empty_from, empty[:empties, 0].copy(), empty[:empties, 1].copy(),
    )  # fmt: skip


def find_patterns(letters: np.ndarray, readers, bundle_from: np.ndarray) -> tuple[np.ndarray, Patterns]:
    """The number of each row's pattern, and what the numbers mean."""
    words = letters.shape[1]
    relevant = np.zeros(words, np.uint64)
    for letter in range(readers.read_from.size - 1):
        used = readers.read_from[letter] < readers.read_from[letter + 1]
        if used or readers.empty_from[letter] < readers.empty_from[letter + 1]:
            relevant[letter // 64] |= np.uint64(1) << np.uint64(letter % 64)
    number, example = number_patterns(letters, relevant)
    return number, Patterns(*read_patterns(letters, example, readers, bundle_from))


@outer
def find_borders(window_first, window_last):
    """Whether a row lies in other windows, of any kind, than the row before it."""
    border = np.zeros(window_first.shape[1], np.bool_)
    for kind in range(window_first.shape[0]):
        for row in range(1, window_first.shape[1]):
            border[row] |= (window_first[kind, row] != window_first[kind, row - 1]) | (
                window_last[kind, row] != window_last[kind, row - 1]
            )
    return border
