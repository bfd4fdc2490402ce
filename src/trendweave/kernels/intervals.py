"""Matches of a pattern over situations: a multi-way join by binary search (thesis, Algorithms 5.2 to 5.4).

Situations of one kind and partition are disjoint, so they are sorted by both of their ends. Seen from a situation A,
those of another kind come in five stretches, each found by a binary search: those before A, those that begin no later
than A and reach it, those inside A, those that begin inside A and outlast it or begin with its end, and those after A.
A constraint allows some of the stretches, and candidates are looked for from the first to the last of them; several
constraints leave what all of them do. Given intervals may overlap: only their starts are sorted, and the second and the
fourth stretch take what would lie in the first and the third.

Certainty needs no search of its own. A match is certain as soon as each of its parts is: a situation of sufficient
length, a pair whose relation is known (one of them has ended) or does not matter any more (both run, and whatever their
ends will be, the constraint allows it). So the moment of detection is the latest of these moments.

The order in which kinds are joined follows the data, so it is an argument: one loop serves all patterns and orders.
"""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.growing import grow
from trendweave.kernels.searching import first_not_below
from trendweave.kernels.stopping import is_to_stop

#: The end of a situation that still runs.
RUNNING = np.iinfo(np.int64).max
#: When a constraint is certain that does not hold.
NO_MOMENT = -RUNNING
ANY = (1 << 13) - 1
# Which relations A has to the situations of each stretch; bits in the order of Allen's relations from before to after.
_BEFORE, _CONTAINS, _AFTER = 1 << 0, 1 << 4, 1 << 12
_OUTLASTED, _BEGINS_NO_EARLIER = 0b1110, 0b111111100000
_DISJOINT = (_AFTER, _BEGINS_NO_EARLIER, _CONTAINS, _OUTLASTED, _BEFORE)
_OVERLAPPING = (_AFTER, _BEGINS_NO_EARLIER | _AFTER, _CONTAINS, _OUTLASTED | _CONTAINS, _BEFORE)
#: Matches that there is room for at first.
_FIRST_MATCHES = 256
# The columns of the search: the situation that is chosen, the latest moment and the earliest start of the choice so
# far, the next candidate and the end of the candidates, and how many of them fulfilled all constraints.
_CHOSEN, _MOMENT, _FIRST, _NEXT, _END, PASSED = range(6)


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
def _find_related(
    start: np.ndarray, end: np.ndarray, a_start: int, a_end: int, mask: int, disjoint: bool, low: int, high: int
) -> tuple[int, int]:
    """Cut a range of situations down to those from the first to the last that can be one of `mask` to A."""
    reaching = first_not_below(end, low, high, a_start) if disjoint else low
    inside = first_not_below(start, reaching, high, a_start + 1)
    after = first_not_below(start, inside, high, a_end + 1) if a_end != RUNNING else high
    outlasting = first_not_below(end, inside, after, a_end) if disjoint else inside
    edges = (low, reaching, inside, outlasting, after, high)
    allowed = _DISJOINT if disjoint else _OVERLAPPING
    first, last = 0, 5
    while first < last and not mask & allowed[first]:
        first += 1
    while first < last and not mask & allowed[last - 1]:
        last -= 1
    return edges[first], edges[last]


@outer
def match_situations(
    start: np.ndarray, end: np.ndarray, certain: np.ndarray, low: np.ndarray, high: np.ndarray, disjoint: bool,
    order: np.ndarray, written: np.ndarray, allowed: np.ndarray, within: int, most: int,
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray, bool]:  # fmt: skip
    """Find all matches by a depth-first search.

    Args:
        start: When each situation began, by kind, partition and start.
        end: When it ended, or RUNNING.
        certain: When it counts at all.
        low: Where the situations of each kind and partition begin that are looked at.
        high: Where they end.
        disjoint: Whether situations of one kind and partition never overlap.
        order: The order in which kinds are joined.
        written: `written[i, j]` is the constraint of the query between kinds i and j.
        allowed: What agrees with all constraints.
        within: Bounds the time from the earliest start to the detection; below 0: nothing does.
        most: More matches than these are not looked for.

    Returns:
        One situation of each kind per match and its moment, in arrays that may be longer; the number of matches; the
        columns of the search, a line per step of the order; and False where there are more than `most`.
    """
    kinds = order.size
    search = np.zeros((kinds, 6), np.int64)
    result = np.empty((_FIRST_MATCHES, kinds), np.int64)
    moments = np.empty(_FIRST_MATCHES, np.int64)
    size = 0
    for partition in range(low.shape[1]):
        depth = 0
        for kind in range(kinds):
            if low[kind, partition] >= high[kind, partition]:
                depth = -1
        search[0, _NEXT], search[0, _END] = low[order[0], partition], high[order[0], partition]
        while depth >= 0:
            if is_to_stop():
                return result, moments, size, search, False
            candidate = search[depth, _NEXT]
            if candidate >= search[depth, _END]:
                depth -= 1
                continue
            search[depth, _NEXT] = candidate + 1

            # Does it fulfil the constraints to those that are chosen, and is that certain in time?
            moment, first = certain[candidate], start[candidate]
            if depth > 0:
                moment, first = max(moment, search[depth - 1, _MOMENT]), min(first, search[depth - 1, _FIRST])
            fits = True
            for before in range(depth):
                mask = written[order[before], order[depth]]
                if mask != ANY:
                    other = search[before, _CHOSEN]
                    known = certain_moment(start[other], end[other], start[candidate], end[candidate], mask)
                    fits = known != NO_MOMENT
                    if not fits:
                        break
                    moment = max(moment, known)
            if not fits or moment == RUNNING or (within >= 0 and moment - first > within):
                continue
            search[depth, _CHOSEN], search[depth, _MOMENT], search[depth, _FIRST] = candidate, moment, first
            search[depth, PASSED] += 1

            if depth == kinds - 1:
                if size == most:
                    return result, moments, size, search, False
                if size == moments.size:
                    result, moments = grow(result, min(2 * size, most)), grow(moments, min(2 * size, most))
                for i in range(kinds):
                    result[size, order[i]] = search[i, _CHOSEN]
                moments[size] = moment
                size += 1
                continue

            # What all constraints to the chosen situations, and the window, leave of the next kind.
            depth += 1
            kind = order[depth]
            begin, until = low[kind, partition], high[kind, partition]
            if within >= 0:
                begin = first_not_below(start, begin, until, moment - within)
                until = first_not_below(start, begin, until, first + within + 1)
            for before in range(depth):
                mask = allowed[order[before], kind]
                if begin < until and mask != ANY:
                    other = search[before, _CHOSEN]
                    begin, until = _find_related(start, end, start[other], end[other], mask, disjoint, begin, until)
            search[depth, _NEXT], search[depth, _END] = begin, until
    return result, moments, size, search, True
