"""Counts of the trends of S+ with one order comparison: the block loop of `propagate`, with nothing else in it.

A vertex reads a prefix of a Fenwick tree and is added to it. Several nodes are read or written at a time, as a pass
over the lanes costs more than its additions. All vertices end trends, so the sum over the whole tree is the result.
Limbs of nodes lie in planes, one after the other: side by side, nodes that use few of many limbs would share few cache
lines."""

import numpy as np

from trendweave.kernels.aggregates.program import RANKED, UNGUARDED
from trendweave.kernels.aggregates.ranks import rank_block
from trendweave.kernels.aggregates.vectors import SUM, Span, clear, combine_long
from trendweave.kernels.aggregates.vertices import limb_bits_for, settle, take_limb
from trendweave.kernels.aggregates.workspace import lanes_of_row, open_block
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.inputs import Selection
from trendweave.kernels.query_masks import ALL, leave_out_others, may_read


def serves(program, ask, queries=None) -> bool:
    """Whether a program is one that this loop can run."""
    states, stores = program.states, program.stores
    return bool(
        ask.kind == SUM and ask.numbers == 1 and ask.selection == Selection.ANY
        and states.variable.size == 1 and states.start_guard[0] == states.final_guard[0] == UNGUARDED
        and program.transitions.source.size == 1 and stores.way[0] == RANKED and stores.guard[0] < 0
        and program.rankings.equal_previous[0] < 0 and (queries is None or begins_and_ends_alike(queries))
    )  # fmt: skip


def begins_and_ends_alike(queries) -> bool:
    """Whether trends of all queries that have the only state may begin and end in it, and repeat it."""
    return bool(queries.start[0] == queries.final[0] == queries.here[0] and queries.stores[0] == ALL)


@inner
def four_sums(vector, at, first, nodes, a, b, c, d, low, high, begun):
    """vector = first + four nodes on the lanes [low, high); added to what is there if `begun`."""
    to = np.uint64(at + low)
    a, b, c, d = np.uint64(a + low), np.uint64(b + low), np.uint64(c + low), np.uint64(d + low)
    if begun:
        for i in range(np.uint64(high - low)):
            vector[to + i] += (nodes[a + i] + nodes[b + i]) + (nodes[c + i] + nodes[d + i])
    else:
        for i in range(np.uint64(high - low)):
            vector[to + i] = ((nodes[a + i] + nodes[b + i]) + (nodes[c + i] + nodes[d + i])) + first


@inner
def read_prefix(vector, at, nodes, bound, size, low, high, lanes, components):
    """vector = everything with a rank below `bound`, and one more trend, which begins here."""
    for component in range(components):
        plane = component * (size + 1) * lanes
        nothing = plane + size * lanes  # a node that stays 0
        first = 1 if component == 0 else 0
        i = bound
        begun = False
        while i > 0 or not begun:
            a = b = c = d = nothing
            if i > 0:
                a = plane + (i - 1) * lanes
                i &= i - 1
            if i > 0:
                b = plane + (i - 1) * lanes
                i &= i - 1
            if i > 0:
                c = plane + (i - 1) * lanes
                i &= i - 1
            if i > 0:
                d = plane + (i - 1) * lanes
                i &= i - 1
            four_sums(vector, at + component * lanes, first, nodes, a, b, c, d, low, high, begun)
            begun = True


@inner
def add_to_tree(nodes, rank, size, vector, at, low, high, lanes, components):
    """Insert a vector at its rank, into two nodes at a time."""
    for component in range(components):
        shift = component * (size + 1) * lanes + low
        come = np.uint64(at + component * lanes + low)
        length = np.uint64(high - low)
        i = rank + 1
        while i <= size:
            a = np.uint64((i - 1) * lanes + shift)
            i += i & -i
            if i > size:
                for k in range(length):
                    nodes[a + k] += vector[come + k]
                break
            b = np.uint64((i - 1) * lanes + shift)
            i += i & -i
            for k in range(length):
                value = vector[come + k]
                nodes[a + k] += value
                nodes[b + k] += value


@inner
def zero(vector, at, low, high, lanes, components):
    for component in range(components):
        for lane in range(low, high):
            vector[at + component * lanes + lane] = 0


@inner
def fits_one_limb(vector, at, low, high, limb_bits):
    here = np.uint64(at + low)
    seen = np.int64(0)
    for i in range(np.uint64(high - low)):
        seen |= vector[here + i]
    return seen >> limb_bits == 0


