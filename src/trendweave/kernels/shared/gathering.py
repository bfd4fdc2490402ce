"""What comes into a class from outside, once per burst; and the bounds that keep exact numbers exact.

`exact` is None for float64 (then nothing here about bounds is compiled) and True for int64 and limbs. A bound is a
number that no total of a class exceeds in magnitude, kept apart for counts and for measures. When it gets too large,
totals are looked at (int64) or carried over (limbs).
"""

import numpy as np

from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.shared.book import (
    BOUND,
    CHANGED,
    DONE,
    GATHERED,
    KIND,
    LANES,
    LIMBS,
    MOST_LIMBS,
    NO_LIMB,
    OPEN_FIRST,
    OPEN_LAST,
    OUTSIDE_BOUND,
    OUTSIDE_FROM,
    OUTSIDE_LANE,
    OUTSIDE_LIMBS,
    OUTSIDE_POSITION,
    OUTSIDE_REGISTER,
    OUTSIDE_SOURCE,
    OUTSIDE_SOURCE_LANE,
    OUTSIDE_WINDOW,
    PARTS,
    POSITIONS,
    REGISTERS,
    ROOM,
    SLOTS,
    SOURCE_CLASS,
    SOURCE_COUNT,
    SOURCE_FROM,
    START_FROM,
    START_LANE,
    START_POSITION,
    START_WINDOW,
    TOO_LARGE,
    VERSION,
    WIDE,
    WINDOWS_MOVED,
)
from trendweave.kernels.shared.numbers import LINEAR, MOST, NO_VALUE, SETTLED, add, fill, largest, settle
from trendweave.kernels.shared.places import outside_place, total_place


@inner
def tighten_block(numbers, at, lanes, blocks, parts, room, limbs, wide, bounds, bound):
    """Carry over, or look at, `blocks` times `parts` vectors: sets the bounds, returns limbs (room + 1: too
    many)."""
    bounds[bound], bounds[bound + 1] = 0.0, 0.0
    most = limbs
    for block in range(blocks):
        for part in range(parts):
            begin = at + (block * parts + part) * room * lanes
            if wide:
                now = settle(numbers, begin, lanes, limbs, room)
                if now > room:
                    return now
                most = max(most, now)
                bounds[bound + min(part, 1)] = SETTLED
            else:
                size = largest(numbers, begin, lanes)
                bounds[bound + min(part, 1)] = max(bounds[bound + min(part, 1)], size)
    return most


@inlined
def larger_bound(book, bounds, name, c):
    """The larger of the bounds for counts and for measures."""
    return max(bounds[book[name] + 2 * c], bounds[book[name] + 2 * c + 1])


@inner
def tighten(book, bounds, numbers, c):
    """Bring the bounds of a class down."""
    wide = book[WIDE] != 0
    limbs = tighten_block(
        numbers, total_place(book, c), book[book[LANES] + c], book[book[REGISTERS] + c], book[PARTS], book[ROOM],
        book[book[LIMBS] + c], wide, bounds, book[BOUND] + 2 * c,
    )  # fmt: skip
    if limbs > book[ROOM]:
        return NO_LIMB
    book[book[LIMBS] + c] = limbs
    book[MOST_LIMBS] = max(book[MOST_LIMBS], limbs)
    if not wide and larger_bound(book, bounds, BOUND, c) > MOST:
        return TOO_LARGE
    return DONE


@inner
def tighten_outside(book, bounds, numbers, c):
    """The same for what came from outside."""
    wide = book[WIDE] != 0
    limbs = tighten_block(
        numbers, outside_place(book, c), book[book[LANES] + c], book[book[POSITIONS] + c], book[PARTS], book[ROOM],
        book[book[OUTSIDE_LIMBS] + c], wide, bounds, book[OUTSIDE_BOUND] + 2 * c,
    )  # fmt: skip
    if limbs > book[ROOM]:
        return NO_LIMB
    book[book[OUTSIDE_LIMBS] + c] = limbs
    return DONE


@inner
def is_stale(book, c):
    """Whether windows moved or something that leads into the class changed since it was gathered."""
    if book[WINDOWS_MOVED] > book[book[GATHERED] + c]:
        return True
    for j in range(book[book[SOURCE_FROM] + c], book[book[SOURCE_FROM] + c + 1]):
        if book[book[CHANGED] + book[book[SOURCE_CLASS] + j]] > book[book[GATHERED] + c]:
            return True
    return False


