"""A burst in the shared basis: which bundles go together, which tracks are worth it, and the rows."""

import numpy as np

from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.shared.book import (
    ACCEPT,
    BITS,
    BUNDLE_ALIKE,
    BUNDLE_END,
    BUNDLE_FIRST,
    BUNDLE_FROM,
    BURST_ROWS,
    DIFFERS_NOW,
    DONE,
    ENTRY_ACCEPT,
    ENTRY_BITS,
    EXAMPLE,
    FACTOR_SIZE,
    HITS,
    IN_FROM,
    IN_REGISTER,
    KIND,
    LANES,
    LEAF,
    LIMBS,
    MOST_IN,
    NEEDED,
    NOW,
    PARENT,
    PARTS,
    POSITION_FROM,
    POSITIONS,
    REGISTERS,
    ROOM,
    SHARED,
    SHARING,
    SIBLING,
    SIZE,
    SNAPSHOTS,
    TOO_LARGE,
    TRACED,
)
from trendweave.kernels.shared.decision import ANY, PARTED, PLAIN, sharing_pays
from trendweave.kernels.shared.numbers import LINEAR, copy
from trendweave.kernels.shared.patterns import DIFFERS
from trendweave.kernels.shared.places import factor_place, outside_place, total_place
from trendweave.kernels.shared.query_basis import (
    bits_of,
    bring_tick,
    find_entry,
    insert_pending,
    is_plain,
    is_single,
    magnitude_of,
)
from trendweave.kernels.shared.tracks import begin_track, flush, insert_factors, limit_of, step_factors

NEVER = 0
ALWAYS = 1
AUTO = 2
MOST_REGISTERS = 8  # of a class that is shared


@inner
def begin_bundles(book, c, on):
    """One track for all bundles that are measured alike; returns how many."""
    first = book[book[BUNDLE_FROM] + c]
    tracks = 0
    for bundle in range(first, book[book[BUNDLE_FROM] + c + 1]):
        alike = book[book[BUNDLE_ALIKE] + bundle]
        book[book[on] + bundle - first] = alike
        if alike == tracks:
            book[book[EXAMPLE] + tracks] = bundle - first
            book[book[PARENT] + tracks] = -1
            tracks += 1
    return tracks


@inner
def part_bundles(book, on, count, at, tracks):
    """Bundles on one track that read a row at different positions part: the first stays; returns how many tracks."""
    before = tracks
    for track in range(before):
        book[book[BITS] + track] = -1
        book[book[SIBLING] + track] = -1
    for bundle in range(count):
        track = book[book[on] + bundle]
        own = book[book[ACCEPT] + at + bundle]
        if book[book[BITS] + track] < 0:
            book[book[BITS] + track] = own
            book[book[EXAMPLE] + track] = bundle
            continue
        other = track
        while book[book[BITS] + other] != own:
            if book[book[SIBLING] + other] < 0:
                book[book[SIBLING] + other] = tracks
                book[book[BITS] + tracks] = own
                book[book[SIBLING] + tracks] = -1
                book[book[PARENT] + tracks] = track
                book[book[EXAMPLE] + tracks] = bundle
                tracks += 1
            other = book[book[SIBLING] + other]
        book[book[on] + bundle] = other
    return tracks


@inner
def manner_of(book, c):
    """What kind of burst this is for the decision."""
    if book[PARTS] > 1 or book[book[REGISTERS] + c] > 1 or book[KIND] != LINEAR:
        return ANY
    return PLAIN if is_plain(book, c) else PARTED


@inner
def may_share(book, c, exact):
    """Whether it would pay to share all lanes of a class: if not, no track is worth a look."""
    may = book[SHARING] != NEVER and book[book[LANES] + c] > 1 and book[book[REGISTERS] + c] <= MOST_REGISTERS
    if may and book[SHARING] == AUTO:
        limbs = float(book[book[LIMBS] + c])
        may = sharing_pays(
            float(book[book[BURST_ROWS] + c]), float(book[book[REGISTERS] + c]), float(book[book[POSITIONS] + c]),
            float(book[PARTS]), book[book[LANES] + c] * limbs, 1.0, manner_of(book, c), exact is not None,
        )  # fmt: skip
    return may


