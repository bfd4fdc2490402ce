"""The query basis: every row is added in every lane that reads it."""

import numpy as np

from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.shared.book import (
    ACCEPT,
    BOUND,
    BUNDLE_ALIKE,
    BUNDLE_END,
    BUNDLE_FIRST,
    BUNDLE_FROM,
    BUNDLES,
    DIFFERS_NOW,
    DONE,
    ENTRY_ACCEPT,
    ENTRY_BITS,
    ENTRY_CLASS,
    ENTRY_FROM,
    IN_FROM,
    IN_REGISTER,
    KIND,
    LANES,
    LEAF,
    LIMBS,
    MARKS,
    MOST_IN,
    MOST_LIMBS,
    NO_LIMB,
    NOW,
    OUT_FROM,
    OUT_REGISTER,
    OUTSIDE_BOUND,
    OUTSIDE_LIMBS,
    PARTS,
    PENDING_BOUND,
    POSITION_FROM,
    POSITIONS,
    REGISTERS,
    ROOM,
    SCRATCH,
    SHARED,
    TOO_LARGE,
    WIDE,
)
from trendweave.kernels.shared.gathering import tighten, tighten_block, tighten_outside
from trendweave.kernels.shared.numbers import (
    LINEAR,
    MOST,
    add,
    add_multiple,
    copy,
    double_and_add,
    fill,
    raise_to,
)
from trendweave.kernels.shared.patterns import DIFFERS
from trendweave.kernels.shared.places import outside_place, pending_place, total_place

# Which bundles of a class are meant, where it is not those of one track.
THE_OTHERS = -1  # on tracks that are not shared
EVERYONE = -2


@inner
def find_entry(book, number, c):
    """The pattern's entry for a class, -1 if the class does not read it."""
    for entry in range(book[book[ENTRY_FROM] + number], book[book[ENTRY_FROM] + number + 1]):
        if book[book[ENTRY_CLASS] + entry] == c:
            return entry
    return -1


@inlined
def bits_of(book, entry, bundle):
    """The positions at which a bundle of the class at hand reads a pattern."""
    bits = book[book[ENTRY_BITS] + entry]
    return bits if bits != DIFFERS else book[book[ACCEPT] + book[book[ENTRY_ACCEPT] + entry] + bundle]


@inlined
def is_marked(book, measure, bundle, position):
    """Whether rows at a position are measured."""
    return (book[book[MARKS] + measure * book[BUNDLES] + bundle] >> position) & 1 != 0


@inlined
def is_single(bits):
    """Whether exactly one bit is set."""
    return bits != 0 and bits & (bits - 1) == 0


@inner
def magnitude_of(values, row):
    """The largest magnitude of a row's values."""
    most = 0.0
    for k in range(values.shape[0]):
        size = abs(float(values[k, row]))
        if not size <= most:
            most = size
    return most


@inner
def bring(book, bounds, numbers, values, c, position, row, bundle, first, end, at_once):
    """What a row brings at a position, in the lanes [first, end) whose bundles are measured like `bundle`: added to
    the registers at once, or to what is pending."""
    lanes, limbs, parts, room = book[book[LANES] + c], book[book[LIMBS] + c], book[PARTS], book[ROOM]
    place = book[book[POSITION_FROM] + c] + position
    total_at = total_place(book, c)
    outside_at = outside_place(book, c) + position * lanes * parts * room
    fresh_at, kind = book[SCRATCH], book[KIND]
    pieces, length, start = limbs, end - first, first
    if first == 0 and end == lanes:
        pieces, length = np.int64(1), limbs * lanes
    if at_once and parts == 1 and kind == LINEAR and book[book[REGISTERS] + c] == 1:
        for piece in range(pieces):
            at = piece * lanes + start
            if book[book[MOST_IN] + c] == 1:
                double_and_add(numbers, total_at + at, outside_at + at, length)
            elif book[book[MOST_IN] + c] == 0:
                add(numbers, total_at + at, outside_at + at, length, LINEAR)
        if book[book[MOST_IN] + c] <= 1:
            return
    for part in range(parts):
        measure = part - 1 if kind == LINEAR else part
        marked = measure >= 0 and is_marked(book, measure, bundle, position)
        for piece in range(pieces):
            at = part * room * lanes + piece * lanes + start
            copy(numbers, fresh_at + at, outside_at + at, length)
            for j in range(book[book[IN_FROM] + place], book[book[IN_FROM] + place + 1]):
                come = total_at + book[book[IN_REGISTER] + j] * parts * room * lanes + at
                add(numbers, fresh_at + at, come, length, kind)
            if marked:
                if kind == LINEAR:
                    value = values[measure, row]
                    if value != 0:
                        add_multiple(numbers, fresh_at + at, value, fresh_at + piece * lanes + start, length)
                else:
                    raise_to(numbers, fresh_at + at, values[measure, row], length)
    pending_at = pending_place(book, c) + position * lanes * parts * room
    for part in range(parts):
        for piece in range(pieces):
            at = part * room * lanes + piece * lanes + start
            if at_once:
                for j in range(book[book[OUT_FROM] + place], book[book[OUT_FROM] + place + 1]):
                    to = total_at + book[book[OUT_REGISTER] + j] * parts * room * lanes + at
                    add(numbers, to, fresh_at + at, length, kind)
            else:
                add(numbers, pending_at + at, fresh_at + at, length, kind)


