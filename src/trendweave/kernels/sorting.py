"""Sorting rows by small numbers, and by time where these are equal: counting is enough.

Rows are dealt out to their keys by counting, which keeps their order. Then the rows of each key are sorted by time:
few by insertion; more as words that hold the time and, in their lowest bits, the place of the row, so that one array is
sorted and equal times keep their order.
"""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.word_sorting import MOST_BUCKETS, sort_words

#: So few rows are sorted by insertion; measured between 8 and 64, the time hardly differs.
_FEW = 24
#: So few rows in all are sorted by NumPy, in some hundred microseconds: nobody waits for the compiler for that.
_FEW_IN_ALL = 2_000


@outer
def _counted(codes: np.ndarray, starts: np.ndarray, order: np.ndarray) -> None:
    for code in codes:
        starts[code + 1] += 1
    for i in range(1, starts.size):
        starts[i] += starts[i - 1]
    place = starts.copy()
    for row in range(codes.size):
        order[place[codes[row]]] = row
        place[codes[row]] += 1


@outer
def _found_in_order(codes: np.ndarray, times: np.ndarray, starts: np.ndarray, codes_in_order: bool) -> bool:
    run = -1
    for row in range(codes.size):
        if row > 0 and codes[row] == codes[row - 1]:
            if times[row] < times[row - 1]:
                return False
        elif codes_in_order:
            if row > 0 and codes[row] < codes[row - 1]:
                return False
            while run < codes[row]:
                run += 1
                starts[run] = row
        else:
            # Codes have one run each iff there are as many runs as codes.
            run += 1
            if run == starts.size - 1:
                return False
            starts[run] = row
    while run < starts.size - 1:
        run += 1
        starts[run] = codes.size
    return True


@outer
def _sorted_by_time(
    codes: np.ndarray, moments: np.ndarray, starts: np.ndarray, order: np.ndarray, times: np.ndarray
) -> None:
    largest = 0
    for code in codes:
        starts[code + 1] += 1
    for i in range(1, starts.size):
        largest = max(largest, starts[i])
        starts[i] += starts[i - 1]
    place = starts.copy()
    for row in range(codes.size):
        at = place[codes[row]]
        order[at] = row
        times[at] = moments[row]
        place[codes[row]] = at + 1
    words, spare = np.empty(largest, np.uint64), np.empty(largest, np.uint64)
    rows = np.empty(largest, np.int64)
    counts = np.empty(MOST_BUCKETS + 1, np.int64)
    for code in range(starts.size - 1):
        _sort_run(order, times, starts[code], starts[code + 1], words, spare, rows, counts)


@inner
def _sort_run(
    order: np.ndarray,
    times: np.ndarray,
    low: int,
    high: int,
    words: np.ndarray,
    spare: np.ndarray,
    rows: np.ndarray,
    counts: np.ndarray,
) -> None:
    ascending = True
    least = most = times[low] if low < high else 0
    for i in range(low + 1, high):
        ascending &= times[i] >= times[i - 1]
        least, most = min(least, times[i]), max(most, times[i])
    if ascending:
        return
    if high - low <= _FEW:
        _insert_all(order, times, low, high)
        return
    place_bits = _bits(np.uint64(high - low - 1))
    # The difference of two numbers of 64 bits has 64 bits, if it is read without a sign.
    time_bits = _bits(np.uint64(most) - np.uint64(least))
    if place_bits + time_bits <= 64:
        _sort_by_bits(order, times, low, high, least, 0, time_bits, place_bits, words, spare, rows, counts)
        return
    # Too wide for one word: by their lower bits, then by the others.
    half = 64 - place_bits
    for first in range(0, time_bits, half):
        bits = min(half, time_bits - first)
        _sort_by_bits(order, times, low, high, least, first, bits, place_bits, words, spare, rows, counts)


@inner
def _insert_all(order: np.ndarray, times: np.ndarray, low: int, high: int) -> None:
    for i in range(low + 1, high):
        time, row, at = times[i], order[i], i
        while at > low and times[at - 1] > time:
            times[at], order[at] = times[at - 1], order[at - 1]
            at -= 1
        times[at], order[at] = time, row


@inner
def _bits(number: np.uint64) -> int:
    """How many bits a number has."""
    bits = 0
    while number > 0:
        number >>= np.uint64(1)
        bits += 1
    return bits


@inner
def _sort_by_bits(
    order: np.ndarray,
    times: np.ndarray,
    low: int,
    high: int,
    least: int,
    first: int,
    bits: int,
    place_bits: int,
    words: np.ndarray,
    spare: np.ndarray,
    rows: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Sort by some bits of the time since `least`."""
    size = high - low
    # All ones, of as many bits: a shift by 64 is no shift.
    of_time = ~np.uint64(0) >> np.uint64(64 - bits)
    of_place = ~np.uint64(0) >> np.uint64(64 - place_bits)
    base, width, skipped = np.uint64(least), np.uint64(place_bits), np.uint64(first)
    for i in range(size):
        since = ((np.uint64(times[low + i]) - base) >> skipped) & of_time
        words[i] = (since << width) | np.uint64(i)
    sort_words(words, size, spare, counts, place_bits, bits)
    for i in range(size):
        rows[i] = order[low + i]
        spare[i] = np.uint64(times[low + i])
    for i in range(size):
        place = np.int64(words[i] & of_place)
        order[low + i] = rows[place]
        times[low + i] = np.int64(spare[place])


def stable_order(codes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows sorted by codes 0 .. count-1, equal codes in their order, and where each code starts (count + 1)."""
    starts = np.zeros(count + 1, np.int64)
    order = np.empty(codes.size, np.int64)
    _counted(read_only(np.ascontiguousarray(codes, np.int64)), starts, order)
    return order, starts


def find_in_order(codes: np.ndarray, times: np.ndarray, count: int, codes_in_order: bool) -> np.ndarray | None:
    """Where each code starts (count + 1), if the rows of each stand together and in order of time; else None.

    `codes_in_order`: rows must stand in the order of codes too. Otherwise all codes below `count` must occur.
    """
    starts = np.empty(count + 1, np.int64)
    found = _found_in_order(read_only(codes), read_only(times), starts, codes_in_order)
    return starts if found else None


def order_by_time(codes: np.ndarray, times: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows sorted by codes 0 .. count-1 and by time where they are equal, where each code starts, and the times in
    this order. Rows of one code and time stay in their order."""
    if codes.size <= _FEW_IN_ALL:
        order = np.lexsort((times, codes))
        return order, np.searchsorted(codes[order], np.arange(count + 1)), times[order]
    starts = np.zeros(count + 1, np.int64)
    order, ordered = np.empty(codes.size, np.int64), np.empty(codes.size, np.int64)
    with np.errstate(over="ignore"):
        _sorted_by_time(read_only(codes), read_only(times), starts, order, ordered)
    return order, starts, ordered