@inlined
def fit_vertex(work, block, limb_bits, used, low, high, limbs, plane):
    """Bring the numbers of vector number `used` into their limbs; returns the limbs in use and whether they fit."""
    at = used * block.width
    if block.most_limbs == 1:
        return limbs, fits_one_limb(work.pending, at, low, high, limb_bits)
    while settle(work.pending, at, low, high, block.lanes, limbs, limb_bits) != 0:
        if limbs == block.most_limbs:
            return limbs, False
        limbs = take_limb(work.pending, used, block.width, block.lanes, 1, limbs)
        clear(work.nodes, (limbs - 1) * plane, plane, block.kind)
        clear(work.result, (limbs - 1) * block.lanes, block.lanes, block.kind)
    return limbs, True


@inlined
def compute_ranked_tick(program, columns, work, block, limb_bits, row, limbs, size):
    """As `compute_tick`; of vertices that wait, the rank is kept in the place of the row."""
    waiting, places = work.waiting, work.places
    variable = program.states.variable[0]
    now = columns.tick[row]
    used = 0
    while row < block.row_end and columns.tick[row] == now:
        first, end = lanes_of_row(columns, block, row)
        if first < end and may_read(columns.letters, row, variable, 0, columns.queries):
            low = first & -8
            high = min((end + 7) & -8, block.lanes)
            at = used * block.width
            i = row - block.row_start
            read_prefix(work.pending, at, work.nodes, places.bound[0, i], size, low, high, block.lanes, limbs)
            if low < first:
                zero(work.pending, at, low, first, block.lanes, limbs)
            if end < high:
                zero(work.pending, at, end, high, block.lanes, limbs)
            leave_out_others(work.pending, at, Span(low, high, block.lanes, limbs, block.kind), 0, row, columns.queries)
            if limb_bits is not None:
                limbs, fitting = fit_vertex(work, block, limb_bits, used, low, high, limbs, (size + 1) * block.lanes)
                if not fitting:
                    return row, used, limbs, False
            if places.rank[0, i] < 0:  # nothing can follow it
                ended = Span(low, high, block.lanes, limbs, block.kind)
                combine_long(work.result, np.int64(0), work.pending, at, ended)
            else:
                waiting.row[used] = places.rank[0, i]
                waiting.low[used] = low
                waiting.high[used] = high
                used += 1
        row += 1
    return row, used, limbs, True


@inlined
def add_whole_tree(work, block, limbs, size):
    """result += everything in the tree."""
    whole = Span(np.int64(0), block.lanes, block.lanes, 1, block.kind)
    i = size
    while i > 0:
        for limb in range(limbs):
            node = (limb * (size + 1) + i - 1) * block.lanes
            combine_long(work.result, limb * block.lanes, work.nodes, node, whole)
        i &= i - 1


@inner
def propagate_ranked(program, columns, work, blocks, ask, bits_at_most, totals):
    """As `propagate_blocks`, for programs that this loop serves."""
    for b in range(blocks.lanes.size):
        block = open_block(blocks, b, ask)
        if bits_at_most is None:
            limb_bits = None
        else:
            limb_bits = limb_bits_for(block.capacity, 1, bits_at_most)
            totals.bits_used[b] = limb_bits
        size = rank_block(program.rankings, 0, columns.codes, block.row_start, block.row_end, work.places, work.sorting)
        clear(work.nodes, np.int64(0), (size + 1) * block.lanes, block.kind)
        clear(work.result, np.int64(0), block.lanes, block.kind)
        limbs = 1  # in use
        fitting = True
        row = block.row_start
        while row < block.row_end and fitting:
            row, used, limbs, fitting = compute_ranked_tick(program, columns, work, block, limb_bits, row, limbs, size)
            for number in range(used):
                add_to_tree(
                    work.nodes, work.waiting.row[number], size, work.pending, number * block.width,
                    work.waiting.low[number], work.waiting.high[number], block.lanes, limbs,
                )  # fmt: skip
        totals.fits[b] = fitting
        if fitting:
            add_whole_tree(work, block, limbs, size)
            for limb in range(limbs):
                for lane in range(block.windows):
                    totals.results[blocks.offset[b] + lane, limb] = work.result[limb * block.lanes + lane]