@inner
def insert_pending(book, bounds, numbers, c):
    """Add what the rows of a tick brought, and forget it."""
    lanes, limbs, parts, room = book[book[LANES] + c], book[book[LIMBS] + c], book[PARTS], book[ROOM]
    total_at = total_place(book, c)
    for position in range(book[book[POSITIONS] + c]):
        place = book[book[POSITION_FROM] + c] + position
        at = pending_place(book, c) + position * lanes * parts * room
        for part in range(parts):
            step = part * room * lanes
            for j in range(book[book[OUT_FROM] + place], book[book[OUT_FROM] + place + 1]):
                to = total_at + book[book[OUT_REGISTER] + j] * parts * room * lanes + step
                add(numbers, to, at + step, limbs * lanes, book[KIND])
            fill(numbers, at + step, limbs * lanes, book[KIND])


@inner
def bring_row(book, bounds, numbers, values, c, entry, row, track, at_once):
    """A row in the lanes of THE_OTHERS, of EVERYONE, or of the shared bundles that are on the track now."""
    bundle, end = book[book[BUNDLE_FROM] + c], book[book[BUNDLE_FROM] + c + 1]
    first = bundle
    while bundle < end:
        own = bits_of(book, entry, bundle - first)
        if own == 0 or not takes(book, bundle - first, track):
            bundle += 1
            continue
        after = bundle + 1
        while after < end and book[book[BUNDLE_ALIKE] + after] == book[book[BUNDLE_ALIKE] + bundle]:
            other = bits_of(book, entry, after - first)
            if other != own or not takes(book, after - first, track):
                break
            after += 1
        for position in range(book[book[POSITIONS] + c]):
            if (own >> position) & 1:
                bring(
                    book, bounds, numbers, values, c, position, row, bundle, book[book[BUNDLE_FIRST] + bundle],
                    book[book[BUNDLE_END] + after - 1], at_once and is_single(own),
                )  # fmt: skip
        bundle = after


@inlined
def takes(book, bundle, track):
    """Whether a bundle (of the class at hand) belongs to those meant by `track`."""
    shared = book[book[SHARED] + book[book[LEAF] + bundle]] != 0
    return track == EVERYONE or (track == THE_OTHERS and not shared) or (shared and book[book[NOW] + bundle] == track)


@inner
def are_single(book, c, entry):
    """Whether no bundle reads the row at several positions."""
    bits = book[book[ENTRY_BITS] + entry]
    if bits != DIFFERS:
        return is_single(bits)
    for j in range(book[book[BUNDLE_FROM] + c + 1] - book[book[BUNDLE_FROM] + c]):
        own = bits_of(book, entry, j)
        if own != 0 and not is_single(own):
            return False
    return True


@inner
def bring_tick(book, bounds, numbers, values, pattern_of, c, row, end, track, exact):
    """Compute the rows [row, end) of one tick in a class into what is pending. The caller inserts."""
    pending_counts, pending_measures = 0.0, 0.0
    for i in range(row, end):
        entry = find_entry(book, pattern_of[i], c)
        if entry < 0:
            continue
        if exact is not None and book[KIND] == LINEAR:
            most_in = float(book[book[MOST_IN] + c])
            for attempt in range(3):
                counts = bounds[book[OUTSIDE_BOUND] + 2 * c] + most_in * bounds[book[BOUND] + 2 * c]
                measures = bounds[book[OUTSIDE_BOUND] + 2 * c + 1] + most_in * bounds[book[BOUND] + 2 * c + 1]
                measures += magnitude_of(values, i) * counts
                if max(pending_counts + counts, pending_measures + measures) <= MOST / 2:
                    break
                if attempt == 2:
                    return TOO_LARGE
                if attempt == 0:
                    status = tighten(book, bounds, numbers, c)
                    if status == DONE:
                        status = tighten_outside(book, bounds, numbers, c)
                    if status != DONE:
                        return status
                    book[book[LIMBS] + c] = max(book[book[LIMBS] + c], book[book[OUTSIDE_LIMBS] + c])
                elif book[WIDE] != 0:
                    status = settle_pending(book, bounds, numbers, c)
                    if status != DONE:
                        return status
                    pending_counts, pending_measures = bounds[book[PENDING_BOUND]], bounds[book[PENDING_BOUND] + 1]
            pending_counts += counts
            pending_measures += measures
        bring_row(book, bounds, numbers, values, c, entry, i, track, np.bool_(False))
    if exact is not None and book[KIND] == LINEAR:
        for attempt in range(3):
            counts = bounds[book[BOUND] + 2 * c] + pending_counts
            if max(counts, bounds[book[BOUND] + 2 * c + 1] + pending_measures) <= MOST:
                break
            if attempt == 2:
                return TOO_LARGE
            if attempt == 0:
                status = tighten(book, bounds, numbers, c)
            else:
                status = settle_pending(book, bounds, numbers, c)
                pending_counts, pending_measures = bounds[book[PENDING_BOUND]], bounds[book[PENDING_BOUND] + 1]
            if status != DONE:
                return status
        bounds[book[BOUND] + 2 * c] += pending_counts
        bounds[book[BOUND] + 2 * c + 1] += pending_measures
    return DONE


