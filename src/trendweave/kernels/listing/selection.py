"""Which of the trends that were found are taken: the first one of each beginning, beginnings that are not taken away by
another trend, and marks by which a sample is drawn while trends are found.

Trends come as arrays, one after the other: trend i is `starts[i]:starts[i + 1]` of `ticks` and `variables`. A tick is a
time of one partition, so trends of a window that begin with the same tick are of the same partition.
"""

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.draws import random_bits

#: Which beginnings a taken trend takes away: its own, all up to its last event, those before an event of a variable.
TO_NEXT, PAST_LAST, TO_FIRST, TO_LAST = range(4)
#: Before every tick.
NOTHING_TAKEN = -1


@inlined_late
def compare_trends(starts, ticks, variables, one, other, shortest):
    """Below 0 where one of two trends that begin together comes first, 0 where they are equal in times and variables.

    The one that ends last comes first, then the one of more events (`shortest`: the other way round); then times are
    compared one by one, then variables.
    """
    sign = 1 if shortest else -1
    difference = ticks[starts[one + 1] - 1] - ticks[starts[other + 1] - 1]
    if difference != 0:
        return sign * difference
    length = starts[one + 1] - starts[one]
    difference = length - (starts[other + 1] - starts[other])
    if difference != 0:
        return sign * difference
    for i in range(length):
        difference = ticks[starts[one] + i] - ticks[starts[other] + i]
        if difference != 0:
            return difference
    for i in range(length):
        difference = np.int64(variables[starts[one] + i]) - np.int64(variables[starts[other] + i])
        if difference != 0:
            return difference
    return np.int64(0)


@inner
def mark_first_of_beginnings(order, window, starts, ticks, variables, shortest, taken):
    """Mark, per window and first tick, the trend that comes first and those that are equal to it.

    order  trends sorted by window and first tick
    taken  out: comes as False
    """
    low = 0
    while low < order.size:
        best = order[low]
        first = ticks[starts[best]]
        high = low + 1
        while high < order.size and window[order[high]] == window[best] and ticks[starts[order[high]]] == first:
            if compare_trends(starts, ticks, variables, order[high], best, shortest) < 0:
                best = order[high]
            high += 1
        for i in range(low, high):
            if compare_trends(starts, ticks, variables, order[i], best, shortest) == 0:
                taken[order[i]] = True
        low = high


@inlined_late
def taken_until(starts, ticks, variables, trend, kind, variable):
    """The last tick at which no other trend may begin once this one is taken."""
    first, last = ticks[starts[trend]], ticks[starts[trend + 1] - 1]
    if kind == PAST_LAST:
        return last
    until = first
    if kind == TO_FIRST or kind == TO_LAST:
        for i in range(starts[trend], starts[trend + 1]):
            if variables[i] == variable:
                until = max(first, ticks[i] - 1)
                if kind == TO_FIRST:
                    break
    return until


@inner
def mark_after_skips(order, window, partition, starts, ticks, variables, kind, variable, limit, reached, taken):
    """Mark the trends that are taken one after the other, where each takes beginnings away.

    order  trends sorted by window and first tick; of each beginning only those that come first
    limit  per partition, the last tick at which none may begin from the outset
    reached  out: the same after all that was taken
    taken  out: comes as False
    """
    until, own = np.int64(NOTHING_TAKEN), np.int64(NOTHING_TAKEN)
    for i in range(order.size):
        trend = order[i]
        before = order[i - 1]
        if i == 0 or window[trend] != window[before] or partition[trend] != partition[before]:
            until, own = limit[partition[trend]], np.int64(NOTHING_TAKEN)
        first = ticks[starts[trend]]
        if first <= until and first != own:
            continue
        taken[trend] = True
        own = first
        until = max(until, taken_until(starts, ticks, variables, trend, kind, variable))
        reached[partition[trend]] = max(reached[partition[trend]], until)


@inner
def mark_at_random(starts, moments, variables, seeds, marks):
    """A number per trend that looks random, and is a function of its seed, times and variables alone."""
    for trend in range(starts.size - 1):
        mark = seeds[trend]
        for i in range(starts[trend], starts[trend + 1]):
            mark = random_bits(mark ^ moments[i], np.int64(variables[i]))
        marks[trend] = mark
