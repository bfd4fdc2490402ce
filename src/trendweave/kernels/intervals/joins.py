"""Matches of a pattern over situations: a multi-way join by binary search (thesis, Algorithms 5.2 to 5.4).

Situations of one kind and partition are disjoint, so they are sorted by both of their ends. Seen from a situation A,
those of another kind come in five stretches, each found by a binary search: those before A, those that begin no later
than A and reach it, those inside A, those that begin inside A and outlast it or begin with its end, and those after A.
A constraint allows some of the stretches; several constraints allow what all of them do.

Certainty needs no search of its own. A match is certain as soon as each of its parts is: a situation of sufficient
length, a pair whose relation is known (one of them has ended) or does not matter any more (both run, and whatever their
ends will be, the constraint allows it). So the moment of detection is the latest of these moments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.intervals.situations import RUNNING
from trendweave.kernels.searching import first_not_below

ANY = (1 << 13) - 1
# Relations of A to B, by the stretch that B lies in; bits in the order of Allen's relations from before to after.
BEFORE_B = 1 << 0
MEETS, OVERLAPS, FINISHED_BY, CONTAINS = 1 << 1, 1 << 2, 1 << 3, 1 << 4
AFTER_B = 1 << 12
_BEGINS_EARLIER = (1 << 5) | (1 << 6) | (1 << 7) | (1 << 8) | (1 << 9) | (1 << 10) | (1 << 11)
_OUTLASTS = MEETS | OVERLAPS | FINISHED_BY
_NO_MOMENT = -RUNNING


class Buffers(NamedTuple):
    """Situations of all kinds, by (kind, partition, start). `certain` is when a situation counts at all.

    `low[k, p]` and `high[k, p]` bound the situations of kind k and partition p that are looked at. `disjoint` says
    whether situations of one kind and partition never overlap; given intervals may.
    """

    start: np.ndarray
    end: np.ndarray
    certain: np.ndarray
    low: np.ndarray
    high: np.ndarray
    disjoint: bool


class Matches(NamedTuple):
    """One situation of each kind per row, and when the match was certain. `tried` and `passed` count, per step of the
    order, the candidates and those that fulfil all constraints; `complete` is False where there were too many."""

    situation: np.ndarray
    moment: np.ndarray
    tried: np.ndarray
    passed: np.ndarray
    complete: bool


@inner
def _first_start_after(start: np.ndarray, low: int, high: int, moment: int) -> int:
    """The first with start > moment."""
    while low < high:
        middle = (low + high) >> 1
        if start[middle] <= moment:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def certain_moment(a_start: int, a_end: int, b_start: int, b_end: int, mask: int) -> int:
    """When the constraint between two situations is certain; _NO_MOMENT where it does not hold, or not yet.

    While both run, only the order of their starts is known; what can become of them is one of three neighbouring
    relations (the prefix groups of Table 5.2).
    """
    if a_end <= b_start:
        relation = 0 if a_end < b_start else 1
        return b_start if (mask >> relation) & 1 else _NO_MOMENT
    if b_end <= a_start:
        relation = 12 if b_end < a_start else 11
        return a_start if (mask >> relation) & 1 else _NO_MOMENT
    if a_start < b_start:
        lowest, later = 2, b_start
    elif a_start == b_start:
        lowest, later = 5, a_start
    else:
        lowest, later = 8, a_start
    if (mask >> lowest) & 7 == 7:
        return later
    if a_end == RUNNING and b_end == RUNNING:
        return _NO_MOMENT
    relation = lowest + 1
    if a_end < b_end:
        relation = lowest
    elif a_end > b_end:
        relation = lowest + 2
    return min(a_end, b_end) if (mask >> relation) & 1 else _NO_MOMENT


@inner
def _stretches(
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
    inside = _first_start_after(start, reach, high, a_start)
    beyond = _first_start_after(start, inside, high, a_end) if a_end != RUNNING else high
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
def _intersected(ranges: np.ndarray, count: int, other: np.ndarray, others: int, result: np.ndarray) -> int:
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


@inner
def _candidates(
    buffers: Buffers,
    order: np.ndarray,
    allowed: np.ndarray,
    depth: int,
    partition: int,
    chosen: np.ndarray,
    earliest: int,
    latest: int,
    bounded: bool,
    ranges: np.ndarray,
    scratch: np.ndarray,
) -> int:
    """Fills ranges[depth] with what all constraints to the chosen situations, and the window, leave of a buffer."""
    kind = order[depth]
    low, high = buffers.low[kind, partition], buffers.high[kind, partition]
    if bounded:
        low = first_not_below(buffers.start, low, high, earliest)
        high = _first_start_after(buffers.start, low, high, latest)
    if low >= high:
        return 0
    ranges[depth, 0, 0], ranges[depth, 0, 1] = low, high
    count = 1
    for before in range(depth):
        mask = allowed[order[before], kind]
        if mask == ANY:
            continue
        other = chosen[before]
        found = _stretches(
            buffers.start, buffers.end, ranges[depth, 0, 0], ranges[depth, count - 1, 1],
            buffers.start[other], buffers.end[other], mask, buffers.disjoint, scratch[0],
        )  # fmt: skip
        size = _intersected(ranges[depth], count, scratch[0], found, scratch[1])
        for i in range(size):
            ranges[depth, i, 0], ranges[depth, i, 1] = scratch[1, i, 0], scratch[1, i, 1]
        count = size
        if count == 0:
            return 0
    return count


@outer
def _match(
    buffers: Buffers,
    order: np.ndarray,
    written: np.ndarray,
    allowed: np.ndarray,
    bounded: bool,
    within: int,
    most: int,
    tried: np.ndarray,
    passed: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    kinds = order.size
    room = 4 + 4 * kinds
    result = np.empty((256, kinds), np.int64)
    moments = np.empty(256, np.int64)
    size = 0
    chosen = np.empty(kinds, np.int64)
    moment = np.empty(kinds, np.int64)
    first = np.empty(kinds, np.int64)
    ranges = np.empty((kinds, room, 2), np.int64)
    scratch = np.empty((2, room, 2), np.int64)
    counts = np.zeros(kinds, np.int64)
    current = np.zeros(kinds, np.int64)
    place = np.zeros(kinds, np.int64)
    start, end, certain = buffers.start, buffers.end, buffers.certain
    for partition in range(buffers.low.shape[1]):
        empty = False
        for kind in range(kinds):
            if buffers.low[kind, partition] >= buffers.high[kind, partition]:
                empty = True
        if empty:
            continue
        counts[0], current[0] = 1, 0
        ranges[0, 0, 0], ranges[0, 0, 1] = buffers.low[order[0], partition], buffers.high[order[0], partition]
        place[0] = ranges[0, 0, 0]
        depth = 0
        while depth >= 0:
            if current[depth] >= counts[depth]:
                depth -= 1
                continue
            if place[depth] >= ranges[depth, current[depth], 1]:
                current[depth] += 1
                if current[depth] < counts[depth]:
                    place[depth] = ranges[depth, current[depth], 0]
                continue
            candidate = place[depth]
            place[depth] += 1
            tried[depth] += 1
            latest_moment = certain[candidate]
            earliest_start = start[candidate]
            holds = True
            if depth > 0:
                latest_moment = max(latest_moment, moment[depth - 1])
                earliest_start = min(earliest_start, first[depth - 1])
                for before in range(depth):
                    mask = written[order[before], order[depth]]
                    if mask == ANY:
                        continue
                    other = chosen[before]
                    known = certain_moment(start[other], end[other], start[candidate], end[candidate], mask)
                    if known == _NO_MOMENT:
                        holds = False
                        break
                    latest_moment = max(latest_moment, known)
            if not holds or latest_moment == RUNNING or (bounded and latest_moment - earliest_start > within):
                continue
            passed[depth] += 1
            chosen[depth], moment[depth], first[depth] = candidate, latest_moment, earliest_start
            if depth == kinds - 1:
                if size == most:
                    return result, moments, size, False
                if size == result.shape[0]:
                    capacity = min(2 * size, most)
                    larger = np.empty((capacity, kinds), np.int64)
                    larger[:size] = result
                    result = larger
                    longer = np.empty(capacity, np.int64)
                    longer[:size] = moments
                    moments = longer
                for i in range(kinds):
                    result[size, order[i]] = chosen[i]
                moments[size] = latest_moment
                size += 1
                continue
            depth += 1
            counts[depth] = _candidates(
                buffers, order, allowed, depth, partition, chosen, latest_moment - within, earliest_start + within,
                bounded, ranges, scratch,
            )  # fmt: skip
            current[depth] = 0
            if counts[depth]:
                place[depth] = ranges[depth, 0, 0]
    return result, moments, size, True


def match_situations(
    buffers: Buffers,
    order: tuple[int, ...],
    written: np.ndarray,
    allowed: np.ndarray,
    within: int | None,
    most: int,
) -> Matches:
    """All matches. `written[i, j]` is the constraint of the query between kinds i and j, `allowed` what agrees with all
    constraints; `within` bounds the time from the earliest start to the detection."""
    tried, passed = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    result, moments, size, complete = _match(
        buffers, np.array(order, np.int64), written, allowed, within is not None, within or 0, most, tried, passed
    )
    return Matches(result[:size], moments[:size], tried, passed, complete)
