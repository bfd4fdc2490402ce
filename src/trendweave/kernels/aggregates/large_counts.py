"""Numbers of trends of `S+` without any condition, of any size and in any windows.

A trend takes one row, or none, of each tick of its window, but not none of all. So the number of trends is a product
over ticks, less 1; a tick enters the product with its window and is divided out of it when it leaves. That costs next
to nothing where ticks have one row, as factors of 2 are only counted.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.inputs import Template
from trendweave.kernels.long_products import divide_by, multiply_by, write_one_less


def find_repeating_variable(template: Template) -> int | None:
    """The variable of the only state of a template, if trends begin and end in it and it follows itself."""
    only = len(template.state_variable) == len(template.source) == 1 and template.is_start[0] and template.is_final[0]
    return int(template.state_variable[0]) if only else None


@inner
def reads(letters, row, variable):
    """Whether the row may be read as the variable."""
    return (letters[row, variable >> 6] >> np.uint64(variable & 63)) & np.uint64(1) != np.uint64(0)


@inlined
def count_readable(rows, begin, end, variable):
    """How many rows of a tick can be read as the state's variable."""
    count = np.int64(0)
    for row in range(begin, end):
        if rows.window_first[row] <= rows.window_last[row] and reads(rows.letters, row, variable):
            count += 1
    return count


class Factors(NamedTuple):
    """What ticks bring into a product. Rows and windows begin and end with whole ticks, so that a tick counts with its
    first row: how often 2 is in the factors of all rows before one, how many bits these add at most, and the odd part
    of each row's own factor."""

    twos: np.ndarray  # int64[n + 1]
    bits: np.ndarray  # int64[n + 1]
    odd: np.ndarray  # int64[n]


@inner
def find_factors(variable, rows, factors):
    """Fill the factors of all rows."""
    for segment in range(rows.segment_starts.size - 1):
        row, end = rows.segment_starts[segment], rows.segment_starts[segment + 1]
        while row < end:
            stop = row + 1
            while stop < end and rows.tick[stop] == rows.tick[row]:
                stop += 1
            factor = count_readable(rows, row, stop, variable) + 1
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


def count_large(variable: int, rows, blocks, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of trends of a variable that repeats, of any size, in the windows that are wanted (bool per result):
    uint64 words, lowest first, and where those of each result begin and end."""
    factors = Factors(*(np.zeros(rows.tick.size + more, np.int64) for more in (1, 1, 0)))
    find_factors(variable, rows, factors)
    first, reach = np.empty((2, wanted.size), np.int64)
    find_edges(rows, blocks, first, reach)
    bits = factors.bits[reach] - factors.bits[first]
    starts = np.zeros(wanted.size + 1, np.int64)
    np.cumsum(np.where(wanted, (bits + 63) // 64, 0), out=starts[1:])
    words = np.zeros(int(starts[-1]), np.uint64)
    limbs = np.zeros(int(bits.max(initial=0)) // 32 + 3, np.uint64)
    multiply_windows(first, reach, wanted, factors, limbs, starts, words)
    return words, starts
