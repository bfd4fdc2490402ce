"""The most common template, one state that repeats (`S+`), without any condition, in overlapping windows.

The rows of a tick turn x trends into a * x + b: each of k rows follows every trend, if the state repeats, and begins
one. Such steps compose into one, so the queue of two stacks of `sliding_sums` needs two numbers where it has
matrices. Floats beside them (`bound_`) show what is too large for 64 bits.

Beyond 64 bits, and in any windows: a trend takes one row, or none, of each tick of its window, but not none of all. So
the number of trends is a product over ticks, less 1; a tick enters the product with its window and is divided out of it
when it leaves. That costs next to nothing where ticks have one row, as factors of 2 are only counted.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.state_steps import LARGEST_BITS, reads
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.inputs import Template
from trendweave.kernels.long_products import divide_by, multiply_by, write_one_less

TOO_LARGE = 2.0**LARGEST_BITS


class OneState(NamedTuple):
    """The variable that the only state reads, and whether the state follows itself."""

    variable: int
    repeats: bool


def find_repeating_state(template: Template) -> OneState | None:
    """The only state of a template, if trends begin and end in it and it follows itself."""
    only = len(template.state_variable) == len(template.source) == 1 and template.is_start[0] and template.is_final[0]
    return OneState(int(template.state_variable[0]), True) if only else None


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


class Factors(NamedTuple):
    """What ticks bring into a product. Rows and windows begin and end with whole ticks, so that a tick counts with its
    first row: how often 2 is in the factors of all rows before one, how many bits these add at most, and the odd part
    of each row's own factor."""

    twos: np.ndarray  # int64[n + 1]
    bits: np.ndarray  # int64[n + 1]
    odd: np.ndarray  # int64[n]


@inner
def find_factors(state, rows, factors):
    """Fill the factors of all rows."""
    for segment in range(rows.segment_starts.size - 1):
        row, end = rows.segment_starts[segment], rows.segment_starts[segment + 1]
        while row < end:
            stop = row + 1
            while stop < end and rows.tick[stop] == rows.tick[row]:
                stop += 1
            factor = count_readable(rows, row, stop, state.variable) + 1
            bits = 0
            while (1 << bits) < factor:
                bits += 1
            twos = 0
            while factor & 1 == 0:
                factor >>= 1
                twos += 1
            for same in range(row, stop):
                factors.twos[same + 1] = factors.twos[row] + twos
                factors.bits[same + 1] = factors.bits[row] + bits
                factors.odd[same] = 1
            factors.odd[row] = factor
            row = stop


@inner
def find_edges(rows, blocks, first, reach):
    """The rows [first, reach) of each window."""
    begin = end = np.int64(0)
    for b in range(blocks.lanes.size):
        for lane in range(blocks.lanes[b]):
            window = blocks.window[b] + lane
            begin = max(begin, blocks.row_start[b])
            while begin < blocks.row_end[b] and rows.window_last[begin] < window:
                begin += 1
            end = max(end, begin)
            while end < blocks.row_end[b] and rows.window_first[end] <= window:
                end += 1
            first[blocks.offset[b] + lane] = begin
            reach[blocks.offset[b] + lane] = end


@inner
def multiply_windows(first, reach, wanted, factors, limbs, starts, words):
    """The number of trends in each window that is wanted, in words of 64 bits from starts[number] on."""
    begin = end = np.int64(0)  # rows whose odd factors are in the product
    used = 1
    for number in range(first.size):
        if first[number] >= end:
            limbs[0] = np.uint64(1)
            used = 1
            end = first[number]
        else:
            for row in range(begin, first[number]):
                if factors.odd[row] > 1:
                    used = divide_by(limbs, used, np.uint64(factors.odd[row]))
        for row in range(end, reach[number]):
            if factors.odd[row] > 1:
                used = multiply_by(limbs, used, np.uint64(factors.odd[row]))
        begin, end = first[number], reach[number]
        if wanted[number]:
            write_one_less(limbs, used, factors.twos[end] - factors.twos[begin], words, starts[number])


def count_large(state: OneState, rows, blocks, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of trends of a state that repeats, of any size, in the windows that are wanted (bool per result):
    uint64 words, lowest first, and where those of each result begin and end."""
    factors = Factors(*(np.zeros(rows.tick.size + more, np.int64) for more in (1, 1, 0)))
    find_factors(state, rows, factors)
    first, reach = np.empty((2, wanted.size), np.int64)
    find_edges(rows, blocks, first, reach)
    bits = factors.bits[reach] - factors.bits[first]
    starts = np.zeros(wanted.size + 1, np.int64)
    np.cumsum(np.where(wanted, (bits + 63) // 64, 0), out=starts[1:])
    words = np.zeros(int(starts[-1]), np.uint64)
    limbs = np.zeros(int(bits.max(initial=0)) // 32 + 3, np.uint64)
    multiply_windows(first, reach, wanted, factors, limbs, starts, words)
    return words, starts
