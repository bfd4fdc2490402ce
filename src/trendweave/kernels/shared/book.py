"""All integers that the kernel reads and keeps, in one array: tables one after the other, and in front where each
begins.

Kernels hand what they are given from function to function, and an array costs seven numbers each time; with the
sixty tables below as arrays of their own, handing them on cost more than what most functions do, and compiling them
took minutes. A table's entry is `book[book[LANES] + c]`, a single number `book[VERSION]`. Likewise all floats that
are no results are in `bounds`, and all numbers of one kind in `numbers`; where a part of them begins is in the book.
"""

import numpy as np

# what a step comes back with
DONE = 0
NO_ROOM = 1  # results do not fit: make room, then go on
TOO_LARGE = 2  # 64 bits do not hold a number: do the segment again with limbs
NO_LIMB = 3  # so many limbs do not hold a number: do the segment again with more

(
    # what is going on
    VERSION,  # grows with every change
    WINDOWS_MOVED,  # the version in which windows were last opened or closed
    TOUCHED,  # classes that rows were read by
    BURST,  # number of the burst
    ACTIVE,  # classes of the burst
    WIDE,  # whether numbers are limbs
    MOST_LIMBS,  # limbs that the segment needed
    ENTRIES,  # results written
    NUMBERS,
    TRACED,
    BURSTS_SHARED,
    BURSTS_ALONE,
    SNAPSHOTS,
    SPLITS,
    MERGES,
    # how to work
    PARTS,  # numbers per lane: the number of trends and the linear measures; or the extrema
    ROOM,  # limbs that there is room for
    KIND,  # LINEAR or EXTREMUM
    SHARING,  # NEVER, ALWAYS or AUTO
    CLASSES,
    QUERIES,
    KINDS,
    BUNDLES,
    # where parts of `numbers` begin
    TOTAL,  # registers
    OUTSIDE,  # per position: what comes from other classes, and 1 where trends begin
    PENDING,  # per position: what the rows of a tick bring
    SCRATCH,  # what one row brings at one position; registers of one class
    FACTORS,  # per track
    FACTOR_SIZE,
    FRESH_FACTORS,
    PENDING_FACTORS,
    # where parts of `bounds` begin: pairs, for counts and for measures
    BOUND,  # per class: no total is larger
    OUTSIDE_BOUND,
    SIZE,  # per track: the largest factors
    PENDING_BOUND,
    # tables, per class
    POSITIONS,
    REGISTERS,
    LANES,
    MOST_IN,  # registers that lead into one position
    WINDOW,  # the kind of window, -1 if members differ
    REGISTER_BASE,  # lanes of registers, and of positions, of the classes before
    POSITION_BASE,
    POSITION_FROM,  # where the class's part of a list begins; one more for the end
    BUNDLE_FROM,
    MEMBER_FROM,
    OUTSIDE_FROM,
    START_FROM,
    SOURCE_FROM,
    NEIGHBOUR_FROM,
    QUERY_FROM,
    LIMBS,  # in use
    OUTSIDE_LIMBS,
    GATHERED,  # the version in which what comes from outside was written
    CHANGED,  # the version in which totals changed
    IS_TOUCHED,
    TOUCHED_LIST,
    IN_BURST,  # the last burst that it was in
    BURST_ROWS,  # rows that it reads of it
    DIFFERS_NOW,  # whether its bundles read them differently
    ACTIVE_LIST,
    LAST_SHARED,  # -1 no burst yet, 0 alone, 1 shared
    # per position
    IN_FROM,
    IN_REGISTER,
    OUT_FROM,
    OUT_REGISTER,
    # per bundle
    BUNDLE_FIRST,
    BUNDLE_END,
    BUNDLE_ALIKE,
    MARKS,  # times measures: bit p: rows at position p are measured
    # per member
    MEMBER_LANE,
    MEMBER_WINDOW,
    # per transition from another class
    OUTSIDE_POSITION,
    OUTSIDE_LANE,
    OUTSIDE_SOURCE,
    OUTSIDE_REGISTER,
    OUTSIDE_SOURCE_LANE,
    OUTSIDE_WINDOW,
    # per state that begins trends
    START_POSITION,
    START_LANE,
    START_WINDOW,
    # per class that something comes from: at most so many transitions into one lane
    SOURCE_CLASS,
    SOURCE_COUNT,
    NEIGHBOUR,
    QUERY,  # queries that end in a class
    # per query
    QUERY_WINDOW,
    FINAL_FROM,
    FINAL_CLASS,
    FINAL_POSITION,
    FINAL_LANE,
    QUERY_SEEN,
    # per kind of window
    SLOTS,  # how many overlap
    OPEN_FIRST,
    OPEN_LAST,
    # per pattern of letters
    ENTRY_FROM,
    ENTRY_CLASS,
    ENTRY_BITS,
    ENTRY_ACCEPT,
    ACCEPT,
    EMPTY_FROM,
    EMPTY_CLASS,
    EMPTY_REGISTER,
    # per bundle of the class at hand
    LEAF,  # its track at the end of the burst
    NOW,  # its track at the row at hand
    HITS,  # rows that it reads
    # per track of the class at hand
    SHARED,
    NEEDED,  # whether it or a track that leaves it is shared
    PARENT,
    BITS,
    SIBLING,
    EXAMPLE,  # a bundle of the track
    HEADER,
) = range(111)


def make_book(single: dict[int, int], tables: dict[int, np.ndarray]) -> np.ndarray:
    """Single numbers and tables as one array."""
    book = np.zeros(HEADER + sum(max(1, table.size) for table in tables.values()), np.int64)
    for name, value in single.items():
        book[name] = value
    at = HEADER
    for name, table in tables.items():
        book[name] = at
        book[at : at + table.size] = table.ravel()
        at += max(1, table.size)
    return book