@inner
def bound_outside(book, bounds, c):
    """Set the bounds of what will be gathered from those of the sources; returns the larger one."""
    counts = 1.0 if book[book[START_FROM] + c] < book[book[START_FROM] + c + 1] else 0.0
    measures = 0.0
    for j in range(book[book[SOURCE_FROM] + c], book[book[SOURCE_FROM] + c + 1]):
        counts += book[book[SOURCE_COUNT] + j] * bounds[book[BOUND] + 2 * book[book[SOURCE_CLASS] + j]]
        measures += book[book[SOURCE_COUNT] + j] * bounds[book[BOUND] + 2 * book[book[SOURCE_CLASS] + j] + 1]
    bounds[book[OUTSIDE_BOUND] + 2 * c], bounds[book[OUTSIDE_BOUND] + 2 * c + 1] = counts, measures
    return max(counts, measures)


@inner
def gather(book, bounds, numbers, c, exact):
    """Write what comes into each position and lane; nothing to do if nothing changed."""
    if not is_stale(book, c):
        return DONE
    limbs = np.int64(1)
    if exact is not None and book[KIND] == LINEAR:
        wide = book[WIDE] != 0
        if bound_outside(book, bounds, c) > (2 * SETTLED if wide else MOST):
            for j in range(book[book[SOURCE_FROM] + c], book[book[SOURCE_FROM] + c + 1]):
                source = book[book[SOURCE_CLASS] + j]
                if not wide or larger_bound(book, bounds, BOUND, source) > SETTLED:
                    status = tighten(book, bounds, numbers, source)
                    if status != DONE:
                        return status
            if bound_outside(book, bounds, c) > MOST:
                return TOO_LARGE
        for j in range(book[book[SOURCE_FROM] + c], book[book[SOURCE_FROM] + c + 1]):
            limbs = max(limbs, book[book[LIMBS] + book[book[SOURCE_CLASS] + j]])
    lanes, parts, room = book[book[LANES] + c], book[PARTS], book[ROOM]
    base = outside_place(book, c)
    clear = max(limbs, book[book[OUTSIDE_LIMBS] + c]) * lanes
    for block in range(book[book[POSITIONS] + c] * parts):
        fill(numbers, base + block * room * lanes, clear, book[KIND])
    for j in range(book[book[START_FROM] + c], book[book[START_FROM] + c + 1]):
        begin_trends(book, numbers, base, lanes, j)
    for j in range(book[book[OUTSIDE_FROM] + c], book[book[OUTSIDE_FROM] + c + 1]):
        source = book[book[OUTSIDE_SOURCE] + j]
        slots = book[book[SLOTS] + book[book[OUTSIDE_WINDOW] + j]]
        source_lanes = book[book[LANES] + source]
        come = total_place(book, source) + book[book[OUTSIDE_SOURCE_LANE] + j]
        come += book[book[OUTSIDE_REGISTER] + j] * parts * room * source_lanes
        to = base + book[book[OUTSIDE_POSITION] + j] * parts * room * lanes + book[book[OUTSIDE_LANE] + j]
        if slots == 1 and parts == 1 and book[book[LIMBS] + source] == 1:
            if book[KIND] == LINEAR:
                numbers[to] += numbers[come]
            else:
                numbers[to] = max(numbers[to], numbers[come])
            continue
        for part in range(parts):
            for limb in range(book[book[LIMBS] + source]):
                step = part * room + limb
                add(numbers, to + step * lanes, come + step * source_lanes, slots, book[KIND])
    book[book[OUTSIDE_LIMBS] + c] = limbs
    book[book[GATHERED] + c] = book[VERSION]
    if exact is not None and book[KIND] == LINEAR:
        if book[WIDE] != 0 and larger_bound(book, bounds, OUTSIDE_BOUND, c) > 2 * SETTLED:
            status = tighten_outside(book, bounds, numbers, c)
            if status != DONE:
                return status
        book[book[LIMBS] + c] = max(book[book[LIMBS] + c], book[book[OUTSIDE_LIMBS] + c])
    return DONE


@inlined
def begin_trends(book, numbers, base, lanes, j):
    """One trend begins in every open window of a member."""
    kind = book[book[START_WINDOW] + j]
    slots = book[book[SLOTS] + kind]
    at = base + book[book[START_POSITION] + j] * book[PARTS] * book[ROOM] * lanes + book[book[START_LANE] + j]
    for window in range(book[book[OPEN_FIRST] + kind], book[book[OPEN_LAST] + kind] + 1):
        if book[KIND] == LINEAR:
            numbers[at + window % slots] += 1
        else:
            for part in range(book[PARTS]):
                place = at + part * book[ROOM] * lanes + window % slots
                numbers[place] = max(numbers[place], NO_VALUE)
