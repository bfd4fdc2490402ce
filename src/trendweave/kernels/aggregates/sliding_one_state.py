"""The most common template, one state that repeats (`S+`), without any condition, in overlapping windows.

The rows of a tick turn x trends into a * x + b: each of k rows follows every trend, if the state repeats, and begins
one. Such steps compose into one, so the queue of two stacks of `sliding_sums` needs two numbers where it has
matrices. Floats beside them (`bound_`) show what is too large for 64 bits.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.state_steps import LARGEST_BITS, reads
from trendweave.kernels.compiling import inlined, inner

TOO_LARGE = 2.0**LARGEST_BITS


class OneState(NamedTuple):
    """The variable that the only state reads, and whether the state follows itself."""

    variable: int
    repeats: bool


@inlined
def count_readable(rows, begin, end, variable):
    """How many rows of a tick can be read as the state's variable."""
    count = np.int64(0)
    for row in range(begin, end):
        if rows.window_first[row] <= rows.window_last[row] and reads(rows.letters, row, variable):
            count += 1
    return count


@inlined
def make_old(state, rows, begin, end, older, one):
    """All rows become old ones: `older[row - begin]` is what follows a row, from the last to the first. Returns the
    last row from which on a number is too large, or -1."""
    factor, addend, bound_factor, bound_addend = one, one - one, 1.0, 0.0
    too_large_from = np.int64(-1)
    row = end
    while row > begin:
        first = row - 1
        while first > begin and rows.tick[first - 1] == rows.tick[first]:
            first -= 1
        count = count_readable(rows, first, row, state.variable)
        if count > 0:  # infinity times 0 is no number
            addend += factor * count
            bound_addend += bound_factor * count
            if state.repeats:
                factor *= count + 1
                bound_factor *= count + 1
        if too_large_from < 0 and max(bound_factor, bound_addend) >= TOO_LARGE:
            too_large_from = first
        older[first - begin] = addend
        row = first
    return too_large_from


@inner
def slide_one_state(state, rows, blocks, older, results, fits):
    """All windows of all blocks, in order: results[offset + lane, 0]; fits[offset + lane]."""
    one = results.dtype.type(1)
    middle = np.int64(0)  # rows [begin, middle) are old, [middle, end) are new
    end = np.int64(0)
    older_from = np.int64(0)
    factor, addend = one, one - one  # what the new rows do
    bound_factor, bound_addend = 1.0, 0.0
    too_large_from = np.int64(-1)  # windows that begin here or before do not fit
    for b in range(blocks.lanes.size):
        begin = blocks.row_start[b]
        if b == 0 or blocks.segment[b] != blocks.segment[b - 1]:
            middle = begin
            end = begin
            factor, addend, bound_factor, bound_addend = one, one - one, 1.0, 0.0
        for lane in range(blocks.lanes[b]):
            window = blocks.window[b] + lane
            while begin < blocks.row_end[b] and rows.window_last[begin] < window:
                begin += 1
            reach = max(end, begin)
            while reach < blocks.row_end[b] and rows.window_first[reach] <= window:
                reach += 1
            if begin > middle:
                too_large_from = make_old(state, rows, begin, reach, older, one)
                older_from = begin
                middle = reach
                factor, addend, bound_factor, bound_addend = one, one - one, 1.0, 0.0
            while end < reach and end >= middle:
                stop = end + 1
                while stop < reach and rows.tick[stop] == rows.tick[end]:
                    stop += 1
                count = count_readable(rows, end, stop, state.variable)
                if state.repeats:
                    factor *= count + 1
                    addend = addend * (count + 1) + count
                    bound_factor *= count + 1
                    bound_addend = bound_addend * (count + 1) + count
                else:
                    addend += count
                    bound_addend += count
                end = stop
            end = reach
            out = blocks.offset[b] + lane
            total, bound = addend, bound_addend
            if begin < middle:
                past = older[begin - older_from]
                if past != 0:
                    total += factor * past
                    bound += bound_factor * np.float64(past)
            results[out, 0] = total
            fits[out] = bound < TOO_LARGE and not (begin < middle and begin <= too_large_from)
