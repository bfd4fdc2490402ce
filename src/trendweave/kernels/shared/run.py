"""Over the rows of all segments, burst by burst."""

import numpy as np

from trendweave.kernels.compiling import inlined, inner, outer
from trendweave.kernels.growing import grow
from trendweave.kernels.shared.book import (
    ACTIVE,
    ACTIVE_LIST,
    BOUND,
    BURST,
    BURST_ROWS,
    BURSTS_ALONE,
    BURSTS_SHARED,
    CLASSES,
    DIFFERS_NOW,
    DONE,
    EMPTY_CLASS,
    EMPTY_FROM,
    EMPTY_REGISTER,
    ENTRIES,
    ENTRY_BITS,
    ENTRY_CLASS,
    ENTRY_FROM,
    GATHERED,
    IN_BURST,
    IS_TOUCHED,
    KIND,
    KINDS,
    LANES,
    LAST_SHARED,
    LIMBS,
    MERGES,
    MOST_LIMBS,
    NEIGHBOUR,
    NEIGHBOUR_FROM,
    NO_LIMB,
    NO_ROOM,
    OPEN_FIRST,
    OPEN_LAST,
    OUTSIDE_LIMBS,
    PARTS,
    QUERIES,
    ROOM,
    SPLITS,
    TOUCHED,
    TOUCHED_LIST,
    WIDE,
)
from trendweave.kernels.shared.gathering import gather
from trendweave.kernels.shared.graphlets import ALWAYS, AUTO, NEVER, bring_shared, may_share, plan_tracks
from trendweave.kernels.shared.numbers import fill
from trendweave.kernels.shared.patterns import DIFFERS
from trendweave.kernels.shared.places import total_place
from trendweave.kernels.shared.query_basis import EVERYONE, THE_OTHERS, bring_alone, bring_tick, insert_pending
from trendweave.kernels.shared.windows import move_windows, touch
from trendweave.kernels.stopping import heed_stop

NOBODY = -3
MOST_ACTIVE = 4  # independent classes of one burst: each goes over the burst's rows
NO_WINDOW = -(2**62)


@inner
def is_bound(book, bounds, c):
    """Whether a class is joined by a transition with a class of the burst."""
    for j in range(book[ACTIVE]):
        one, other = c, book[book[ACTIVE_LIST] + j]
        degree = book[book[NEIGHBOUR_FROM] + c + 1] - book[book[NEIGHBOUR_FROM] + c]
        if degree > book[book[NEIGHBOUR_FROM] + other + 1] - book[book[NEIGHBOUR_FROM] + other]:
            one, other = other, c
        for i in range(book[book[NEIGHBOUR_FROM] + one], book[book[NEIGHBOUR_FROM] + one + 1]):
            if book[book[NEIGHBOUR] + i] == other:
                return True
    return False


@inner
def can_join(book, bounds, number, burst):
    """Whether rows of a pattern can be part of the burst."""
    if book[book[EMPTY_FROM] + number] < book[book[EMPTY_FROM] + number + 1]:
        return False
    joining = 0
    for entry in range(book[book[ENTRY_FROM] + number], book[book[ENTRY_FROM] + number + 1]):
        c = book[book[ENTRY_CLASS] + entry]
        if book[book[IN_BURST] + c] == burst:
            continue
        # Classes that join together are compared with each other when the first of them is in.
        if book[ACTIVE] >= MOST_ACTIVE or is_bound(book, bounds, c):
            for _ in range(joining):
                book[ACTIVE] -= 1
                book[book[IN_BURST] + book[book[ACTIVE_LIST] + book[ACTIVE]]] = 0
            return False
        book[book[IN_BURST] + c] = burst
        book[book[ACTIVE_LIST] + book[ACTIVE]] = c
        book[book[BURST_ROWS] + c] = 0
        book[book[DIFFERS_NOW] + c] = False
        book[ACTIVE] += 1
        joining += 1
    return True


