"""Matches of a pattern over situations: a multi-way join by binary search (thesis, Algorithms 5.2 to 5.4).

The stretches of situations that a constraint allows are found by binary search; several constraints allow what all of
them do. Certainty needs no search of its own: the moment of detection is the latest moment at which a situation or a
constraint became certain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner, outer
from trendweave.kernels.growing import grow
from trendweave.kernels.intervals.situations import RUNNING
from trendweave.kernels.intervals.stretches import ANY, NO_MOMENT, certain_moment, find_stretches, intersect
from trendweave.kernels.searching import first_not_below
from trendweave.kernels.stopping import is_to_stop

#: Matches that there is room for at first.
_FIRST_MATCHES = 256


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


class Join(NamedTuple):
    """What is joined: situations, the order of kinds, the constraint of the query between two kinds, what agrees with
    all constraints, and the window."""

    buffers: Buffers
    order: np.ndarray
    written: np.ndarray
    allowed: np.ndarray
    bounded: bool
    within: int


class Levels(NamedTuple):
    """The stack of the search, a level per kind in the order of evaluation: the situation that is chosen, the latest
    moment and the earliest start of the choice so far, the ranges that are left to try, and where the search is."""

    chosen: np.ndarray
    moment: np.ndarray
    first: np.ndarray
    ranges: np.ndarray  # int64[kinds, ranges, 2]
    count: np.ndarray  # ranges of the level
    current: np.ndarray  # the range
    place: np.ndarray  # the next situation in it
    tried: np.ndarray
    passed: np.ndarray


@inlined_late
def _open_level(levels: Levels, depth: int, count: int) -> None:
    """Begin with the first of a level's ranges."""
    levels.count[depth], levels.current[depth] = count, 0
    if count:
        levels.place[depth] = levels.ranges[depth, 0, 0]


@inlined_late
def _next_candidate(levels: Levels, depth: int) -> int:
    """The next situation of a level, or -1."""
    while levels.current[depth] < levels.count[depth]:
        place = levels.place[depth]
        if place < levels.ranges[depth, levels.current[depth], 1]:
            levels.place[depth] = place + 1
            return place
        levels.current[depth] += 1
        if levels.current[depth] < levels.count[depth]:
            levels.place[depth] = levels.ranges[depth, levels.current[depth], 0]
    return -1


@inlined_late
def _choose(join: Join, levels: Levels, depth: int, candidate: int) -> bool:
    """Choose a situation, if it fulfils the constraints to those that are chosen, and if that is certain in time."""
    start, end = join.buffers.start, join.buffers.end
    moment, first = join.buffers.certain[candidate], start[candidate]
    if depth > 0:
        moment, first = max(moment, levels.moment[depth - 1]), min(first, levels.first[depth - 1])
    for before in range(depth):
        mask = join.written[join.order[before], join.order[depth]]
        if mask == ANY:
            continue
        other = levels.chosen[before]
        known = certain_moment(start[other], end[other], start[candidate], end[candidate], mask)
        if known == NO_MOMENT:
            return False
        moment = max(moment, known)
    if moment == RUNNING or (join.bounded and moment - first > join.within):
        return False
    levels.chosen[depth], levels.moment[depth], levels.first[depth] = candidate, moment, first
    return True


@inner
def _list_candidates(join: Join, levels: Levels, depth: int, partition: int, scratch: np.ndarray) -> int:
    """Fills the ranges of a level with what all constraints to the chosen situations, and the window, leave of a
    buffer; their number."""
    buffers, ranges = join.buffers, levels.ranges[depth]
    kind = join.order[depth]
    low, high = buffers.low[kind, partition], buffers.high[kind, partition]
    if join.bounded:
        low = first_not_below(buffers.start, low, high, levels.moment[depth - 1] - join.within)
        high = first_not_below(buffers.start, low, high, levels.first[depth - 1] + join.within + 1)
    if low >= high:
        return 0
    ranges[0, 0], ranges[0, 1] = low, high
    count = 1
    for before in range(depth):
        mask = join.allowed[join.order[before], kind]
        if mask == ANY:
            continue
        other = levels.chosen[before]
        found = find_stretches(
            buffers.start, buffers.end, ranges[0, 0], ranges[count - 1, 1],
            buffers.start[other], buffers.end[other], mask, buffers.disjoint, scratch[0],
        )  # fmt: skip
        count = intersect(ranges, count, scratch[0], found, scratch[1])
        for i in range(count):
            ranges[i, 0], ranges[i, 1] = scratch[1, i, 0], scratch[1, i, 1]
        if count == 0:
            return 0
    return count


