"""Pairs of events and members of the other side, found by sorted values."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import outer


@outer
def find_in_bands(low, high, first, last, values, members, finite, present, size, limit):
    """Pairs of which the member lies in the event's range and has a value between two, or one that is infinite.

    Args:
        low: Per event, the first of its members.
        high: Up to but without this one.
        first: The least value that it looks for.
        last: The largest.
        values: Values of members, sorted within chunks of `size`.
        members: The members in this order.
        finite: Where in each chunk those begin that are always looked at.
        present: Where in each chunk those begin that never are.
        size: The length of a chunk.
        limit: So many pairs are enough.

    Returns:
        How many events were looked at, and events and members of the pairs.
    """
    event = np.empty(1024, np.int64)
    member = np.empty(1024, np.int64)
    found = 0
    for number in range(low.size):
        if found >= limit:
            return number, event[:found], member[:found]
        begin, end = low[number], high[number]
        least, most = first[number], last[number]
        for chunk in range(begin // size, (end - 1) // size + 1):
            place, stop = chunk * size, finite[chunk]
            left = stop - place
            while left > 0:
                half = left >> 1
                if values[place + half] < least:
                    place += half + 1
                    left -= half + 1
                else:
                    left = half
            if found + size > event.size:
                event, member = grow(event, found + size), grow(member, found + size)
            while place < stop and values[place] <= most:
                other = members[place]
                if begin <= other < end:
                    event[found] = number
                    member[found] = other
                    found += 1
                place += 1
            for place in range(stop, present[chunk]):
                other = members[place]
                if begin <= other < end:
                    event[found] = number
                    member[found] = other
                    found += 1
    return low.size, event[:found], member[:found]


@outer
def grow(numbers, least):
    """The same numbers with room for more."""
    more = np.empty(max(least, 2 * numbers.size), np.int64)
    more[: numbers.size] = numbers
    return more