@inner
def find_burst(book, bounds, pattern_of, border, ticks, row, end):
    """The end of the longest burst that begins at a row, `row` itself if not even its tick is one; `active` has its
    classes and `burst_rows` how many rows each reads."""
    book[BURST] += 1
    burst = book[BURST]
    book[ACTIVE] = 0
    at = row
    while at < end and (at == row or not border[at]):
        number = pattern_of[at]
        if not can_join(book, bounds, number, burst):
            break
        after = at + 1
        while after < end and pattern_of[after] == number and not border[after]:
            after += 1
        for entry in range(book[book[ENTRY_FROM] + number], book[book[ENTRY_FROM] + number + 1]):
            c = book[book[ENTRY_CLASS] + entry]
            book[book[BURST_ROWS] + c] += after - at
            book[book[DIFFERS_NOW] + c] = book[book[DIFFERS_NOW] + c] or book[book[ENTRY_BITS] + entry] == DIFFERS
        at = after
    if at < end and not (at > row and border[at]):
        stopped = at
        while at > row and ticks[at - 1] == ticks[stopped]:  # a tick is never cut
            at -= 1
            number = pattern_of[at]
            for entry in range(book[book[ENTRY_FROM] + number], book[book[ENTRY_FROM] + number + 1]):
                book[book[BURST_ROWS] + book[book[ENTRY_CLASS] + entry]] -= 1
    return at


@inner
def run_burst(book, bounds, numbers, values, pattern_of, ticks, trace, row, end, exact):
    """All classes of a burst, each by itself."""
    for j in range(book[ACTIVE]):
        c = book[book[ACTIVE_LIST] + j]
        if book[book[BURST_ROWS] + c] == 0:
            continue
        status = gather(book, bounds, numbers, c, exact)
        if status != DONE:
            return status
        touch(book, c)
        track = np.int64(EVERYONE)
        if may_share(book, c, exact):
            shared, tracks = plan_tracks(book, bounds, numbers, pattern_of, c, row, end, exact)
            if shared > 0:
                status = bring_shared(book, bounds, numbers, values, pattern_of, ticks, trace, c, row, end, exact)
                if status != DONE:
                    return status
                track = np.int64(THE_OTHERS if shared < tracks else NOBODY)
        if track != NOBODY:
            status = bring_alone(book, bounds, numbers, values, pattern_of, ticks, c, row, end, track, exact)
            if status != DONE:
                return status
        if book[book[LANES] + c] > 1:
            count_burst(book, c, track != EVERYONE)
    return DONE


@inlined
def count_burst(book, c, shared):
    book[BURSTS_SHARED if shared else BURSTS_ALONE] += 1
    if book[book[LAST_SHARED] + c] == 1 and not shared:
        book[SPLITS] += 1
    if book[book[LAST_SHARED] + c] == 0 and shared:
        book[MERGES] += 1
    book[book[LAST_SHARED] + c] = 1 if shared else 0


@inner
def run_tick(book, bounds, numbers, values, pattern_of, row, end, exact):
    """The rows of one tick, of classes that depend on each other or with blockers: all is computed, then blockers empty
    what they block, then all is inserted."""
    book[BURST] += 1
    burst, count = book[BURST], 0
    for i in range(row, end):
        for entry in range(book[book[ENTRY_FROM] + pattern_of[i]], book[book[ENTRY_FROM] + pattern_of[i] + 1]):
            c = book[book[ENTRY_CLASS] + entry]
            if book[book[IN_BURST] + c] == burst:
                continue
            book[book[IN_BURST] + c] = burst
            book[book[ACTIVE_LIST] + count] = c
            count += 1
            status = gather(book, bounds, numbers, c, exact)
            if status != DONE:
                return status
    for j in range(count):
        status = bring_tick(
            book, bounds, numbers, values, pattern_of, book[book[ACTIVE_LIST] + j], row, end, np.int64(EVERYONE), exact
        )
        if status != DONE:
            return status
    for i in range(row, end):
        for j in range(book[book[EMPTY_FROM] + pattern_of[i]], book[book[EMPTY_FROM] + pattern_of[i] + 1]):
            c = book[book[EMPTY_CLASS] + j]
            if book[book[IS_TOUCHED] + c]:
                block = book[PARTS] * book[ROOM] * book[book[LANES] + c]
                at = total_place(book, c) + book[book[EMPTY_REGISTER] + j] * block
                fill(numbers, at, block, book[KIND])
                touch(book, c)
    for j in range(count):
        c = book[book[ACTIVE_LIST] + j]
        insert_pending(book, bounds, numbers, c)
        touch(book, c)
        if book[book[LANES] + c] > 1:
            count_burst(book, c, False)
    return DONE


