"""From the sum over predecessors to a vertex's own aggregates: what the numbers of a vector mean.

Numbers of a sum: the number of trends that end at the vertex, then one per linear aggregate, each in limbs of
`limb_bits` bits; limb l of number k is component l * numbers + k. A block begins with one limb in use and takes the
next one for all its vectors when a number asks for it, so that small numbers stay cheap. Limbs are added without
carrying: the block's size leaves enough free bits above `limb_bits` for every sum over predecessors, and carries are
settled once per vertex. Components of an extremum: one per aggregate; NO_TREND if no trend ends here, NO_VALUE if
none has a valid occurrence."""

import numpy as np

from trendweave.kernels.aggregates.vectors import LATEST_START, NO_TREND, NO_VALUE, SUM, clear
from trendweave.kernels.compiling import inner
from trendweave.kernels.query_masks import add_products, begin_for, raise_for

# outcomes of a vertex
EMPTY = 0
REACHED = 1
OVERFLOW = 2


@inner
def limb_bits_for(row_count, states, at_most):
    """Bits per limb such that the sum over all vertices of the block stays below 2**62."""
    bits = 61
    vertices = row_count * states + 1
    while vertices > 0:
        vertices >>= 1
        bits -= 1
    return min(bits, at_most)


@inner
def begin_trends(vector, at, span, values, row, state, queries):
    """One more trend begins here, in the lanes of the span, for queries whose trends may begin in the state."""
    if span.low >= span.high:
        return
    if queries is not None:
        begin_for(vector, at, span, queries.start[state] & queries.accepted[state, row], queries.query)
    elif span.kind == SUM:
        to = np.uint64(at + span.low)
        for i in range(np.uint64(span.high - span.low)):
            vector[to + i] += 1
    else:
        for component in range(span.components):
            first = NO_VALUE
            if span.kind == LATEST_START:
                first = values[component, 0, row]
            for lane in range(span.low, span.high):
                i = at + component * span.lanes + lane
                vector[i] = max(vector[i], first)


@inner
def settle(vector, at, low, high, step, limbs, limb_bits):
    """Carry between the limbs of one number per lane, `step` apart; returns not 0 if the highest limb is too large."""
    mask = (np.int64(1) << limb_bits) - 1
    step = np.uint64(step)
    here = np.uint64(at + low)
    length = np.uint64(high - low)
    for _ in range(limbs - 1):
        for i in range(length):
            x = vector[here + i]
            vector[here + step + i] += x >> limb_bits
            vector[here + i] = x & mask
        here += step
    seen = np.int64(0)
    for i in range(length):
        x = vector[here + i]
        seen |= x ^ (x >> 63)
    return seen >> (limb_bits - 1)


@inner
def take_limb(vector, used, width, lanes, numbers, limbs):
    """One more limb, 0 in the vectors 0..used of this tick; returns the new number of limbs in use."""
    for number in range(used + 1):
        clear(vector, number * width + limbs * numbers * lanes, numbers * lanes, np.int64(SUM))
    return limbs + 1


@inner
def finish_one_limb(vector, at, span, limb_bits, measures, row, state, queries):
    """int64 numbers: add value * number of trends to each linear aggregate and check every bound."""
    length = span.high - span.low
    counts = vector[at + span.low : at + span.high]
    seen = np.int64(0)
    for i in range(length):
        seen |= counts[i]
    if seen == 0:
        return EMPTY
    if seen >> limb_bits != 0:
        return OVERFLOW
    for k in range(measures.states.shape[0]):
        sums_at = at + (k + 1) * span.lanes
        sums = vector[sums_at + span.low : sums_at + span.high]
        if measures.states[k, state]:
            value = measures.values[k, 0, row]
            if abs(np.float64(value)) * np.float64(seen) >= 2.0**61:
                return OVERFLOW
            if queries is None:
                for i in range(length):
                    sums[i] += value * counts[i]
            else:
                add_products(vector, sums_at, at, value, span, measures.states[k, state], queries.query)
        large = np.int64(0)
        for i in range(length):
            large |= sums[i] ^ (sums[i] >> 63)
        if large >> limb_bits != 0:
            return OVERFLOW
    return REACHED


