"""Which trends are taken: the first one of each beginning, beginnings that are not taken away by another trend, and
marks by which a sample is drawn while trends are found.

All trends are found, and come as arrays: trend i is `starts[i]:starts[i + 1]` of `ticks`, `variables` and `places`. A
tick is a time of one partition. The place of an event is different for each row, and in the order of those of one tick.
Where only those that are taken are found, `take` does it.
"""

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.lists.contiguous import PAST_LAST, TO_FIRST, TO_LAST
from trendweave.kernels.lists.sample import random_bits
from trendweave.kernels.lists.take import NOTHING_TAKEN


@inlined_late
def compare_trends(starts, ticks, variables, places, one, other, shortest):
    """Below 0 where one of two trends that begin with the same event comes first.

    The one that ends last comes first (`shortest`: first); then events are compared one by one: times, variables, and
    the places of rows.
    """
    difference = ticks[starts[one + 1] - 1] - ticks[starts[other + 1] - 1]
    if difference != 0:
        return difference if shortest else -difference
    for i in range(min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])):
        left, right = starts[one] + i, starts[other] + i
        difference = ticks[left] - ticks[right]
        if difference == 0:
            difference = np.int64(variables[left]) - np.int64(variables[right])
        if difference == 0:
            difference = places[left] - places[right]
        if difference != 0:
            return difference
    return np.int64(0)


@inner
def mark_first_of_beginnings(order, window, starts, ticks, variables, places, shortest, taken):
    """Mark, per window and first event, the trend that comes first.

    order  trends sorted by window and the place of their first event
    taken  out: comes as False
    """
    low = 0
    while low < order.size:
        best = order[low]
        first = places[starts[best]]
        high = low + 1
        while high < order.size and window[order[high]] == window[best] and places[starts[order[high]]] == first:
            if compare_trends(starts, ticks, variables, places, order[high], best, shortest) < 0:
                best = order[high]
            high += 1
        taken[best] = True
        low = high


@inlined_late
def taken_until(starts, ticks, variables, trend, kind, variable):
    """The last tick at which no other event may begin a trend once this one is taken; NOTHING_TAKEN where each may."""
    if kind == PAST_LAST:
        return ticks[starts[trend + 1] - 1]
    until = np.int64(NOTHING_TAKEN)
    if kind == TO_FIRST or kind == TO_LAST:
        for i in range(starts[trend], starts[trend + 1]):
            if variables[i] == variable:
                until = ticks[i] - 1 if i > starts[trend] else np.int64(NOTHING_TAKEN)
                if kind == TO_FIRST:
                    break
    return until


@inner
def mark_after_skips(order, window, partition, starts, ticks, variables, kind, variable, limit, reached, taken):
    """Mark the trends that are taken one after the other, where each takes beginnings away.

    order  trends in the order in which they are taken, by window and partition; one of each first event
    limit  per partition, the last tick at which none may begin from the outset
    reached  out: the same after all that was taken
    taken  out: comes as False
    """
    until = np.int64(NOTHING_TAKEN)
    for i in range(order.size):
        trend = order[i]
        before = order[i - 1]
        if i == 0 or window[trend] != window[before] or partition[trend] != partition[before]:
            until = limit[partition[trend]]
        if ticks[starts[trend]] <= until:
            continue
        taken[trend] = True
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