@inner
def settle_pending(book, bounds, numbers, c):
    limbs = tighten_block(
        numbers, pending_place(book, c), book[book[LANES] + c], book[book[POSITIONS] + c], book[PARTS], book[ROOM],
        book[book[LIMBS] + c], book[WIDE] != 0, bounds, book[PENDING_BOUND],
    )  # fmt: skip
    if limbs > book[ROOM]:
        return NO_LIMB
    book[book[LIMBS] + c] = limbs
    book[MOST_LIMBS] = max(book[MOST_LIMBS], limbs)
    return DONE


@inner
def bring_alone(book, bounds, numbers, values, pattern_of, ticks, c, row, end, track, exact):
    """The rows [row, end) of a burst, tick by tick."""
    plain = track == EVERYONE and book[book[MOST_IN] + c] <= 1 and is_plain(book, c)
    while row < end:
        if plain:
            status, row = bring_plain(book, bounds, numbers, values, pattern_of, ticks, c, row, end, exact)
            if status != DONE or row == end:
                return status
        after = row + 1
        while after < end and ticks[after] == ticks[row]:
            after += 1
        entry = find_entry(book, pattern_of[row], c)
        if after == row + 1 and (entry < 0 or are_single(book, c, entry)):
            if entry >= 0:
                if exact is not None and book[KIND] == LINEAR:
                    status = bound_row(book, bounds, numbers, values, c, row)
                    if status != DONE:
                        return status
                bring_row(book, bounds, numbers, values, c, entry, row, track, np.bool_(True))
        else:
            status = bring_tick(book, bounds, numbers, values, pattern_of, c, row, after, track, exact)
            if status != DONE:
                return status
            insert_pending(book, bounds, numbers, c)
        row = after
    return DONE


@inner
def bound_row(book, bounds, numbers, values, c, row):
    """Make sure that a row can be added at once."""
    most_in = float(book[book[MOST_IN] + c])
    for attempt in range(2):
        counts = bounds[book[OUTSIDE_BOUND] + 2 * c] + most_in * bounds[book[BOUND] + 2 * c]
        measures = bounds[book[OUTSIDE_BOUND] + 2 * c + 1] + most_in * bounds[book[BOUND] + 2 * c + 1]
        if book[PARTS] > 1:
            measures += magnitude_of(values, row) * counts
        if max(bounds[book[BOUND] + 2 * c] + counts, bounds[book[BOUND] + 2 * c + 1] + measures) <= MOST:
            bounds[book[BOUND] + 2 * c] += counts
            bounds[book[BOUND] + 2 * c + 1] += measures
            return DONE
        if attempt == 0:
            status = tighten(book, bounds, numbers, c)
            if status == DONE:
                status = tighten_outside(book, bounds, numbers, c)
            if status != DONE:
                return status
            book[book[LIMBS] + c] = max(book[book[LIMBS] + c], book[book[OUTSIDE_LIMBS] + c])
    return TOO_LARGE


@inner
def is_plain(book, c):
    """Whether a class is a single state that only counts, and all its members read the burst alike."""
    return (
        book[book[REGISTERS] + c] == 1
        and book[PARTS] == 1
        and book[KIND] == LINEAR
        and book[book[DIFFERS_NOW] + c] == 0
        and book[book[BUNDLE_FROM] + c + 1] == book[book[BUNDLE_FROM] + c] + 1
    )


@inner
def bring_plain(book, bounds, numbers, values, pattern_of, ticks, c, row, end, exact):
    """`bring_alone` for such a class, without looking for lanes row by row; returns the first row that was left."""
    lanes, most_in = book[book[LANES] + c], book[book[MOST_IN] + c]
    total_at, outside_at = total_place(book, c), outside_place(book, c)
    known, reads = np.int64(-1), False
    status = DONE
    while row < end and status == DONE:
        if row + 1 < end and ticks[row + 1] == ticks[row]:
            break
        if pattern_of[row] != known:
            known = np.int64(pattern_of[row])
            reads = find_entry(book, known, c) >= 0
        if reads:
            if exact is not None:
                status = bound_row(book, bounds, numbers, values, c, row)
                if status != DONE:
                    break
            length = lanes * book[book[LIMBS] + c]
            if most_in == 1:
                double_and_add(numbers, total_at, outside_at, length)
            else:
                add(numbers, total_at, outside_at, length, LINEAR)
        row += 1
    return status, row