@inner
def finish_limbs(vector, used, width, span, limbs, most_limbs, limb_bits, measures, row, state, queries):
    """Numbers of several limbs, in vector number `used`. Values come as signed digits of at most 61 - limb_bits bits
    (or base 2**limb_bits). Returns the outcome and the limbs now in use."""
    low, high, lanes = span.low, span.high, span.lanes
    numbers = 1 + measures.states.shape[0]
    step = numbers * lanes
    at = used * width
    while settle(vector, at, low, high, step, limbs, limb_bits) != 0:
        if limbs == most_limbs:
            return OVERFLOW, limbs
        limbs = take_limb(vector, used, width, lanes, numbers, limbs)
    length = np.uint64(high - low)
    found = False
    for limb in range(limbs):
        found = found or any_set(vector, np.uint64(at + limb * step + low), length)
    if not found:
        return EMPTY, limbs
    for k in range(measures.states.shape[0]):
        sums_at = at + (k + 1) * lanes
        for digit in range(measures.values.shape[1] if measures.states[k, state] else 0):
            value = measures.values[k, digit, row]
            if value == 0:
                continue
            for limb in range(limbs):
                counts = np.uint64(at + limb * step + low)
                while limb + digit >= limbs and any_set(vector, counts, length):
                    if limbs == most_limbs:
                        return OVERFLOW, limbs
                    limbs = take_limb(vector, used, width, lanes, numbers, limbs)
                if limb + digit < limbs:
                    sums = np.uint64(sums_at + (limb + digit) * step + low)
                    if queries is None:
                        for i in range(length):
                            vector[sums + i] += value * vector[counts + i]
                    else:
                        to, come = sums_at + (limb + digit) * step, at + limb * step
                        add_products(vector, to, come, value, span, measures.states[k, state], queries.query)
            while settle(vector, sums_at, low, high, step, limbs, limb_bits) != 0:
                if limbs == most_limbs:
                    return OVERFLOW, limbs
                limbs = take_limb(vector, used, width, lanes, numbers, limbs)
        while settle(vector, sums_at, low, high, step, limbs, limb_bits) != 0:
            if limbs == most_limbs:
                return OVERFLOW, limbs
            limbs = take_limb(vector, used, width, lanes, numbers, limbs)
    return REACHED, limbs


@inner
def any_set(vector, at, length):
    """Whether any number of a run is not 0."""
    for i in range(length):
        if vector[at + i] != 0:
            return True
    return False


@inner
def finish_floats(vector, at, span, measures, row, state, queries):
    """float64 numbers: no bounds; a value of 0 adds 0 even to infinitely many trends."""
    here = np.uint64(at + span.low)
    length = np.uint64(span.high - span.low)
    largest = 0.0
    for i in range(length):
        largest = max(largest, vector[here + i])
    if largest == 0:
        return EMPTY
    for k in range(measures.states.shape[0]):
        if measures.states[k, state]:
            value = measures.values[k, 0, row]
            if value != 0:
                there = np.uint64(at + (k + 1) * span.lanes + span.low)
                if queries is None:
                    for i in range(length):
                        if vector[here + i] != 0:
                            vector[there + i] += value * vector[here + i]
                else:
                    to = at + (k + 1) * span.lanes
                    add_products(vector, to, at, value, span, measures.states[k, state], queries.query)
    return REACHED


@inner
def finish_extrema(vector, at, span, measures, row, state, queries):
    """Raise each extremum to this row's value, where a trend ends here at all."""
    here = np.uint64(at + span.low)
    length = np.uint64(span.high - span.low)
    largest = np.int64(NO_TREND)
    for i in range(length):
        largest = max(largest, vector[here + i])
    if largest == NO_TREND:
        return EMPTY
    for k in range(measures.states.shape[0]):
        if measures.states[k, state]:
            value = measures.values[k, 0, row]
            here = np.uint64(at + k * span.lanes + span.low)
            if queries is None:
                for i in range(length):
                    x = vector[here + i]
                    vector[here + i] = x if x == NO_TREND else max(x, value)
            else:
                raise_for(vector, at + k * span.lanes, value, span, measures.states[k, state], queries.query)
    return REACHED


@inner
def finish_small(vector, at, span, limb_bits, measures, row, state, queries):
    """The same for numbers of one limb: see `finish_vertex`. Returns the outcome."""
    if limb_bits is None:
        return finish_floats(vector, at, span, measures, row, state, queries)
    else:
        if span.kind != SUM:
            return finish_extrema(vector, at, span, measures, row, state, queries)
        if span.lanes == 1 and measures.states.shape[0] == 0:
            if vector[at] == 0:
                return EMPTY
            return OVERFLOW if vector[at] >> limb_bits != 0 else REACHED
        return finish_one_limb(vector, at, span, limb_bits, measures, row, state, queries)


@inner
def finish_vertex(vector, used, width, span, limbs, most_limbs, limb_bits, measures, row, state, queries):
    """Turn the sum over predecessors, vector number `used`, into the vertex's own aggregates (GRETA, Section 4.2;
    A-Seq's per-event step). Returns the outcome and the number of limbs now in use.

    `limb_bits` is None for float64: the branch is dropped when this is compiled.
    """
    if limb_bits is None:
        return finish_small(vector, used * width, span, limb_bits, measures, row, state, queries), limbs
    else:
        if span.kind != SUM or most_limbs == 1:
            return finish_small(vector, used * width, span, limb_bits, measures, row, state, queries), limbs
        return finish_limbs(vector, used, width, span, limbs, most_limbs, limb_bits, measures, row, state, queries)
