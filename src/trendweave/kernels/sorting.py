"""Sorting rows by small numbers, and by time where these are equal; numbers for values and times, in the order in
which rows have them, or in that of floats. All with NumPy alone.

A number and the place of its row, in the lowest bits, make one word: NumPy sorts plain words several at a time, and
as no two are equal, rows of equal numbers keep their order. What is too wide for one word goes by its lower bits
first.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

#: So many rows per value are numbered before it is looked whether that was enough.
_FIRST_ROWS = 8


def list_ranges(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The numbers of all ranges, one range after the other: so many from each first one on."""
    ends = np.cumsum(counts)
    return np.repeat(first - (ends - counts), counts) + np.arange(int(ends[-1]) if ends.size else 0)


def find_starts(*columns: np.ndarray) -> np.ndarray:
    """Where rows begin that have a number which the row before does not have."""
    begins = np.zeros(columns[0].size, np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(begins)


def number_near(numbers: np.ndarray, known: np.ndarray | None, least: int, most: int) -> np.ndarray:
    """Number int64 numbers of `least` .. `most` by their first rows, from 0 without gaps; NULL is a value of its own.
    Takes four bytes for each number between the two."""
    places, different = numbers - least, most - least + 2
    if known is not None:
        places = np.where(known, places, most - least + 1)
    # Few values mostly occur among the first rows; all others are only looked up then.
    for looked_at in (places[: _FIRST_ROWS * different], places):
        first = np.full(different, -1, np.int32)
        first[looked_at[::-1]] = np.arange(looked_at.size - 1, -1, -1, dtype=np.int32)  # what is written last stays
        present = np.flatnonzero(first >= 0)
        codes = np.full(different, -1)
        codes[present[np.argsort(first[present])]] = np.arange(present.size)
        found = codes.take(places)
        if looked_at.size == places.size or found.min() >= 0:
            break
    return found


def number_present(numbers: np.ndarray, highest: int) -> tuple[np.ndarray, np.ndarray]:
    """Number int64 numbers of 0 .. highest - 1 by their order: the place of each among those that occur, and those.
    Takes some bytes for each number below the highest."""
    present = np.zeros(highest, np.bool_)
    present[numbers] = True
    return (np.cumsum(present) - 1).take(numbers), np.flatnonzero(present)


def number_ticks(times: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the different times of each segment, all segments one after the other; and the time of each number."""
    new = np.ones(times.size, np.bool_)
    np.not_equal(times[1:], times[:-1], out=new[1:])
    new[starts[:-1][starts[:-1] < times.size]] = True
    return np.cumsum(new) - 1, times[new]


def ordered_bits(numbers: np.ndarray) -> np.ndarray:
    """Write floats as integers in the same order; -0.0 is 0.0, and NaN is the largest.

    Args:
        numbers: The floats.

    Returns:
        The integers.
    """
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def from_ordered_bits(codes: np.ndarray) -> np.ndarray:
    """Read the floats that `ordered_bits` wrote.

    Args:
        codes: The integers.

    Returns:
        The floats.
    """
    return np.where(codes < 0, codes ^ np.int64(2**63 - 1), codes).view(np.float64)


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
