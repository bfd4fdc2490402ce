"""Pairs of events and members of the other side, found by sorted values.

Members are cut into chunks, each sorted by value. Between its least and its largest value a chunk has buckets of one
width, with four values in each on average: where a value would stand is read from a table, not searched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.stopping import is_to_stop

#: A chunk has 2 ** so many times fewer buckets than members.
_PER_BUCKET = 2
#: The members of an event are sorted here where there are no more of them.
_FEW = 32
#: Values that are sorted by insertion.
_RUN = 16


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
        scale: Buckets per unit of value; 0 where values are too near or too far from each other for more than one.
    """

    values: np.ndarray
    members: np.ndarray
    finite: np.ndarray
    present: np.ndarray
    table: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scale: np.ndarray


def sort_into_chunks(given: np.ndarray, bits: int) -> Chunks:
    """Values in chunks of 2 ** bits, as `Chunks` has them: dealt out to buckets, and sorted in each of these.

    Args:
        given: The values of members in their order; infinity for those that are always looked at, NaN for those that
            never are.
        bits: A chunk has 2 ** so many members.
    """
    return Chunks(*_sort_into_chunks(given, bits))


@outer
def _sort_into_chunks(given, bits):
    size, buckets = 1 << bits, 1 << (bits - _PER_BUCKET)
    count = (given.size + size - 1) >> bits
    values = np.full(count * size, np.nan)
    members = np.zeros(count * size, np.int64)
    finite, present = np.zeros(count, np.int64), np.zeros(count, np.int64)
    table = np.zeros(count * (buckets + 1), np.int32)
    low, high, scale = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count)
    place = np.zeros(buckets + 1, np.int64)
    spare, spare_members = np.empty(size, np.float64), np.empty(size, np.int64)
    for chunk in range(count):
        start, stop = chunk << bits, min((chunk + 1) << bits, given.size)
        least, most, known = np.inf, -np.inf, 0
        for member in range(start, stop):
            if np.isfinite(given[member]):
                least, most, known = min(least, given[member]), max(most, given[member]), known + 1
        low[chunk], high[chunk], finite[chunk] = least, most, start + known
        if most > least and 0 < buckets / (most - least) < np.inf:
            scale[chunk] = buckets / (most - least)
        place[:] = 0
        for member in range(start, stop):
            if np.isfinite(given[member]):
                place[find_bucket(given[member], least, scale[chunk], buckets) + 1] += 1
        first = chunk * (buckets + 1)
        for bucket in range(1, buckets + 1):
            place[bucket] += place[bucket - 1]
            table[first + bucket] = place[bucket]
        always = finite[chunk]
        for member in range(start, stop):
            value = given[member]
            if np.isfinite(value):
                bucket = find_bucket(value, least, scale[chunk], buckets)
                values[start + place[bucket]], members[start + place[bucket]] = value, member
                place[bucket] += 1
            elif not np.isnan(value):
                values[always], members[always] = np.inf, member
                always += 1
        present[chunk] = always
        for bucket in range(first, first + buckets):
            begin, end = start + table[bucket], start + table[bucket + 1]
            if end - begin > 1:
                sort_bucket(values, members, begin, end, spare, spare_members)
    return values, members, finite, present, table, low, high, scale


@inner
def find_bucket(value, least, scale, buckets):
    """The bucket of a value that is not below the least one of its chunk."""
    return min(np.int64((value - least) * scale), buckets - 1) if scale > 0 else 0


@inner
def sort_bucket(values, members, begin, end, spare, spare_members):
    """Sort a stretch of values, and members with them: short runs by insertion, which are then merged."""
    for first in range(begin, end, _RUN):
        for place in range(first + 1, min(first + _RUN, end)):
            value, member, before = values[place], members[place], place - 1
            while before >= first and values[before] > value:
                values[before + 1], members[before + 1] = values[before], members[before]
                before -= 1
            values[before + 1], members[before + 1] = value, member
    length = _RUN
    while length < end - begin:
        for first in range(begin, end - length, 2 * length):
            middle, last = first + length, min(first + 2 * length, end)
            for place in range(first, middle):
                spare[place - first], spare_members[place - first] = values[place], members[place]
            one, other, place = 0, middle, first
            while one < length:
                if other < last and values[other] < spare[one]:
                    values[place], members[place] = values[other], members[other]
                    other += 1
                else:
                    values[place], members[place] = spare[one], spare_members[one]
                    one += 1
                place += 1
        length *= 2


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
        if found >= limit or is_to_stop():
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
                    bucket += find_bucket(least, chunks.low[chunk], chunks.scale[chunk], buckets)
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
