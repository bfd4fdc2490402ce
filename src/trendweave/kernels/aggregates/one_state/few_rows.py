"""Blocks of few rows: aggregates of S+ with one order comparison, by comparing each row with all rows before it.

Short segments are common (a car stays in a road segment for three reports): to rank a few rows and to keep a tree of
their vectors costs several times what comparing them does. Lanes are worked on eight at a time, and a vertex keeps one
pack per number, so that all vectors of a block lie in the nearest cache. Here: counts and sums; `few_extrema.py` has
extrema. Loops are given what they read and no more: for each array that Python hands over, code is compiled.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.program import NOT_THERE, RANKED
from trendweave.kernels.aggregates.state_steps import LARGEST_BITS, reads
from trendweave.kernels.aggregates.vectors import EXTREMUM, SUM
from trendweave.kernels.aggregates.vertices import limb_bits_for
from trendweave.kernels.aggregates.workspace import Ask
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.inputs import Selection
from trendweave.kernels.packs import (
    LANES,
    add,
    all_bits,
    join_bits,
    keep_between,
    load,
    magnitude_bits,
    spread,
    store,
    times,
)
from trendweave.kernels.stopping import heed_stop

FEW_ROWS = 32  # so many are compared with each other; more of them are ranked


class FewSteps(NamedTuple):
    """The program: its only state, and the columns of codes that its only transition compares."""

    variable: int
    start_guard: int
    final_guard: int
    order_previous: int
    order_next: int
    descending: bool
    inclusive: bool


class FewBlock(NamedTuple):
    """The block at hand."""

    window: int
    row_start: int
    row_end: int
    lanes: int


class FewRows(NamedTuple):
    """Scratch memory for the vertices of a block that rows may follow."""

    vectors: np.ndarray  # a pack per vertex and number
    keys: np.ndarray  # int64: a row with a larger code may follow the vertex
    found: np.ndarray  # int64: where the vectors are that the row at hand follows
    result: np.ndarray  # a pack per number


def serves_few(program, ask: Ask, queries) -> bool:
    """Whether a program is one that this loop can run, on blocks of few rows."""
    stores = program.stores
    return bool(
        ask.kind in (SUM, EXTREMUM) and ask.most_limbs == 1 and ask.selection == Selection.ANY and queries is None
        and program.states.variable.size == 1 and program.transitions.source.size == 1
        and stores.way[0] == RANKED and stores.guard[0] < 0 and program.rankings.equal_previous[0] < 0
    )  # fmt: skip


@inlined
def find_before(steps, columns, few, row, before, width):
    """List the vertices, of the first `before`, that the row may follow; returns how many there are."""
    code = columns.codes[steps.order_next, row]
    count = 0
    if code >= 0:
        if steps.descending:
            code = -code
        for vertex in range(before):
            if few.keys[vertex] < code:
                few.found[count] = vertex * width
                count += 1
    return count


@inlined
def sum_found(nothing, few, count, at, first, end):
    """The sum of one number, which is at `at` of each vector, over the vertices found; on the lanes first..end."""
    total = nothing
    for i in range(count):
        total = add(total, load(nothing, few.vectors, np.uint64(few.found[i] + at)))
    return keep_between(total, np.int64(0), first, end)


@inlined
def begun_here(one, steps, columns, row, window, first, end):
    """`one` trend that begins with the row, on those of the lanes first..end that allow it."""
    guard = steps.start_guard
    if guard == NOT_THERE:
        end = first
    elif guard >= 0:
        first = max(first, columns.start_guards[guard, row] - window)
    return keep_between(one, np.int64(0), first, end)


@inlined
def last_ended(steps, columns, row, window, end):
    """The lane before which trends may end with the row."""
    guard = steps.final_guard
    if guard == NOT_THERE:
        end = np.int64(0)
    elif guard >= 0:
        end = min(end, columns.final_guards[guard, row] - window + 1)
    return end


@inlined
def add_to_result(few, at, pack, first, end):
    """Add the numbers of the lanes first..end to one number of the result."""
    place = np.uint64(at)
    store(few.result, place, add(load(pack, few.result, place), keep_between(pack, np.int64(0), first, end)))


@inlined
def keep_key(steps, columns, few, row, kept):
    """Keep the vertex of the row, whose vector is in its place already; returns how many are kept."""
    key = columns.codes[steps.order_previous, row]
    if key < 0:
        return kept
    if steps.descending:
        key = -key
    few.keys[kept] = key - 1 if steps.inclusive else key
    return kept + 1


@inlined
def compute_lanes(one, steps, columns, few, numbers, block, lane, limb_bits):
    """The result of the windows from `lane` on, a pack of them. Returns whether all numbers fit: a number that does not
    is seen before it can grow beyond 64 bits, so that looking once at the end is enough."""
    measures = columns.measures
    window = block.window + lane
    windows = min(LANES, block.lanes - lane)
    nothing = keep_between(one, np.int64(0), np.int64(0), np.int64(0))
    for k in range(numbers):
        store(few.result, np.uint64(k * LANES), nothing)
    counts_seen, sums_seen, largest = nothing, nothing, 0.0
    kept = before = np.int64(0)
    for row in range(block.row_start, block.row_end):
        if row > block.row_start and columns.tick[row] != columns.tick[row - 1]:
            before = kept
        first = max(columns.window_first[row] - window, 0)
        end = min(columns.window_last[row] - window + 1, windows)
        if first >= end or not reads(columns.letters, row, steps.variable):
            continue
        found = find_before(steps, columns, few, row, before, numbers * LANES)
        ended = last_ended(steps, columns, row, window, end)
        at = kept * numbers * LANES
        counts = sum_found(nothing, few, found, np.int64(0), first, end)
        counts = add(counts, begun_here(one, steps, columns, row, window, first, end))
        store(few.vectors, np.uint64(at), counts)
        add_to_result(few, np.int64(0), counts, first, ended)
        if limb_bits is not None:
            counts_seen = join_bits(counts_seen, counts)
        for k in range(1, numbers):
            sums = sum_found(nothing, few, found, k * LANES, first, end)
            if measures.states[k - 1, 0]:
                value = measures.values[k - 1, 0, row]
                sums = add(sums, times(counts, value))
                largest = max(largest, abs(np.float64(value)))
            store(few.vectors, np.uint64(at + k * LANES), sums)
            add_to_result(few, k * LANES, sums, first, ended)
            if limb_bits is not None:
                sums_seen = join_bits(sums_seen, magnitude_bits(sums))
        kept = keep_key(steps, columns, few, row, kept)
    if limb_bits is None:
        return True
    else:
        counts_bits = all_bits(counts_seen)
        fits = (counts_bits | all_bits(sums_seen)) >> limb_bits == 0
        return fits and largest * np.float64(counts_bits) < 2.0**LARGEST_BITS


@inlined
def few_block(blocks, b):
    """Block number b."""
    return FewBlock(blocks.window[b], blocks.row_start[b], blocks.row_end[b], blocks.lanes[b])


@inner
def sum_few(steps, columns, few, blocks, bits_at_most, results, fits):
    """As `propagate_blocks`, for programs that this loop serves and blocks of few rows."""
    one = spread(few.result.dtype.type(1))
    numbers = results.shape[1]
    for b in range(blocks.lanes.size):
        heed_stop()
        block = few_block(blocks, b)
        if bits_at_most is None:
            limb_bits = None
        else:
            limb_bits = limb_bits_for(block.row_end - block.row_start, 1, bits_at_most)
        fitting = True
        for lane in range(0, block.lanes, LANES):
            all_fit = compute_lanes(one, steps, columns, few, numbers, block, lane, limb_bits)
            fitting = fitting and all_fit
            write_lanes(few, results, blocks.offset[b] + lane, min(LANES, block.lanes - lane))
        fits[b] = fitting


@inlined
def write_lanes(few, results, at, count):
    """Write the result of so many windows."""
    for i in range(count):
        for k in range(results.shape[1]):
            results[at + i, k] = few.result[k * LANES + i]
