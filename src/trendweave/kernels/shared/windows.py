"""Windows open and close as rows go on. A window's lanes are empty before it opens and after it closes; so a row may be
added to all lanes of a class, whatever windows it lies in."""

import numpy as np

from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.shared.book import (
    BOUND,
    CHANGED,
    DONE,
    ENTRIES,
    FINAL_CLASS,
    FINAL_FROM,
    FINAL_LANE,
    FINAL_POSITION,
    IS_TOUCHED,
    KIND,
    KINDS,
    LANES,
    LIMBS,
    MEMBER_FROM,
    MEMBER_LANE,
    MEMBER_WINDOW,
    NO_ROOM,
    NUMBERS,
    OPEN_FIRST,
    OPEN_LAST,
    PARTS,
    QUERIES,
    QUERY,
    QUERY_FROM,
    QUERY_SEEN,
    QUERY_WINDOW,
    REGISTERS,
    ROOM,
    SLOTS,
    TOO_LARGE,
    TOUCHED,
    TOUCHED_LIST,
    VERSION,
    WIDE,
    WINDOW,
    WINDOWS_MOVED,
)
from trendweave.kernels.shared.gathering import larger_bound, tighten
from trendweave.kernels.shared.numbers import LINEAR, MOST, NO_TREND, SETTLED, fill
from trendweave.kernels.shared.places import total_place


@inlined
def touch(book, c):
    """The class's totals change: it must be emptied when windows close, and what was gathered from it is old."""
    book[VERSION] += 1
    book[book[CHANGED] + c] = book[VERSION]
    if not book[book[IS_TOUCHED] + c]:
        book[book[IS_TOUCHED] + c] = True
        book[book[TOUCHED_LIST] + book[TOUCHED]] = c
        book[TOUCHED] += 1


@inner
def empty_slot(book, bounds, numbers, c, kind, slot):
    """Empty a window's lanes of a class."""
    lanes, room = book[book[LANES] + c], book[ROOM]
    at = total_place(book, c)
    blocks = book[book[REGISTERS] + c] * book[PARTS]
    if book[book[WINDOW] + c] == kind and book[book[SLOTS] + kind] == 1:
        for block in range(blocks):
            fill(numbers, at + block * room * lanes, book[book[LIMBS] + c] * lanes, book[KIND])
        return
    for j in range(book[book[MEMBER_FROM] + c], book[book[MEMBER_FROM] + c + 1]):
        if book[book[MEMBER_WINDOW] + j] == kind:
            lane = at + book[book[MEMBER_LANE] + j] + slot
            for block in range(blocks):
                for limb in range(book[book[LIMBS] + c]):
                    fill(numbers, lane + (block * room + limb) * lanes, 1, book[KIND])


@inner
def write_entry(book, numbers, places, found, query, slot, segment, window):
    """Add up the final states of a query; False if 64 bits do not hold the sum."""
    first, end = book[book[FINAL_FROM] + query], book[book[FINAL_FROM] + query + 1]
    limbs = np.int64(1)
    for j in range(first, end):
        limbs = max(limbs, book[book[LIMBS] + book[book[FINAL_CLASS] + j]])
    at = book[NUMBERS]
    is_there = False
    for part in range(book[PARTS]):
        for limb in range(limbs):
            place = at + part * limbs + limb
            found[place] = 0 if book[KIND] == LINEAR else NO_TREND
            magnitude = 0.0
            for j in range(first, end):
                c = book[book[FINAL_CLASS] + j]
                if limb >= book[book[LIMBS] + c]:
                    continue
                lanes = book[book[LANES] + c]
                block = total_place(book, c) + book[book[FINAL_POSITION] + j] * lanes * book[PARTS] * book[ROOM]
                number = numbers[block + (part * book[ROOM] + limb) * lanes + book[book[FINAL_LANE] + j] + slot]
                if book[KIND] == LINEAR:
                    magnitude += abs(float(number))
                    found[place] += number
                else:
                    found[place] = max(found[place], number)
            if book[KIND] == LINEAR:
                is_there = is_there or (part == 0 and found[place] != 0)
                if book[WIDE] == 0 and magnitude > 2 * MOST:
                    book[WIDE] = -1  # noticed by the caller; not so for floats
            else:
                is_there = is_there or found[place] != NO_TREND
        if not is_there:  # counts come first; extrema are all there or none of them is
            return
    entry = book[ENTRIES]
    places[entry, 0], places[entry, 1], places[entry, 2] = query, segment, window
    places[entry, 3], places[entry, 4] = at, limbs
    book[ENTRIES] += 1
    book[NUMBERS] += book[PARTS] * limbs


@inner
def close_window(book, bounds, numbers, places, found, kind, window, segment, exact):
    """Write what the queries have in a window, and empty its lanes."""
    most = np.int64(1)
    for i in range(book[TOUCHED]):
        c = book[book[TOUCHED_LIST] + i]
        if exact is not None and book[KIND] == LINEAR:
            if book[WIDE] != 0 and larger_bound(book, bounds, BOUND, c) > SETTLED:
                status = tighten(book, bounds, numbers, c)
                if status != DONE:
                    return status
        most = max(most, book[book[LIMBS] + c])
    if book[ENTRIES] + book[QUERIES] > places.shape[0]:
        return NO_ROOM
    if book[NUMBERS] + book[QUERIES] * book[PARTS] * most > found.size:
        return NO_ROOM
    book[VERSION] += 1
    slot = window % book[book[SLOTS] + kind]
    for i in range(book[TOUCHED]):
        c = book[book[TOUCHED_LIST] + i]
        for j in range(book[book[QUERY_FROM] + c], book[book[QUERY_FROM] + c + 1]):
            query = book[book[QUERY] + j]
            if book[book[QUERY_WINDOW] + query] == kind and book[book[QUERY_SEEN] + query] != book[VERSION]:
                book[book[QUERY_SEEN] + query] = book[VERSION]
                write_entry(book, numbers, places, found, query, slot, segment, window)
    if exact is not None and book[WIDE] < 0:
        book[WIDE] = 0
        return TOO_LARGE
    for i in range(book[TOUCHED]):
        empty_slot(book, bounds, numbers, book[book[TOUCHED_LIST] + i], kind, slot)
    return DONE


@inner
def move_windows(book, bounds, numbers, places, found, window_first, window_last, row, segment, exact):
    """Close the windows that end before a row and open those that it is the first in; row -1: close all."""
    for kind in range(book[KINDS]):
        last = book[book[OPEN_LAST] + kind]
        first = last + 1 if row < 0 else window_first[kind, row]
        while book[book[OPEN_FIRST] + kind] < first and book[book[OPEN_FIRST] + kind] <= last:
            status = close_window(
                book, bounds, numbers, places, found, kind, book[book[OPEN_FIRST] + kind], segment, exact
            )
            if status != DONE:
                return status
            book[book[OPEN_FIRST] + kind] += 1
        if row >= 0:
            book[book[OPEN_FIRST] + kind] = first
            book[book[OPEN_LAST] + kind] = max(last, window_last[kind, row])
    book[VERSION] += 1
    book[WINDOWS_MOVED] = book[VERSION]
    return DONE