@inner
def plan_tracks(book, bounds, numbers, pattern_of, c, row, end, exact):
    """Find the tracks at the end of the burst and decide which of them are shared; returns how many are."""
    first = book[book[BUNDLE_FROM] + c]
    count = book[book[BUNDLE_FROM] + c + 1] - first
    tracks = begin_bundles(book, c, LEAF)
    if is_plain(book, c):
        book[book[SHARED]], book[book[NEEDED]] = 1, 1
        return 1, 1
    rows = book[book[BURST_ROWS] + c]
    for bundle in range(count):
        book[book[HITS] + bundle] = rows
    if book[book[DIFFERS_NOW] + c]:
        while row < end:
            number = pattern_of[row]
            after = row + 1
            while after < end and pattern_of[after] == number:
                after += 1
            entry = find_entry(book, number, c)
            if entry >= 0 and book[book[ENTRY_BITS] + entry] == DIFFERS:
                at = book[book[ENTRY_ACCEPT] + entry]
                tracks = part_bundles(book, LEAF, count, at, tracks)
                for bundle in range(count):
                    if book[book[ACCEPT] + at + bundle] == 0:
                        book[book[HITS] + bundle] -= after - row
            row = after
    shared = 0
    for track in range(tracks):
        pays = book[SHARING] == ALWAYS
        if book[SHARING] == AUTO:
            lanes, pieces, hits = 0, 0, np.int64(0)
            for bundle in range(count):
                if book[book[LEAF] + bundle] == track:
                    lanes += book[book[BUNDLE_END] + first + bundle] - book[book[BUNDLE_FIRST] + first + bundle]
                    pieces += 1
                    hits = book[book[HITS] + bundle]
            limbs = book[book[LIMBS] + c]
            pays = sharing_pays(
                float(hits), float(book[book[REGISTERS] + c]), float(book[book[POSITIONS] + c]), float(book[PARTS]),
                float(lanes * limbs), float(pieces if pieces < count else 1) * limbs, manner_of(book, c),
                exact is not None,
            )  # fmt: skip
        book[book[SHARED] + track] = pays
        book[book[NEEDED] + track] = pays
        shared += pays
    for track in range(tracks - 1, -1, -1):
        if book[book[NEEDED] + track] and book[book[PARENT] + track] >= 0:
            book[book[NEEDED] + book[book[PARENT] + track]] = True
    return shared, tracks


@inner
def trace_snapshot(book, numbers, trace, c, track, row, parent):
    """Write down, for tests, what the next row would bring at each position in each lane of a track."""
    if trace.shape[0] == 0 or book[KIND] != LINEAR:
        return
    registers, lanes = book[book[REGISTERS] + c], book[book[LANES] + c]
    width = registers + book[book[POSITIONS] + c]
    first = book[book[BUNDLE_FROM] + c]
    block = book[PARTS] * book[ROOM] * lanes
    factors = factor_place(book, track)
    for position in range(book[book[POSITIONS] + c]):
        place = book[book[POSITION_FROM] + c] + position
        for bundle in range(first, book[book[BUNDLE_FROM] + c + 1]):
            if book[book[NOW] + bundle - first] != track:
                continue
            for lane in range(book[book[BUNDLE_FIRST] + bundle], book[book[BUNDLE_END] + bundle]):
                if book[TRACED] == trace.shape[0]:
                    return
                value = numbers[outside_place(book, c) + position * block + lane]
                for j in range(book[book[IN_FROM] + place], book[book[IN_FROM] + place + 1]):
                    for w in range(width):
                        come = total_place(book, c) + w * block + lane
                        if w >= registers:
                            come = outside_place(book, c) + (w - registers) * block + lane
                        value += numbers[factors + book[book[IN_REGISTER] + j] * width + w] * numbers[come]
                line = trace[book[TRACED]]
                line[0], line[1], line[2], line[3], line[4] = row, c, position, lane, parent
                line[5], line[6] = track, value
                book[TRACED] += 1


@inner
def share_plain(book, bounds, numbers, pattern_of, ticks, c, row, end, limit, exact):
    """`bring_shared` for a single state that only counts: two factors, of what was there and of what comes in."""
    most_in, one = book[book[MOST_IN] + c], numbers.dtype.type(1)
    known, reads = np.int64(-1), False
    factors, size = factor_place(book, 0), 1.0
    before, outside = one, one - one
    while row < end:
        hits, after = np.int64(0), row
        while after == row or (after < end and ticks[after] == ticks[row]):
            if pattern_of[after] != known:
                known = np.int64(pattern_of[after])
                reads = find_entry(book, known, c) >= 0
            hits += reads
            after += 1
        grown = size + hits * (1.0 + most_in * size)
        if grown > limit:
            numbers[factors], numbers[factors + 1] = before, outside
            status = flush(book, bounds, numbers, c, np.int64(0), exact)
            if status != DONE:
                return status
            before, outside, size = one, one - one, 1.0
            grown = size + hits * (1.0 + most_in * size)
            if grown > limit:
                return TOO_LARGE
        outside += hits * (one + most_in * outside)
        before += hits * most_in * before
        size = grown
        row = after
    numbers[factors], numbers[factors + 1] = before, outside
    return flush(book, bounds, numbers, c, np.int64(0), exact)


