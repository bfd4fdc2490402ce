"""The most common template, one state that repeats (`S+`), without any condition, in overlapping windows.

The rows of a tick turn x trends into a * x + b: each of k rows follows every trend, if the state repeats, and begins
one. Such steps compose into one, so the queue of two stacks of `sliding_sums` needs two numbers where it has
matrices.
"""

import numpy as np

from trendweave.kernels.aggregates.state_steps import LARGEST_BITS, reads
from trendweave.kernels.compiling import inner, outer

TOO_LARGE = 2.0**LARGEST_BITS


@inner
def readable_rows(begin, end, variable, letters, window_first, window_last):
    """How many rows of a tick can be read as the state's variable."""
    count = np.int64(0)
    for row in range(begin, end):
        if window_first[row] <= window_last[row] and reads(letters, row, variable):
            count += 1
    return count


@outer
def slide_one_state(
    variable, repeats, letters, tick, window_first, window_last, segments, row_starts, row_ends, windows, lanes,
    offsets, older, results, fits,
):  # fmt: skip
    """All windows of all blocks, in order: results[offset + lane, 0]; fits[offset + lane]. Floats show what is too
    large."""
    one = results.dtype.type(1)
    middle = np.int64(0)  # rows [begin, middle) are old, [middle, end) are new
    end = np.int64(0)
    older_from = np.int64(0)
    factor, addend = one, one - one  # what the new rows do
    bound_factor, bound_addend = 1.0, 0.0
    too_large_from = np.int64(-1)  # windows that begin here or before do not fit
    for b in range(lanes.size):
        begin = row_starts[b]
        if b == 0 or segments[b] != segments[b - 1]:
            middle = begin
            end = begin
            factor, addend, bound_factor, bound_addend = one, one - one, 1.0, 0.0
        for lane in range(lanes[b]):
            window = windows[b] + lane
            while begin < row_ends[b] and window_last[begin] < window:
                begin += 1
            reach = max(end, begin)
            while reach < row_ends[b] and window_first[reach] <= window:
                reach += 1
            if begin > middle:
                # All rows become old ones: what follows each of them, from the last to the first.
                factor, addend, bound_factor, bound_addend = one, one - one, 1.0, 0.0
                too_large_from = -1
                row = reach
                while row > begin:
                    first = row - 1
                    while first > begin and tick[first - 1] == tick[first]:
                        first -= 1
                    count = readable_rows(first, row, variable, letters, window_first, window_last)
                    if count > 0:  # infinity times 0 is no number
                        addend += factor * count
                        bound_addend += bound_factor * count
                        if repeats:
                            factor *= count + 1
                            bound_factor *= count + 1
                    if too_large_from < 0 and max(bound_factor, bound_addend) >= TOO_LARGE:
                        too_large_from = first
                    older[first - begin] = addend
                    row = first
                older_from = begin
                middle = reach
                factor, addend, bound_factor, bound_addend = one, one - one, 1.0, 0.0
            while end < reach and end >= middle:
                stop = end + 1
                while stop < reach and tick[stop] == tick[end]:
                    stop += 1
                count = readable_rows(end, stop, variable, letters, window_first, window_last)
                if repeats:
                    factor *= count + 1
                    addend = addend * (count + 1) + count
                    bound_factor *= count + 1
                    bound_addend = bound_addend * (count + 1) + count
                else:
                    addend += count
                    bound_addend += count
                end = stop
            end = reach
            out = offsets[b] + lane
            total, bound = addend, bound_addend
            if begin < middle:
                past = older[begin - older_from]
                if past != 0:
                    total += factor * past
                    bound += bound_factor * np.float64(past)
            results[out, 0] = total
            fits[out] = bound < TOO_LARGE and not (begin < middle and begin <= too_large_from)
