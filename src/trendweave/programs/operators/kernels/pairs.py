"""Pairs of events and members of the other side, found by sorted values.

Members are cut into chunks, each sorted by value. Between its least and its largest value a chunk has buckets of one
width, with four values in each on average: where a value would stand is read from a table, not searched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import outer

#: A chunk has 2 ** so many times fewer buckets than members.
_PER_BUCKET = 2
#: The members of an event are sorted here where there are no more of them.
_FEW = 32


class Chunks(NamedTuple):
    """Members in chunks.

    Attributes:
        values: Their values, sorted within chunks of 2 ** bits: finite ones, then infinity for members that are always
            looked at, then NaN for those that never are.
        members: The members in this order.
        finite: Where in each chunk infinity begins.
        present: Where in each chunk NaN begins.
        table: Per chunk and bucket, how many values of the chunk stand before it; then how many there are.
        low: The least value of each chunk.
        high: The largest.
        scale: Buckets per unit of value.
    """

    values: np.ndarray
    members: np.ndarray
    finite: np.ndarray
    present: np.ndarray
    table: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scale: np.ndarray


@outer
def index_chunks(values, finite, bits):
    """Table, least and largest values and scales of sorted chunks, as `Chunks` has them."""
    buckets = 1 << (bits - _PER_BUCKET)
    table = np.zeros(finite.size * (buckets + 1), np.int32)
    low = np.full(finite.size, np.inf)
    high = np.full(finite.size, -np.inf)
    scale = np.zeros(finite.size)
    for chunk in range(finite.size):
        start, stop = chunk << bits, finite[chunk]
        if start == stop:
            continue
        least = low[chunk] = values[start]
        high[chunk] = values[stop - 1]
        width = high[chunk] - least
        if width > 0 and buckets / width < np.inf:
            scale[chunk] = buckets / width
        first, bucket = chunk * (buckets + 1), 0
        for place in range(start, stop):
            own = min(np.int64((values[place] - least) * scale[chunk]), buckets - 1)
            while bucket <= own:
                table[first + bucket] = place - start
                bucket += 1
        while bucket <= buckets:
            table[first + bucket] = stop - start
            bucket += 1
    return table, low, high, scale


@outer
def find_in_bands(low, high, first, last, chunks, bits, limit):
    """Pairs of which the member lies in the event's range and has a value between two, or one that is infinite.

    Args:
        low: Per event, the first of its members.
        high: Up to but without this one.
        first: The least value that it looks for.
        last: The largest.
        chunks: The members.
        bits: A chunk has 2 ** so many.
        limit: So many pairs are enough.

    Returns:
        How many events were looked at, and events and members of the pairs.
    """
    size, buckets = 1 << bits, 1 << (bits - _PER_BUCKET)
    event = np.empty(1024, np.int64)
    member = np.empty(1024, np.int64)
    found = 0
    for number in range(low.size):
        if found >= limit:
            return number, event[:found], member[:found]
        begin, end = low[number], high[number]
        least, most = first[number], last[number]
        own = found
        for chunk in range(begin >> bits, ((end - 1) >> bits) + 1):
            if found + size > event.size:
                event, member = grow(event, found + size), grow(member, found + size)
            start, stop = chunk << bits, chunks.finite[chunk]
            if least <= chunks.high[chunk] and most >= chunks.low[chunk]:
                bucket = chunk * (buckets + 1)
                if least > chunks.low[chunk]:
                    bucket += min(np.int64((least - chunks.low[chunk]) * chunks.scale[chunk]), buckets - 1)
                # Values of earlier buckets are less than the least, those of later ones are not.
                place = start + chunks.table[bucket]
                left = start + chunks.table[bucket + 1] - place
                while left > 8:
                    half = left >> 1
                    place = place + half if chunks.values[place + half - 1] < least else place
                    left -= half
                while place < stop and chunks.values[place] < least:
                    place += 1
                while place < stop and chunks.values[place] <= most:
                    other = chunks.members[place]
                    if begin <= other < end:
                        event[found] = number
                        member[found] = other
                        found += 1
                    place += 1
            for place in range(stop, chunks.present[chunk]):
                other = chunks.members[place]
                if begin <= other < end:
                    event[found] = number
                    member[found] = other
                    found += 1
        if found - own <= _FEW:
            sort_few(member, own, found)
    return low.size, event[:found], member[:found]


@outer
def sort_few(numbers, first, last):
    """Sort a short stretch of numbers."""
    for place in range(first + 1, last):
        number = numbers[place]
        before = place - 1
        while before >= first and numbers[before] > number:
            numbers[before + 1] = numbers[before]
            before -= 1
        numbers[before + 1] = number


@outer
def grow(numbers, least):
    """The same numbers with room for more."""
    more = np.empty(max(least, 2 * numbers.size), np.int64)
    more[: numbers.size] = numbers
    return more
