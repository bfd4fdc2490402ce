"""Where situations lie that are in some relation to another one, and when that relation is certain.

Situations of one kind and partition are disjoint, so they are sorted by both of their ends. Seen from a situation A,
those of another kind come in five stretches, each found by a binary search: those before A, those that begin no later
than A and reach it, those inside A, those that begin inside A and outlast it or begin with its end, and those after A.
A constraint allows some of the stretches; several constraints allow what all of them do.

Certainty needs no search of its own. A match is certain as soon as each of its parts is: a situation of sufficient
length, a pair whose relation is known (one of them has ended) or does not matter any more (both run, and whatever their
ends will be, the constraint allows it). So the moment of detection is the latest of these moments.
"""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.intervals.situations import RUNNING
from trendweave.kernels.searching import first_not_below

ANY = (1 << 13) - 1
# Relations of A to B, by the stretch that B lies in; bits in the order of Allen's relations from before to after.
BEFORE_B = 1 << 0
MEETS, OVERLAPS, FINISHED_BY, CONTAINS = 1 << 1, 1 << 2, 1 << 3, 1 << 4
AFTER_B = 1 << 12
_BEGINS_EARLIER = (1 << 5) | (1 << 6) | (1 << 7) | (1 << 8) | (1 << 9) | (1 << 10) | (1 << 11)
_OUTLASTS = MEETS | OVERLAPS | FINISHED_BY
#: When a constraint is certain that does not hold.
NO_MOMENT = -RUNNING


@inner
def certain_moment(a_start: int, a_end: int, b_start: int, b_end: int, mask: int) -> int:
    """When the constraint between two situations is certain; NO_MOMENT where it does not hold, or not yet.

    While both run, only the order of their starts is known; what can become of them is one of three neighbouring
    relations (the prefix groups of Table 5.2).
    """
    if a_end <= b_start:
        relation = 0 if a_end < b_start else 1
        return b_start if (mask >> relation) & 1 else NO_MOMENT
    if b_end <= a_start:
        relation = 12 if b_end < a_start else 11
        return a_start if (mask >> relation) & 1 else NO_MOMENT
    if a_start < b_start:
        lowest, later = 2, b_start
    elif a_start == b_start:
        lowest, later = 5, a_start
    else:
        lowest, later = 8, a_start
    if (mask >> lowest) & 7 == 7:
        return later
    if a_end == RUNNING and b_end == RUNNING:
        return NO_MOMENT
    relation = lowest + 1
    if a_end < b_end:
        relation = lowest
    elif a_end > b_end:
        relation = lowest + 2
    return min(a_end, b_end) if (mask >> relation) & 1 else NO_MOMENT


@inner
def find_stretches(
    start: np.ndarray,
    end: np.ndarray,
    low: int,
    high: int,
    a_start: int,
    a_end: int,
    mask: int,
    disjoint: bool,
    found: np.ndarray,
) -> int:
    """Index ranges of the situations in low .. high that can be one of `mask` to A, neighbours joined; their number."""
    reach = first_not_below(end, low, high, a_start) if disjoint else low
    inside = first_not_below(start, reach, high, a_start + 1)
    beyond = first_not_below(start, inside, high, a_end + 1) if a_end != RUNNING else high
    outlast = first_not_below(end, inside, beyond, a_end) if disjoint else inside
    count = 0
    for part in range(5):
        if part == 0:
            first, last, allowed = low, reach, AFTER_B
        elif part == 1:
            first, last, allowed = reach, inside, _BEGINS_EARLIER
            if not disjoint:
                allowed |= AFTER_B
        elif part == 2:
            first, last, allowed = inside, outlast, CONTAINS
        elif part == 3:
            first, last, allowed = outlast, beyond, _OUTLASTS
            if not disjoint:
                allowed |= CONTAINS
        else:
            first, last, allowed = beyond, high, BEFORE_B
        if first >= last or not mask & allowed:
            continue
        if count and found[count - 1, 1] == first:
            found[count - 1, 1] = last
        else:
            found[count, 0], found[count, 1] = first, last
            count += 1
    return count


@inner
def intersect(ranges: np.ndarray, count: int, other: np.ndarray, others: int, result: np.ndarray) -> int:
    """Fills `result` with what two lists of ranges share; their number."""
    i = j = size = 0
    while i < count and j < others:
        first = max(ranges[i, 0], other[j, 0])
        last = min(ranges[i, 1], other[j, 1])
        if first < last:
            result[size, 0], result[size, 1] = first, last
            size += 1
        if ranges[i, 1] < other[j, 1]:
            i += 1
        else:
            j += 1
    return size
