"""Vectors of aggregates: what a vertex carries and how vectors are added up.

A vertex of a block of `lanes` windows carries some numbers per window, component-major: component c of lane i is at
[c * lanes + i]; `lanes` is padded to a multiple of eight. A row touches the lanes [low, high), rounded outwards to
eights; lanes that it is not in hold what adds nothing. All ways of summing over predecessors (running, ranks, scan)
only combine such vectors; what the components mean is decided in `finish_vertex` alone.

Numbers of a sum: the number of trends that end at the vertex, then one per linear aggregate, each in limbs of
`limb_bits` bits; limb l of number k is component l * numbers + k. A block begins with one limb in use and takes the
next one for all its vectors when a number asks for it, so that small numbers stay cheap. Limbs are added without
carrying: the block's size leaves enough free bits above `limb_bits` for every sum over predecessors, and carries are
settled once per vertex. Components of an extremum: one per aggregate; NO_TREND if no trend ends here, NO_VALUE if
none has a valid occurrence."""

import numpy as np

from trendweave.kernels.compiling import inner

SUM = 0
EXTREMUM = 1
LATEST_START = 2

NO_TREND = np.iinfo(np.int64).min
NO_VALUE = NO_TREND + 1

EMPTY = 0
REACHED = 1
OVERFLOW = 2


@inner
def combine(target, target_at, source, source_at, low, high, lanes, components, kind):
    """target += source on the lanes [low, high); the larger one for extrema."""
    if lanes == 1 and components == 1:  # kept small: this much is inlined everywhere
        if kind == SUM:
            target[target_at] += source[source_at]
        elif source[source_at] > target[target_at]:
            target[target_at] = source[source_at]
    else:
        combine_long(target, target_at, source, source_at, low, high, lanes, components, kind)


@inner
def combine_long(target, target_at, source, source_at, low, high, lanes, components, kind):
    """The same for vectors of several numbers. Unsigned indexes: Numba checks signed ones for being negative."""
    length = high - low
    pieces = components
    if length == lanes:  # one contiguous run
        length = lanes * components
        pieces = 1
    for piece in range(pieces):
        to = np.uint64(target_at + piece * lanes + low)
        come = np.uint64(source_at + piece * lanes + low)
        if kind == SUM:
            for i in range(np.uint64(length)):
                target[to + i] += source[come + i]
        else:
            for i in range(np.uint64(length)):
                target[to + i] = max(target[to + i], source[come + i])


@inner
def padded(lanes):
    """Lanes are laid out in eights, so that runs of lanes are whole vector registers; one lane stays one."""
    return lanes if lanes == 1 else (lanes + 7) // 8 * 8


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
def blank_lanes(vector, at, low, true_low, true_high, high, lanes, components, kind):
    """Clear the lanes of [low, high) that the row is not in."""
    if low < true_low:
        clear_lanes(vector, at, low, true_low, lanes, components, kind)
    if true_high < high:
        clear_lanes(vector, at, true_high, high, lanes, components, kind)


@inner
def subtract(target, target_at, source, source_at, low, high, lanes, components):
    """target -= source on the lanes [low, high): exact for integers, limb by limb."""
    for component in range(components):
        to = np.uint64(target_at + component * lanes + low)
        come = np.uint64(source_at + component * lanes + low)
        for i in range(np.uint64(high - low)):
            target[to + i] -= source[come + i]


@inner
def clear(target, at, length, kind):
    """Fill with what adds nothing."""
    to = np.uint64(at)
    if kind == SUM:
        for i in range(np.uint64(length)):
            target[to + i] = 0
    else:
        for i in range(np.uint64(length)):
            target[to + i] = NO_TREND


@inner
def clear_lanes(target, at, low, high, lanes, components, kind):
    """The same on the lanes [low, high) only."""
    if lanes == 1 and components == 1:
        target[at] = 0 if kind == SUM else NO_TREND
    elif high - low == lanes:
        clear(target, at, lanes * components, kind)
    else:
        for component in range(components):
            clear(target, at + component * lanes + low, high - low, kind)


@inner
def begin_trends(vector, at, low, high, lanes, components, kind, values, row):
    """One more trend begins here, in the lanes [low, high)."""
    if low >= high:
        return
    if kind == SUM:
        to = np.uint64(at + low)
        for i in range(np.uint64(high - low)):
            vector[to + i] += 1
    else:
        for component in range(components):
            first = NO_VALUE
            if kind == LATEST_START:
                first = values[component, 0, row]
            for lane in range(low, high):
                i = at + component * lanes + lane
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
def finish_one_limb(vector, at, low, high, lanes, limb_bits, values, value_states, row, state):
    """int64 numbers: add value * number of trends to each linear aggregate and check every bound."""
    counts = vector[at + low : at + high]
    seen = np.int64(0)
    for i in range(high - low):
        seen |= counts[i]
    if seen == 0:
        return EMPTY
    if seen >> limb_bits != 0:
        return OVERFLOW
    for k in range(value_states.shape[0]):
        sums = vector[at + (k + 1) * lanes + low : at + (k + 1) * lanes + high]
        if value_states[k, state]:
            value = values[k, 0, row]
            if abs(np.float64(value)) * np.float64(seen) >= 2.0**61:
                return OVERFLOW
            for i in range(high - low):
                sums[i] += value * counts[i]
        large = np.int64(0)
        for i in range(high - low):
            large |= sums[i] ^ (sums[i] >> 63)
        if large >> limb_bits != 0:
            return OVERFLOW
    return REACHED


