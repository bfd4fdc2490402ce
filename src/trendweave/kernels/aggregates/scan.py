"""Any other condition: look at every predecessor in the block, O(n) per event (GRETA, Section 4.2, Algorithm 2).

Each source state keeps its vertices in time order, with the codes that comparisons read copied side by side, so that
one lane and up to two comparisons run as a vectorised masked sum."""

import numpy as np

from trendweave.kernels.aggregates.program import BEFORE_ALL_TICKS, CONTIGUOUS, NEXT
from trendweave.kernels.aggregates.vectors import SUM, Span
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.pair_test import pair_holds
from trendweave.kernels.query_masks import add_along, followed_in_part, forget_in_part, note_followed

# codes of comparison operators: their places in OPERATORS
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL = range(5)
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


@inlined
def in_ranges(tests, test, count, list_codes, capacity, position, ranges):
    """Whether all codes of the vertex at `position` are in their ranges."""
    for j in range(count):
        code = list_codes[tests.slot[test + j] * capacity + position]
        if code < ranges[j, 0] or code > ranges[j, 1] or code == ranges[j, 2]:
            return False
    return True


@inlined
def first_in_reach(columns, work, block, t, row, list_at, tail, threshold):
    """Where the scan begins. Thresholds and windows only move on, so what is left out now is left out for good."""
    begin = work.reading_from[t]
    while begin < tail:
        p = work.list_rows[list_at + begin]
        if columns.tick[p] >= threshold and columns.window_last[p] >= columns.window_first[row]:
            break
        begin += 1
    work.reading_from[t] = begin
    return begin


@inlined
def find_ranges(program, columns, work, t, row):
    """The ranges of codes that may precede the row: whether any can, and whether a code is left out of one."""
    tests, test = program.tests, program.transitions.test[t]
    left_out = False
    for j in range(program.transitions.test_end[t] - test):
        code = columns.codes[tests.next[test + j], row]
        lowest, highest, hole = range_of(tests.operator[test + j], code)
        if lowest > highest:
            return False, False
        work.ranges[j, 0] = lowest
        work.ranges[j, 1] = highest
        work.ranges[j, 2] = hole
        left_out |= hole >= 0
    return True, left_out


@inlined
def add_scanned(program, columns, work, block, t, state, row, at, span):
    """pending[at] += every vertex of the source that meets the conditions of the transition to the state."""
    transitions, tests, ranges = program.transitions, program.tests, work.ranges
    s = transitions.store[t]
    list_at = program.stores.listed[s] * block.capacity
    tail = work.contents.tail[s]
    threshold = np.int64(BEFORE_ALL_TICKS)
    if transitions.guard[t] >= 0:
        threshold = columns.guards[transitions.guard[t], row]
    begin = np.int64(0)
    if block.selection != NEXT:
        if block.selection == CONTIGUOUS:
            threshold = max(threshold, columns.tick[row] - 1)
        begin = first_in_reach(columns, work, block, t, row, list_at, tail, threshold)
    if begin >= tail:
        return
    some, left_out = find_ranges(program, columns, work, t, row)
    if not some:
        return
    test, pair = transitions.test[t], transitions.pair[t]
    count = transitions.test_end[t] - test
    plain = pair < 0 and block.selection != NEXT
    if plain and block.width == 1 and span.kind == SUM and not left_out and 1 <= count <= 2:
        work.pending[at] += sum_of_one_lane(tests, work, block, test, count, list_at, begin, tail)
    elif plain:  # the loop below without what is not needed: the common case
        for position in range(begin, tail):
            if in_ranges(tests, test, count, work.list_codes, block.capacity, position, ranges):
                add_listed(columns, work, block, t, list_at + position, at, span)
    else:
        for position in range(begin, tail):
            if not in_ranges(tests, test, count, work.list_codes, block.capacity, position, ranges):
                continue
            p = work.list_rows[list_at + position]
            if pair >= 0 and not pair_holds(program.pairs, pair, program.answers, columns.codes, p, row):
                continue
            if block.selection == NEXT:
                note_followed(work.accepted, list_at + position, state, row, t, columns.queries)
                if columns.tick[p] < threshold:
                    continue
            add_listed(columns, work, block, t, list_at + position, at, span)


@inlined
def add_listed(columns, work, block, t, listed, at, span):
    """pending[at] += a listed vertex, on the lanes that both are in."""
    last = columns.window_last[work.list_rows[listed]]
    shared = min((last - block.window + 8) & -8, span.high)
    if span.low < shared:
        both = Span(span.low, shared, span.lanes, span.components, span.kind)
        add_along(work.pending, at, work.vectors, listed * block.width, both, t, columns.queries)


@inlined
def sum_of_one_lane(tests, work, block, test, count, list_at, begin, tail):
    """One number per vertex, one or two comparisons: a masked sum in vector registers."""
    ranges = work.ranges
    chosen = work.vectors[list_at + begin : list_at + tail]
    slot_at = tests.slot[test] * block.capacity
    codes = work.list_codes[slot_at + begin : slot_at + tail]
    if count == 1:
        return sum_in_one_range(chosen, codes, ranges[0, 0], ranges[0, 1])
    slot_at = tests.slot[test + 1] * block.capacity
    other = work.list_codes[slot_at + begin : slot_at + tail]
    return sum_in_two_ranges(chosen, codes, ranges[0, 0], ranges[0, 1], other, ranges[1, 0], ranges[1, 1])


@inlined
def forget_accepted(stores, work, block, s, state, queries):
    """Skip-till-next-match: vertices that found their successor tick connect to nothing later. Keeps the order. With
    several queries a vertex stays, with what it is to the others, until it found one in all of them."""
    list_at = stores.listed[s] * block.capacity
    whole = Span(np.int64(0), block.lanes, block.lanes, block.numbers * block.most_limbs, block.kind)
    kept = 0
    for position in range(work.contents.tail[s]):
        accepted = work.accepted[list_at + position]
        if accepted:
            work.accepted[list_at + position] = 0
            if not followed_in_part(accepted, state, queries):
                continue
            forget_in_part(work.vectors, (list_at + position) * block.width, whole, accepted, queries)
            work.accepted[list_at + kept] = accepted
        if kept < position:
            work.list_rows[list_at + kept] = work.list_rows[list_at + position]
            for slot in range(stores.slot[s], stores.slot_end[s]):
                copy = slot * block.capacity
                work.list_codes[copy + kept] = work.list_codes[copy + position]
            to = (list_at + kept) * block.width
            source = (list_at + position) * block.width
            for i in range(block.width):
                work.vectors[to + i] = work.vectors[source + i]
        kept += 1
    work.contents.tail[s] = kept
