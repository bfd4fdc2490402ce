"""Extrema over blocks of few rows, in the way of `few_rows.py`: what is added there is compared here."""

import numpy as np

from trendweave.kernels.aggregates.one_state.few_rows import few_block, find_before, keep_key, last_ended, write_lanes
from trendweave.kernels.aggregates.program import NOT_THERE
from trendweave.kernels.aggregates.state_steps import reads
from trendweave.kernels.aggregates.vectors import NO_TREND, NO_VALUE
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.packs import LANES, larger, load, put_between, raise_others, spread, store


@inlined
def first_begun(steps, columns, row, window, first, end):
    """The lane from which on trends may begin with the row."""
    guard = steps.start_guard
    if guard == NOT_THERE:
        first = end
    elif guard >= 0:
        first = max(first, columns.start_guards[guard, row] - window)
    return first


@inlined
def extremes_of_lanes(nothing, empty, steps, columns, few, numbers, block, lane):
    """The largest codes of the windows from `lane` on, a pack of them."""
    measures = columns.measures
    window = block.window + lane
    windows = min(LANES, block.lanes - lane)
    for k in range(numbers):
        store(few.result, np.uint64(k * LANES), nothing)
    kept = before = np.int64(0)
    for row in range(block.row_start, block.row_end):
        if row > block.row_start and columns.tick[row] != columns.tick[row - 1]:
            before = kept
        first = max(columns.window_first[row] - window, 0)
        end = min(columns.window_last[row] - window + 1, windows)
        if first >= end or not reads(columns.letters, row, steps.variable):
            continue
        found = find_before(steps, columns, few, row, before, numbers * LANES)
        begun = put_between(empty, np.int64(0), first_begun(steps, columns, row, window, first, end), end, nothing)
        ended = last_ended(steps, columns, row, window, end)
        for k in range(numbers):
            best = begun
            for i in range(found):
                best = larger(best, load(nothing, few.vectors, np.uint64(few.found[i] + k * LANES)))
            best = put_between(best, np.int64(0), first, end, nothing)
            if measures.states[k, 0]:
                best = raise_others(best, measures.values[k, 0, row], np.int64(NO_TREND))
            store(few.vectors, np.uint64((kept * numbers + k) * LANES), best)
            place = np.uint64(k * LANES)
            last = put_between(best, np.int64(0), first, ended, nothing)
            store(few.result, place, larger(load(nothing, few.result, place), last))
        kept = keep_key(steps, columns, few, row, kept)


@inner
def find_few_extrema(steps, columns, few, blocks, results):
    """As `propagate_blocks`, for programs that this loop serves and blocks of few rows."""
    nothing, empty = spread(np.int64(NO_TREND)), spread(np.int64(NO_VALUE))
    for b in range(blocks.lanes.size):
        block = few_block(blocks, b)
        for lane in range(0, block.lanes, LANES):
            extremes_of_lanes(nothing, empty, steps, columns, few, results.shape[1], block, lane)
            write_lanes(few, results, blocks.offset[b] + lane, min(LANES, block.lanes - lane))