@inner
def take_limb(vector, used, width, lanes, numbers, limbs):
    """One more limb, 0 in the vectors 0..used of this tick; returns the new number of limbs in use."""
    for number in range(used + 1):
        clear(vector, number * width + limbs * numbers * lanes, numbers * lanes, np.int64(SUM))
    return limbs + 1


@inner
def finish_limbs(vector, used, width, low, high, lanes, limbs, most_limbs, limb_bits, values, value_states, row, state):
    """Numbers of several limbs, in vector number `used`. Values come as signed digits of at most 61 - limb_bits bits
    (or base 2**limb_bits). Returns the outcome and the limbs now in use."""
    numbers = 1 + value_states.shape[0]
    step = numbers * lanes
    at = used * width
    while settle(vector, at, low, high, step, limbs, limb_bits) != 0:
        if limbs == most_limbs:
            return OVERFLOW, limbs
        limbs = take_limb(vector, used, width, lanes, numbers, limbs)
    seen = np.int64(0)
    length = np.uint64(high - low)
    for limb in range(limbs):
        here = np.uint64(at + limb * step + low)
        for i in range(length):
            seen |= vector[here + i]
        if seen != 0:
            break
    if seen == 0:
        return EMPTY, limbs
    for k in range(value_states.shape[0]):
        sums_at = at + (k + 1) * lanes
        for digit in range(values.shape[1] if value_states[k, state] else 0):
            value = values[k, digit, row]
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
                    for i in range(length):
                        vector[sums + i] += value * vector[counts + i]
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
def finish_floats(vector, at, low, high, lanes, values, value_states, row, state):
    """float64 numbers: no bounds; a value of 0 adds 0 even to infinitely many trends."""
    here = np.uint64(at + low)
    length = np.uint64(high - low)
    largest = 0.0
    for i in range(length):
        largest = max(largest, vector[here + i])
    if largest == 0:
        return EMPTY
    for k in range(value_states.shape[0]):
        if value_states[k, state]:
            value = values[k, 0, row]
            if value != 0:
                there = np.uint64(at + (k + 1) * lanes + low)
                for i in range(length):
                    if vector[here + i] != 0:
                        vector[there + i] += value * vector[here + i]
    return REACHED


@inner
def finish_extrema(vector, at, low, high, lanes, values, value_states, row, state):
    """Raise each extremum to this row's value, where a trend ends here at all."""
    here = np.uint64(at + low)
    length = np.uint64(high - low)
    largest = np.int64(NO_TREND)
    for i in range(length):
        largest = max(largest, vector[here + i])
    if largest == NO_TREND:
        return EMPTY
    for k in range(value_states.shape[0]):
        if value_states[k, state]:
            value = values[k, 0, row]
            here = np.uint64(at + k * lanes + low)
            for i in range(length):
                x = vector[here + i]
                vector[here + i] = x if x == NO_TREND else max(x, value)
    return REACHED


@inner
def finish_vertex(
    vector, used, width, low, high, lanes, limbs, most_limbs, limb_bits, kind, values, value_states, row, state
):
    """Turn the sum over predecessors, vector number `used`, into the vertex's own aggregates (GRETA, Section 4.2;
    A-Seq's per-event step). Returns the outcome and the number of limbs now in use.

    `limb_bits` is None for float64: the branch is dropped when this is compiled.
    """
    at = used * width
    if limb_bits is None:
        return finish_floats(vector, at, low, high, lanes, values, value_states, row, state), limbs
    else:
        if kind != SUM:
            return finish_extrema(vector, at, low, high, lanes, values, value_states, row, state), limbs
        if most_limbs == 1:
            if lanes == 1 and value_states.shape[0] == 0:
                if vector[at] == 0:
                    return EMPTY, limbs
                return OVERFLOW if vector[at] >> limb_bits != 0 else REACHED, limbs
            return finish_one_limb(vector, at, low, high, lanes, limb_bits, values, value_states, row, state), limbs
        return finish_limbs(
            vector, used, width, low, high, lanes, limbs, most_limbs, limb_bits, values, value_states, row, state
        )