@inner
def run_rows(book, bounds, numbers, places, found, rows, trace, row, end, segment, exact):
    """Rows [row, end) of a segment, then close its windows; returns (status, the row to go on with)."""
    while row < end:
        heed_stop()
        if rows.border[row] or book[book[OPEN_FIRST]] == NO_WINDOW:
            status = move_windows(
                book, bounds, numbers, places, found, rows.window_first, rows.window_last, row, segment, exact
            )
            if status != DONE:
                return status, row
        after = find_burst(book, bounds, rows.pattern, rows.border, rows.tick, row, end)
        if after > row:
            status = run_burst(book, bounds, numbers, rows.values, rows.pattern, rows.tick, trace, row, after, exact)
        else:
            after = row + 1
            while after < end and rows.tick[after] == rows.tick[row]:
                after += 1
            status = run_tick(book, bounds, numbers, rows.values, rows.pattern, row, after, exact)
        if status != DONE:
            return status, row
        row = after
    status = move_windows(
        book, bounds, numbers, places, found, rows.window_first, rows.window_last, np.int64(-1), segment, exact
    )
    return status, row


@inner
def begin_segment(book, bounds):
    for kind in range(book[KINDS]):
        book[book[OPEN_FIRST] + kind] = NO_WINDOW
        book[book[OPEN_LAST] + kind] = NO_WINDOW - 1
    for i in range(book[TOUCHED]):
        c = book[book[TOUCHED_LIST] + i]
        book[book[IS_TOUCHED] + c] = 0
        book[book[LIMBS] + c] = 1
        bounds[book[BOUND] + 2 * c], bounds[book[BOUND] + 2 * c + 1] = 0.0, 0.0
    book[TOUCHED] = 0
    book[MOST_LIMBS] = 1


@inner
def forget(book, numbers):
    """Empty everything: a segment was begun in vain."""
    fill(numbers, 0, numbers.size, book[KIND])
    for c in range(book[CLASSES]):
        book[book[OUTSIDE_LIMBS] + c] = 1
        book[book[GATHERED] + c] = -1


@outer
def run_segments(book, bounds, numbers, places, found, rows, trace, first_segment, exact):
    """All segments from the given one on; returns (status, the segment that it is about, results)."""
    segment = first_segment
    row, fresh = np.int64(-1), True
    before = book[:PARTS].copy()
    while segment < rows.segment_starts.size - 1:
        if fresh:
            row = rows.segment_starts[segment]
            begin_segment(book, bounds)
            before[:] = book[:PARTS]
            fresh = False
        status, row = run_rows(
            book, bounds, numbers, places, found, rows, trace, row, rows.segment_starts[segment + 1], segment, exact
        )
        if status == NO_ROOM:
            places = grow(places, 2 * places.shape[0] + 2 * book[QUERIES])
            found = grow(found, 2 * found.size + 2 * book[QUERIES] * book[PARTS] * (book[MOST_LIMBS] + 1))
            continue
        if status != DONE:
            forget(book, numbers)
            for name in range(ENTRIES, PARTS):
                book[name] = before[name]
            fresh = True
            if status == NO_LIMB or book[ROOM] == 1 or book[WIDE] == 1:
                begin_segment(book, bounds)
                break
            book[WIDE] = 1
            continue
        if book[WIDE] == 1 and book[MOST_LIMBS] <= 2:
            book[WIDE] = 0  # limbs were not needed; the next segment tries without
        segment += 1
        fresh = True
    return segment, places, found


__all__ = ["ALWAYS", "AUTO", "NEVER", "run_segments"]
