"""The shared basis: a burst's effect as factors, computed once for all lanes of a track.

Within a burst, what comes into a class from outside is constant, so the registers of every lane are the same linear
function of the registers before the burst and of what comes in:

    count[r]   = sum over w of A[r, w] * count_in[w]
    measure[r] = sum over w of A[r, w] * measure_in[w] + D[r, w] * count_in[w]

where w runs over the registers before the burst and the positions' inputs from outside: HAMLET's snapshots, with one
value per lane. Extrema are the same with the sums and products of `numbers.py`, and without D. A row changes A and
D, whatever the number of lanes; at the end of the burst all lanes are multiplied once. Bundles that do not read a
row of the others' part from them: the track's factors are copied (HAMLET's snapshots at event level).
"""

import numpy as np

from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.shared.book import (
    BOUND,
    BUNDLE_END,
    BUNDLE_FIRST,
    BUNDLE_FROM,
    DONE,
    IN_FROM,
    IN_REGISTER,
    KIND,
    LANES,
    LIMBS,
    OUT_FROM,
    OUT_REGISTER,
    OUTSIDE_BOUND,
    OUTSIDE_LIMBS,
    PARTS,
    PENDING_BOUND,
    PENDING_FACTORS,
    POSITION_FROM,
    POSITIONS,
    REGISTERS,
    ROOM,
    SCRATCH,
    SIZE,
    TOO_LARGE,
    WIDE,
)
from trendweave.kernels.shared.gathering import larger_bound, tighten, tighten_outside
from trendweave.kernels.shared.numbers import (
    LINEAR,
    MOST,
    NO_TREND,
    NO_VALUE,
    SETTLED,
    add,
    add_product,
    copy,
    fill,
    scale_and_add,
)
from trendweave.kernels.shared.places import factor_place, outside_place, total_place
from trendweave.kernels.shared.query_basis import is_marked, takes

LARGEST_FLOAT_FACTOR = 2.0**900
LARGEST_INTEGER_FACTOR = 2.0**59
LARGEST_LIMB_FACTOR = 2.0**32  # all together: times limbs below 2**29, and twice, for counts and measures


@inlined
def limit_of(book, width, exact):
    """No factor may be larger."""
    if exact is None:
        return LARGEST_FLOAT_FACTOR
    if book[WIDE] != 0:
        return LARGEST_LIMB_FACTOR / width
    return LARGEST_INTEGER_FACTOR


@inner
def begin_track(book, bounds, numbers, c, track):
    """Factors that change nothing."""
    registers = book[book[REGISTERS] + c]
    width = registers + book[book[POSITIONS] + c]
    factors = factor_place(book, track)
    fill(numbers, factors, book[PARTS] * registers * width, book[KIND])
    for part in range(book[PARTS]):
        for r in range(registers):
            if book[KIND] != LINEAR:
                numbers[factors + (part * registers + r) * width + r] = NO_VALUE
            elif part == 0:
                numbers[factors + r * width + r] = 1
    bounds[book[SIZE] + 2 * track], bounds[book[SIZE] + 2 * track + 1] = 1.0, 0.0


@inner
def step_factors(book, bounds, numbers, values, c, track, position, row, bundle, at_once):
    """A row at a position: what it brings, as factors. Column by column, none of which needs another."""
    registers, parts, kind = book[book[REGISTERS] + c], book[PARTS], book[KIND]
    width = registers + book[book[POSITIONS] + c]
    place = book[book[POSITION_FROM] + c] + position
    in_from, in_end = book[book[IN_FROM] + place], book[book[IN_FROM] + place + 1]
    out_from, out_end = book[book[OUT_FROM] + place], book[book[OUT_FROM] + place + 1]
    factors, pending = factor_place(book, track), book[PENDING_FACTORS] + position * parts * width
    counts, measures = bounds[book[SIZE] + 2 * track], bounds[book[SIZE] + 2 * track + 1]
    number = numbers.dtype.type
    for w in range(width):
        count = number(0)
        for part in range(parts):
            at = factors + part * registers * width + w
            brought = number(0) if kind == LINEAR else number(NO_TREND)
            if w == registers + position and (part == 0 or kind != LINEAR):
                brought = number(1) if kind == LINEAR else number(NO_VALUE)
            for j in range(in_from, in_end):
                other = numbers[at + book[book[IN_REGISTER] + j] * width]
                brought = brought + other if kind == LINEAR else max(brought, other)
            measure = part - 1 if kind == LINEAR else part
            if measure >= 0 and is_marked(book, measure, bundle, position):
                if kind == LINEAR:
                    if count != 0:
                        brought += values[measure, row] * count
                elif brought != NO_TREND:
                    brought = max(brought, number(values[measure, row]))
            if part == 0:
                count = brought
            if not at_once:
                to = pending + part * width + w
                numbers[to] = numbers[to] + brought if kind == LINEAR else max(numbers[to], brought)
                continue
            for j in range(out_from, out_end):
                to = at + book[book[OUT_REGISTER] + j] * width
                numbers[to] = numbers[to] + brought if kind == LINEAR else max(numbers[to], brought)
                if part == 0:
                    counts = max(counts, abs(float(numbers[to])))
                else:
                    measures = max(measures, abs(float(numbers[to])))
    bounds[book[SIZE] + 2 * track], bounds[book[SIZE] + 2 * track + 1] = counts, measures


@inner
def note_size(numbers, at, width, bounds, bound):
    for w in range(width):
        bounds[bound] = max(bounds[bound], abs(float(numbers[at + w])))


