"""Sorting rows by small numbers, and by time where these are equal, with NumPy alone.

A number and the place of its row, in the lowest bits, make one word: NumPy sorts plain words several at a time, and as
no two are equal, rows of equal numbers keep their order. What is too wide for one word goes by its lower bits first.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

#: NumPy sorts numbers of so many bits by counting, which is faster than any comparison.
_COUNTED_BITS = 16


def stable_order(codes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows sorted by codes 0 .. count-1, equal codes in their order, and where each code starts (count + 1)."""
    codes = np.ascontiguousarray(codes, np.int64)
    starts = _starts(codes, count)
    if count <= 1:
        return np.arange(codes.size), starts
    if count <= 1 << _COUNTED_BITS:
        return np.argsort(codes.astype(np.uint16), kind="stable"), starts
    return order_by_words([(codes, count - 1)]), starts


def find_in_order(codes: np.ndarray, times: np.ndarray, count: int, codes_in_order: bool) -> np.ndarray | None:
    """Where each code starts (count + 1), if the rows of each stand together and in order of time; else None.

    `codes_in_order`: rows must stand in the order of codes too. Otherwise all codes below `count` must occur.
    """
    if codes.size == 0:
        return np.zeros(count + 1, np.int64)
    steps = codes[1:] != codes[:-1]
    if codes_in_order:
        if (codes[1:] < codes[:-1]).any() or ((times[1:] < times[:-1]) & ~steps).any():
            return None
        return _starts(codes, count)
    # Codes have one run each iff there are as many runs as codes.
    if np.count_nonzero(steps) != count - 1 or ((times[1:] < times[:-1]) & ~steps).any():
        return None
    return np.concatenate([[0], np.flatnonzero(steps) + 1, [codes.size]])


def order_by_time(codes: np.ndarray, times: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows sorted by codes 0 .. count-1 and by time where they are equal, where each code starts, and the times in
    this order. Rows of one code and time stay in their order."""
    if (times[1:] >= times[:-1]).all():
        order, starts = stable_order(codes, count)
        return order, starts, times.take(order)
    least = int(times.min())
    # The difference of two numbers of 64 bits has 64 bits, if it is read without a sign.
    since = times.view(np.uint64) - np.uint64(least % 2**64)
    order = order_by_words([(since, int(times.max()) - least), (codes, count - 1)])
    return order, _starts(codes, count), times.take(order)


def _starts(codes: np.ndarray, count: int) -> np.ndarray:
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=count), out=starts[1:])
    return starts


def order_by_words(columns: Iterable[tuple[np.ndarray, int]]) -> np.ndarray:
    """The order of rows by columns of numbers from 0 up to the largest of each; the last column counts most."""
    place_bits, order = 0, np.empty(0, np.int64)
    word, used = None, 0
    for numbers, largest in columns:
        if word is None:
            word = np.zeros(numbers.size, np.uint64)
            place_bits = (numbers.size - 1).bit_length()
        left, numbers = largest.bit_length(), numbers.view(np.uint64)
        done = 0
        while left > 0:
            width = min(left, 64 - place_bits - used)
            if width == 0:
                order = _sort_words(word, place_bits, order)
                word, used = np.zeros(numbers.size, np.uint64), 0
                continue
            part = (numbers if order.size == 0 else numbers[order]) >> np.uint64(done)
            part &= ~np.uint64(0) >> np.uint64(64 - width)
            part <<= np.uint64(used + place_bits)
            word |= part
            used, done, left = used + width, done + width, left - width
    assert word is not None
    return _sort_words(word, place_bits, order)


def _sort_words(words: np.ndarray, place_bits: int, order: np.ndarray) -> np.ndarray:
    """The order of rows by their words, whose lowest bits are free; among equal ones the order so far."""
    words |= np.arange(words.size, dtype=np.uint64)
    words.sort()
    words &= np.uint64((1 << place_bits) - 1)
    places = words.view(np.int64)
    return places if order.size == 0 else order[places]
