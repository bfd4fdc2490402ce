"""Vertices of one state in blocks that know the range of their values, so that a block without a possible predecessor
is left out as a whole."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, outer
from trendweave.kernels.growing import grow
from trendweave.kernels.inputs import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL

#: Vertices in a block: few enough for a narrow range of values, enough to make looking at the range worthwhile.
BLOCK = 64
#: Blocks that there is room for at first.
_FIRST_BLOCKS = 64
_HIGHEST = np.iinfo(np.int64).max


class Blocks(NamedTuple):
    """Blocks of a segment. Per transition that leaves the state of a block, `low` and `high` bound the codes that its
    first test compares."""

    items: np.ndarray  # int32[blocks, BLOCK]: vertices, ascending
    size: np.ndarray  # int64[blocks]
    before: np.ndarray  # int64[blocks]: the block before of the same state, or -1
    low: np.ndarray  # int64[blocks, most transitions of a state]
    high: np.ndarray
    latest: np.ndarray  # int64[states]: the last block of a state, or -1


@outer
def new_blocks(states, most):
    return Blocks(
        np.empty((_FIRST_BLOCKS, BLOCK), np.int32),
        np.empty(_FIRST_BLOCKS, np.int64),
        np.empty(_FIRST_BLOCKS, np.int64),
        np.empty((_FIRST_BLOCKS, most), np.int64),
        np.empty((_FIRST_BLOCKS, most), np.int64),
        np.full(states, -1, np.int64),
    )


@outer
def grow_blocks(blocks, capacity):
    return Blocks(
        grow(blocks.items, capacity),
        grow(blocks.size, capacity),
        grow(blocks.before, capacity),
        grow(blocks.low, capacity),
        grow(blocks.high, capacity),
        blocks.latest,
    )


@inlined_late
def may_compare(operator, low, high, code):
    """Whether some value between low and high may compare true with the code."""
    if code < 0:
        return False
    if operator == LESS:
        return low < code
    if operator == LESS_EQUAL:
        return low <= code
    if operator == GREATER:
        return high > code
    if operator == GREATER_EQUAL:
        return high >= code
    if operator == EQUAL:
        return low <= code <= high
    return True


@inlined_late
def may_hold(steps, blocks, block, transition, row):
    """Whether a block may hold a vertex that a row can follow on a transition, by the transition's first test."""
    test = steps.first_test[transition]
    if test == steps.end_test[transition]:
        return True
    code, place = steps.codes[steps.tests.following[test], row], steps.place[transition]
    return may_compare(steps.tests.operator[test], blocks.low[block, place], blocks.high[block, place], code)


@inlined_late
def add_to_block(steps, blocks, v, state, row, number):
    """Add a vertex to the last block of its state, or to a new one of this number. Returns the number of blocks."""
    block = blocks.latest[state]
    first, end = steps.outgoing_starts[state], steps.outgoing_starts[state + 1]
    if block < 0 or blocks.size[block] == BLOCK:
        blocks.size[number], blocks.before[number] = 0, block
        for place in range(end - first):
            blocks.low[number, place], blocks.high[number, place] = _HIGHEST, -1
        blocks.latest[state] = block = number
        number += 1
    blocks.items[block, blocks.size[block]] = v
    blocks.size[block] += 1
    for place in range(end - first):
        t = steps.outgoing[first + place]
        test = steps.first_test[t]
        if test < steps.end_test[t]:
            code = steps.codes[steps.tests.previous[test], row]
            if code >= 0:  # NULL compares true with nothing
                blocks.low[block, place] = min(blocks.low[block, place], code)
                blocks.high[block, place] = max(blocks.high[block, place], code)
    return number
