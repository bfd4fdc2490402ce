"""Numbers of trends of `S+` without any condition, of any size and in any windows.

A trend takes one row, or none, of each tick of its window, but not none of all. So the number of trends is a product
over ticks, less 1; a tick enters the product with its window and is divided out of it when it leaves. Factors of 2, all
that there is where ticks have one row, are only counted.
"""

import math

import numpy as np

from trendweave.kernels.aggregates.blocks import Blocks, find_first
from trendweave.kernels.inputs import Rows, Template


def find_repeating_variable(template: Template) -> int | None:
    """The variable of the only state of a template, if trends begin and end in it and it follows itself."""
    only = len(template.state_variable) == len(template.source) == 1 and template.is_start[0] and template.is_final[0]
    return int(template.state_variable[0]) if only else None


def count_large(variable: int, rows: Rows, blocks: Blocks, wanted: np.ndarray) -> list[int]:
    """Numbers of trends of a variable that repeats, in the windows with these result numbers (ascending). Rows in no
    window are read as nothing."""
    new = np.ones(rows.tick.size, np.bool_)
    new[1:] = rows.tick[1:] != rows.tick[:-1]
    new[rows.segment_starts[:-1][np.diff(rows.segment_starts) > 0]] = True
    readable = (rows.letters[:, variable >> 6] >> np.uint64(variable & 63)).astype(np.uint8) & 1
    factors = np.add.reduceat(readable, np.flatnonzero(new), dtype=np.int32) + 1
    twos = np.bitwise_count((factors & -factors) - 1)
    odd = factors >> twos
    # Windows begin and end with whole ticks.
    tick, shifts = np.zeros(new.size + 1, np.int32), np.zeros(twos.size + 1, np.int64)
    np.cumsum(new, out=tick[1:])
    np.cumsum(twos, out=shifts[1:])
    block = np.searchsorted(blocks.offset, wanted, side="right") - 1
    window = blocks.window[block] + wanted - blocks.offset[block]
    begin, end = blocks.row_start[block], blocks.row_end[block]
    if blocks.lanes.max() > 1:
        begin = find_first(rows.window_last, begin, end, window)
        end = find_first(rows.window_first, begin, end, window + 1)
    begin, end = tick[begin], tick[end]
    shift = (shifts[end] - shifts[begin]).tolist()
    places = np.flatnonzero(odd > 1)
    if not places.size:
        known = {bits: (1 << bits) - 1 for bits in set(shift)}
        return [known[bits] for bits in shift]
    counts, others = list[int](), odd[places].tolist()
    product, first, last = 1, 0, 0  # of the odd factors first:last
    bounds = (np.searchsorted(places, edge).tolist() for edge in (begin, end))
    for low, high, bits in zip(*bounds, shift, strict=True):
        if low >= last:
            product, first, last = 1, low, low
        product = product // math.prod(others[first:low]) * math.prod(others[last:high])
        first, last = low, high
        counts.append((product << bits) - 1)
    return counts