@inner
def insert_factors(book, bounds, numbers, c, track):
    """Add what the rows of a tick brought, and forget it."""
    registers, parts = book[book[REGISTERS] + c], book[PARTS]
    width = registers + book[book[POSITIONS] + c]
    factors = factor_place(book, track)
    for position in range(book[book[POSITIONS] + c]):
        place = book[book[POSITION_FROM] + c] + position
        for part in range(parts):
            at = book[PENDING_FACTORS] + (position * parts + part) * width
            for j in range(book[book[OUT_FROM] + place], book[book[OUT_FROM] + place + 1]):
                to = factors + (part * registers + book[book[OUT_REGISTER] + j]) * width
                add(numbers, to, at, width, book[KIND])
                if book[KIND] == LINEAR:
                    note_size(numbers, to, width, bounds, book[SIZE] + 2 * track + min(part, 1))
            fill(numbers, at, width, book[KIND])


@inlined
def bound_flush(book, bounds, numbers, c, track):
    """The bounds that a flush would leave, in pending_bound."""
    registers = book[book[REGISTERS] + c]
    width = registers + book[book[POSITIONS] + c]
    factors = factor_place(book, track)
    counts, measures = 0.0, 0.0
    for part in range(book[PARTS]):
        for r in range(registers):
            count, measure = 0.0, 0.0
            for w in range(width):
                bound = (book[BOUND] if w < registers else book[OUTSIDE_BOUND]) + 2 * c
                a = abs(float(numbers[factors + r * width + w]))
                if part == 0:
                    count += a * bounds[bound]
                else:
                    d = abs(float(numbers[factors + (part * registers + r) * width + w]))
                    measure += a * bounds[bound + 1] + d * bounds[bound]
            counts, measures = max(counts, count), max(measures, measure)
    bounds[book[PENDING_BOUND]], bounds[book[PENDING_BOUND] + 1] = counts, measures
    return max(counts, measures)


@inner
def prepare_flush(book, bounds, numbers, c, track):
    """Make sure that products fit; sets the class's bounds to what they will be."""
    largest = max(larger_bound(book, bounds, BOUND, c), larger_bound(book, bounds, OUTSIDE_BOUND, c))
    wide = book[WIDE] != 0
    if (wide and largest > 2 * SETTLED) or bound_flush(book, bounds, numbers, c, track) > 2 * MOST:
        status = tighten(book, bounds, numbers, c)
        if status == DONE:
            status = tighten_outside(book, bounds, numbers, c)
        if status != DONE:
            return status
        book[book[LIMBS] + c] = max(book[book[LIMBS] + c], book[book[OUTSIDE_LIMBS] + c])
    if bound_flush(book, bounds, numbers, c, track) > 2 * MOST:
        return TOO_LARGE
    # Lanes of other tracks stay as they are.
    bounds[book[BOUND] + 2 * c] = max(bounds[book[BOUND] + 2 * c], bounds[book[PENDING_BOUND]])
    bounds[book[BOUND] + 2 * c + 1] = max(bounds[book[BOUND] + 2 * c + 1], bounds[book[PENDING_BOUND] + 1])
    return DONE


@inner
def multiply(book, bounds, numbers, c, track, first, end):
    """Apply a track's factors to the lanes [first, end)."""
    registers, lanes, limbs, parts, room = (
        book[book[REGISTERS] + c], book[book[LANES] + c], book[book[LIMBS] + c], book[PARTS], book[ROOM]
    )  # fmt: skip
    width = registers + book[book[POSITIONS] + c]
    factors, scratch = factor_place(book, track), book[SCRATCH]
    total_at, outside_at = total_place(book, c), outside_place(book, c)
    kind = book[KIND]
    block = room * lanes
    pieces, length = limbs, end - first
    if first == 0 and end == lanes:
        pieces, length = np.int64(1), limbs * lanes
    for piece in range(pieces):
        start = piece * lanes + first
        if registers == 1 and parts == 1 and book[book[POSITIONS] + c] == 1 and book[KIND] == LINEAR:
            scale_and_add(numbers, total_at + start, numbers[factors], numbers[factors + 1], outside_at + start, length)
            continue
        for part in range(parts):
            own = 0 if book[KIND] == LINEAR else part
            for r in range(registers):
                to = scratch + (r * parts + part) * block + start
                fill(numbers, to, length, kind)
                for w in range(width):
                    base = total_at + w * parts * block
                    if w >= registers:
                        base = outside_at + (w - registers) * parts * block
                    a = numbers[factors + (own * registers + r) * width + w]
                    if a != (0 if kind == LINEAR else NO_TREND):
                        add_product(numbers, to, a, base + part * block + start, length, book[KIND])
                    if book[KIND] == LINEAR and part > 0:
                        d = numbers[factors + (part * registers + r) * width + w]
                        if d != 0:
                            add_product(numbers, to, d, base + start, length, book[KIND])
        for part in range(parts * registers):
            at = part * block + start
            copy(numbers, total_at + at, scratch + at, length)


@inner
def flush(book, bounds, numbers, c, track, exact):
    """Multiply the lanes of all shared bundles that are on the track now, and begin anew."""
    if exact is not None and book[KIND] == LINEAR:
        status = prepare_flush(book, bounds, numbers, c, track)
        if status != DONE:
            return status
    first, end = book[book[BUNDLE_FROM] + c], book[book[BUNDLE_FROM] + c + 1]
    bundle = first
    while bundle < end:
        if not takes(book, bundle - first, track):
            bundle += 1
            continue
        after = bundle + 1
        while after < end and takes(book, after - first, track):
            after += 1
        multiply(book, bounds, numbers, c, track, book[book[BUNDLE_FIRST] + bundle], book[book[BUNDLE_END] + after - 1])
        bundle = after
    begin_track(book, bounds, numbers, c, track)
    return DONE