@inlined_late
def _has_all_kinds(buffers: Buffers, partition: int) -> bool:
    for kind in range(buffers.low.shape[0]):
        if buffers.low[kind, partition] >= buffers.high[kind, partition]:
            return False
    return True


@outer
def _match(join: Join, levels: Levels, scratch: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Matches of all partitions by a depth-first search. Returns situations and moments, in arrays that may be longer,
    the number of matches, and False where there are more than `most`."""
    buffers, order = join.buffers, join.order
    kinds = order.size
    result = np.empty((_FIRST_MATCHES, kinds), np.int64)
    moments = np.empty(_FIRST_MATCHES, np.int64)
    size = 0
    for partition in range(buffers.low.shape[1]):
        if not _has_all_kinds(buffers, partition):
            continue
        levels.ranges[0, 0, 0] = buffers.low[order[0], partition]
        levels.ranges[0, 0, 1] = buffers.high[order[0], partition]
        _open_level(levels, 0, 1)
        depth = 0
        while depth >= 0:
            if is_to_stop():
                return result, moments, size, False
            candidate = _next_candidate(levels, depth)
            if candidate < 0:
                depth -= 1
                continue
            levels.tried[depth] += 1
            if not _choose(join, levels, depth, candidate):
                continue
            levels.passed[depth] += 1
            if depth < kinds - 1:
                depth += 1
                _open_level(levels, depth, _list_candidates(join, levels, depth, partition, scratch))
                continue
            if size == most:
                return result, moments, size, False
            if size == moments.size:
                result, moments = grow(result, min(2 * size, most)), grow(moments, min(2 * size, most))
            for i in range(kinds):
                result[size, order[i]] = levels.chosen[i]
            moments[size] = levels.moment[depth]
            size += 1
    return result, moments, size, True


def match_situations(
    buffers: Buffers,
    order: tuple[int, ...],
    written: np.ndarray,
    allowed: np.ndarray,
    within: int | None,
    most: int,
) -> Matches:
    """Find all matches.

    Args:
        buffers: The situations.
        order: The order in which kinds are joined.
        written: `written[i, j]` is the constraint of the query between kinds i and j.
        allowed: What agrees with all constraints.
        within: Bounds the time from the earliest start to the detection; None: nothing does.
        most: More matches than these are not looked for.

    Returns:
        The matches, and what the steps of the join let through.
    """
    kinds = len(order)
    # Each constraint cuts a level's ranges at four places, and so adds four at most.
    ranges = 4 + 4 * kinds
    levels = Levels(
        chosen=np.empty(kinds, np.int64),
        moment=np.empty(kinds, np.int64),
        first=np.empty(kinds, np.int64),
        ranges=np.empty((kinds, ranges, 2), np.int64),
        count=np.zeros(kinds, np.int64),
        current=np.zeros(kinds, np.int64),
        place=np.zeros(kinds, np.int64),
        tried=np.zeros(kinds, np.int64),
        passed=np.zeros(kinds, np.int64),
    )
    join = Join(buffers, np.array(order, np.int64), written, allowed, within is not None, within or 0)
    result, moments, size, complete = _match(join, levels, np.empty((2, ranges, 2), np.int64), most)
    return Matches(result[:size], moments[:size], levels.tried, levels.passed, complete)