@inner
def bring_shared(
    book, bounds, numbers, values, pattern_of, ticks, trace, c, row, end, exact
):  # fmt: skip
    """The rows [row, end) of a burst for all tracks that are needed."""
    first = book[book[BUNDLE_FROM] + c]
    count = book[book[BUNDLE_FROM] + c + 1] - first
    width = book[book[REGISTERS] + c] + book[book[POSITIONS] + c]
    limit = limit_of(book, width, exact)
    most_in = float(book[book[MOST_IN] + c])
    tracks = begin_bundles(book, c, NOW)
    for track in range(tracks):
        if book[book[NEEDED] + track]:
            begin_track(book, bounds, numbers, c, track)
            trace_snapshot(book, numbers, trace, c, track, row, -1)
            book[SNAPSHOTS] += 1
    if is_plain(book, c):
        return share_plain(book, bounds, numbers, pattern_of, ticks, c, row, end, limit, exact)
    known = np.int64(-1)
    while row < end:
        after = row + 1
        while after < end and ticks[after] == ticks[row]:
            after += 1
        for i in range(row, after):
            if pattern_of[i] == known or not book[book[DIFFERS_NOW] + c]:
                continue
            known = np.int64(pattern_of[i])
            entry = find_entry(book, pattern_of[i], c)
            if entry >= 0 and book[book[ENTRY_BITS] + entry] == DIFFERS:
                before = tracks
                tracks = part_bundles(book, NOW, count, book[book[ENTRY_ACCEPT] + entry], tracks)
                for track in range(before, tracks):
                    if book[book[NEEDED] + track]:
                        parent = book[book[PARENT] + track]
                        copy(numbers, factor_place(book, track), factor_place(book, parent), book[FACTOR_SIZE])
                        copy(bounds, book[SIZE] + 2 * track, book[SIZE] + 2 * parent, 2)
                        trace_snapshot(book, numbers, trace, c, track, i, parent)
                        trace_snapshot(book, numbers, trace, c, parent, i, parent)
                        book[SNAPSHOTS] += 1
        for track in range(tracks):
            if not book[book[NEEDED] + track]:
                continue
            status = step_tick(book, bounds, numbers, values, pattern_of, c, track, row, after, limit, most_in, exact)
            if status != DONE:
                return status
        row = after
    for track in range(tracks):
        if book[book[NEEDED] + track]:
            status = flush(book, bounds, numbers, c, track, exact)
            if status != DONE:
                return status
    return DONE


@inlined
def bits_on_track(book, number, c, track):
    """The positions at which a track reads a pattern."""
    entry = find_entry(book, number, c)
    bits = np.int64(0)
    if entry >= 0:
        bits = bits_of(book, entry, book[book[EXAMPLE] + track])
    return bits


@inner
def step_plain(book, bounds, numbers, pattern_of, c, track, row, after, limit, most_in, exact):
    """The same for a single state that only counts: two factors, of what was there and of what comes in."""
    hits = np.int64(0)
    for i in range(row, after):
        bits = bits_on_track(book, pattern_of[i], c, track)
        hits += bits != 0
    if hits == 0:
        return DONE
    if not fits(bounds, book[SIZE] + 2 * track, float(hits), 0.0, most_in, limit):
        status = flush(book, bounds, numbers, c, track, exact)
        if status != DONE:
            return status
    at, inside = factor_place(book, track), hits * book[book[MOST_IN] + c]
    numbers[at + 1] += hits + inside * numbers[at + 1]
    numbers[at] += inside * numbers[at]
    bounds[book[SIZE] + 2 * track] = max(float(numbers[at]), float(numbers[at + 1]))
    return DONE


@inner
def step_tick(
    book, bounds, numbers, values, pattern_of, c, track, row, after, limit, most_in, exact
):  # fmt: skip
    """The rows of one tick on one track."""
    if book[PARTS] == 1 and book[book[REGISTERS] + c] == 1 and book[KIND] == LINEAR:
        return step_plain(book, bounds, numbers, pattern_of, c, track, row, after, limit, most_in, exact)
    bits = bits_on_track(book, pattern_of[row], c, track)
    at_once = after == row + 1 and is_single(bits)
    if after == row + 1 and bits == 0:
        return DONE
    if book[KIND] == LINEAR:
        measured = 0.0
        if book[PARTS] > 1:
            for i in range(row, after):
                measured += magnitude_of(values, i)
        if not fits(bounds, book[SIZE] + 2 * track, float(after - row), measured, most_in, limit):
            status = flush(book, bounds, numbers, c, track, exact)
            if status != DONE:
                return status
            if not fits(bounds, book[SIZE] + 2 * track, float(after - row), measured, most_in, limit):
                # Too much for any factor: these rows go through the lanes.
                status = bring_tick(book, bounds, numbers, values, pattern_of, c, row, after, track, exact)
                insert_pending(book, bounds, numbers, c)
                return status
    bundle = book[book[BUNDLE_FROM] + c] + book[book[EXAMPLE] + track]
    for i in range(row, after):
        if i > row:
            bits = bits_on_track(book, pattern_of[i], c, track)
        for position in range(book[book[POSITIONS] + c]):
            if (bits >> position) & 1:
                step_factors(book, bounds, numbers, values, c, track, position, i, bundle, at_once)
    if not at_once:
        insert_factors(book, bounds, numbers, c, track)
    return DONE


@inlined
def fits(bounds, at, rows, measured, most_in, limit):
    """Whether factors stay below the limit after so many rows of a tick."""
    counts = 1.0 + most_in * bounds[at]
    measures = rows * most_in * bounds[at + 1] + measured * counts
    return bounds[at] + rows * counts <= limit and bounds[at + 1] + measures <= limit
