"""Any other condition: look at every predecessor in the block, O(n) per event (GRETA, Section 4.2, Algorithm 2).

Each source state keeps its vertices in time order, with the codes that comparisons read copied side by side, so that
one lane and up to two comparisons run as a vectorised masked sum."""

import numpy as np

from trendweave.kernels.aggregates.pair_test import pair_holds
from trendweave.kernels.aggregates.program import (
    CONTIGUOUS,
    EDGE_GUARD,
    LISTED,
    NEVER,
    NEXT,
    PAIR,
    SLOT,
    SLOT_END,
    STORE,
    TAIL,
    TEST,
    TEST_END,
    TEST_NEXT,
    TEST_OPERATOR,
    TEST_SLOT,
)  # fmt: skip
from trendweave.kernels.aggregates.vectors import SUM, combine
from trendweave.kernels.compiling import inner

LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL = 0, 1, 2, 3, 4, 5
HIGHEST = np.iinfo(np.int64).max


@inner
def range_of(operator, code):
    """The predecessors' codes that compare true with `code`, as lowest, highest, and one code left out."""
    if code < 0:
        return np.int64(1), np.int64(0), np.int64(-1)
    if operator == LESS:
        return np.int64(0), code - 1, np.int64(-1)
    if operator == LESS_EQUAL:
        return np.int64(0), code, np.int64(-1)
    if operator == GREATER:
        return code + 1, np.int64(HIGHEST), np.int64(-1)
    if operator == GREATER_EQUAL:
        return code, np.int64(HIGHEST), np.int64(-1)
    if operator == EQUAL:
        return code, code, np.int64(-1)
    return np.int64(0), np.int64(HIGHEST), code


@inner
def sum_in_one_range(values, codes, low, high):
    """Sum of values whose code is in [low, high]."""
    total = values.dtype.type(0)
    for i in range(values.size):
        total += values[i] if (codes[i] >= low) & (codes[i] <= high) else 0
    return total


@inner
def sum_in_two_ranges(values, codes, low, high, other_codes, other_low, other_high):
    """Sum of values whose two codes are in their ranges."""
    total = values.dtype.type(0)
    for i in range(values.size):
        inside = (codes[i] >= low) & (codes[i] <= high) & (other_codes[i] >= other_low) & (other_codes[i] <= other_high)
        total += values[i] if inside else 0
    return total


@inner
def in_ranges(codes, tests, test, count, capacity, position, ranges):
    """Whether all codes of the vertex at `position` are in their ranges."""
    for j in range(count):
        code = codes[tests[test + j, TEST_SLOT] * capacity + position]
        if code < ranges[j, 0] or code > ranges[j, 1] or code == ranges[j, 2]:
            return False
    return True


@inner
def add_scanned(
    transitions, t, tests, stores, pairs, answers, codes, guards, tick, window_first,
    window_last, row, window, low, high, pending, at, vectors, list_rows, list_codes, reading_from, ranges,
    accepted, capacity, lanes, components, width, kind, selection,
):  # fmt: skip
    """pending[at] += every vertex of the source that meets the transition's conditions."""
    s = transitions[t, STORE]
    list_at = stores[s, LISTED] * capacity
    tail = stores[s, TAIL]
    threshold = np.int64(NEVER)
    if transitions[t, EDGE_GUARD] >= 0:
        threshold = guards[transitions[t, EDGE_GUARD], row]
    begin = np.int64(0)
    if selection != NEXT:  # thresholds and windows only move on, so what is left out now is left out for good
        if selection == CONTIGUOUS:
            threshold = max(threshold, tick[row] - 1)
        begin = reading_from[t]
        while begin < tail:
            p = list_rows[list_at + begin]
            if tick[p] >= threshold and window_last[p] >= window_first[row]:
                break
            begin += 1
        reading_from[t] = begin
    if begin >= tail:
        return
    test = transitions[t, TEST]
    count = transitions[t, TEST_END] - test
    holes = False
    for j in range(count):
        code = codes[tests[test + j, TEST_NEXT], row]
        lowest, highest, hole = range_of(tests[test + j, TEST_OPERATOR], code)
        if lowest > highest:
            return
        ranges[j, 0] = lowest
        ranges[j, 1] = highest
        ranges[j, 2] = hole
        holes |= hole >= 0
    pair = transitions[t, PAIR]
    if width == 1 and kind == SUM and not holes and 1 <= count <= 2 and pair < 0 and selection != NEXT:
        chosen = vectors[list_at + begin : list_at + tail]
        slot_at = tests[test, TEST_SLOT] * capacity
        its_codes = list_codes[slot_at + begin : slot_at + tail]
        if count == 1:
            pending[at] += sum_in_one_range(chosen, its_codes, ranges[0, 0], ranges[0, 1])
        else:
            slot_at = tests[test + 1, TEST_SLOT] * capacity
            other = list_codes[slot_at + begin : slot_at + tail]
            pending[at] += sum_in_two_ranges(
                chosen, its_codes, ranges[0, 0], ranges[0, 1], other, ranges[1, 0], ranges[1, 1]
            )
        return
    if pair < 0 and selection != NEXT:  # the loop below without what is not needed: the common case
        for position in range(begin, tail):
            if in_ranges(list_codes, tests, test, count, capacity, position, ranges):
                shared = min((window_last[list_rows[list_at + position]] - window + 8) & -8, high)
                if low < shared:
                    combine(pending, at, vectors, (list_at + position) * width, low, shared, lanes, components, kind)
        return
    for position in range(begin, tail):
        if count > 0 and not in_ranges(list_codes, tests, test, count, capacity, position, ranges):
            continue
        p = list_rows[list_at + position]
        if pair >= 0 and not pair_holds(pairs, pair, answers, codes, p, row):
            continue
        if selection == NEXT:
            accepted[list_at + position] = 1
            if tick[p] < threshold:
                continue
        shared = min((window_last[p] - window + 8) & -8, high)
        if low < shared:
            combine(pending, at, vectors, (list_at + position) * width, low, shared, lanes, components, kind)


@inner
def forget_accepted(stores, s, list_rows, list_codes, vectors, accepted, capacity, width):
    """Skip-till-next-match: vertices that found their successor tick connect to nothing later. Keeps the order."""
    list_at = stores[s, LISTED] * capacity
    kept = 0
    for position in range(stores[s, TAIL]):
        if accepted[list_at + position]:
            accepted[list_at + position] = 0
            continue
        if kept < position:
            list_rows[list_at + kept] = list_rows[list_at + position]
            for slot in range(stores[s, SLOT], stores[s, SLOT_END]):
                list_codes[slot * capacity + kept] = list_codes[slot * capacity + position]
            to = (list_at + kept) * width
            source = (list_at + position) * width
            for i in range(width):
                vectors[to + i] = vectors[source + i]
        kept += 1
    stores[s, TAIL] = kept
