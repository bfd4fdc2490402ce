"""Counts of the trends of S+ with one order comparison: the block loop of `propagate`, with nothing else in it.

A vertex reads a prefix of a Fenwick tree and is added to it, one pack of lanes after the other: a pack's sum stays in
registers from the first node to the last, its carries on to the next limb. All vertices end trends, so the sum over
the whole tree is the result. Limbs of nodes lie in planes, one after the other: side by side, nodes that use few of
many limbs would share few cache lines.

A later window has fewer trends that end at a vertex, so that its numbers have fewer limbs: a limb is in use on the
first lanes of a block only (`limb_lanes`, one number per limb), and nothing is read, added or carried on the others.
"""

import numpy as np

from trendweave.kernels.aggregates.program import RANKED, UNGUARDED
from trendweave.kernels.aggregates.ranks import rank_by_order
from trendweave.kernels.aggregates.vectors import SUM, Span, clear
from trendweave.kernels.aggregates.vertices import limb_bits_for
from trendweave.kernels.aggregates.workspace import lanes_of_row, open_block
from trendweave.kernels.compiling import inlined, inlined_late, inner
from trendweave.kernels.inputs import Selection
from trendweave.kernels.packs import LANES, add, any_set, keep_between, keep_bits, load, shift_down, spread, store
from trendweave.kernels.query_masks import ALL, leave_out_others, may_read
from trendweave.kernels.stopping import heed_stop


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


@inlined_late
def sum_prefix(total, nodes, at, lanes, bound):
    """total + the nodes of the first `bound` ranks, on the lanes of a pack; integers."""
    i = bound
    while i > 0:
        total = add(total, load(total, nodes, np.uint64(at + (i - 1) * lanes)))
        i &= i - 1
    return total


@inlined_late
def sum_prefix_of_floats(total, nodes, at, lanes, bound):
    """The same, four nodes at a time: the order of additions is a promise, as floats are rounded."""
    i = bound
    while i > 0:
        four = load(total, nodes, np.uint64(at + (i - 1) * lanes))
        i &= i - 1
        if i > 0:
            four = add(four, load(total, nodes, np.uint64(at + (i - 1) * lanes)))
            i &= i - 1
        if i > 0:
            two = load(total, nodes, np.uint64(at + (i - 1) * lanes))
            i &= i - 1
            if i > 0:
                two = add(two, load(total, nodes, np.uint64(at + (i - 1) * lanes)))
                i &= i - 1
            four = add(four, two)
        total = add(total, four)
    return total


@inner
def count_limbs(limb_lanes):
    """How many limbs are in use on any lane."""
    limbs = 0
    while limbs < limb_lanes.size and limb_lanes[limbs] > 0:
        limbs += 1
    return limbs


@inner
def extend_limb(nodes, pending, limb_lanes, limb, end, used, width, size, lanes):
    """Use a limb on the lanes before `end`: 0 in all nodes and in the vectors 0..used of this tick."""
    low = limb_lanes[limb]
    for node in range(limb * size, (limb + 1) * size):
        for lane in range(low, end):
            nodes[node * lanes + lane] = 0
    for number in range(used + 1):
        for lane in range(low, end):
            pending[number * width + limb * lanes + lane] = 0
    limb_lanes[limb] = end


@inlined_late
def read_prefix(one, step, nodes, bound, size, pending, used, block, limb_lanes, limb_bits, first, end):
    """Vector number `used` of pending = everything with a rank below `bound`, and `one` more trend, which begins here,
    on the lanes first..end; packs are `step` lanes wide. Returns whether all numbers fit."""
    lanes = block.lanes
    at = used * block.width
    if limb_bits is None:
        for lane in range(first & -step, end, step):
            total = sum_prefix_of_floats(one, nodes, lane, lanes, bound)
            store(pending, np.uint64(at + lane), keep_between(total, lane, first, end))
        return True
    else:
        mask = (np.int64(1) << limb_bits) - 1
        for lane in range(first & -step, end, step):
            carry = one
            for limb in range(block.most_limbs + 1):
                if limb == block.most_limbs or lane >= limb_lanes[limb]:
                    if not any_set(carry):
                        break
                    if limb == block.most_limbs:
                        return False
                    extend_limb(nodes, pending, limb_lanes, limb, lane + step, used, block.width, size, lanes)
                total = sum_prefix(carry, nodes, limb * size * lanes + lane, lanes, bound)
                total = keep_between(total, lane, first, end)
                store(pending, np.uint64(at + limb * lanes + lane), keep_bits(total, mask))
                carry = shift_down(total, limb_bits)
        return True


@inlined_late
def add_to_tree(one, step, nodes, rank, size, pending, number, block, limb_lanes, low, high):
    """Insert a vector at its rank."""
    lanes = block.lanes
    for limb in range(block.most_limbs):
        for lane in range(low, min(high, limb_lanes[limb]), step):
            value = load(one, pending, np.uint64(number * block.width + limb * lanes + lane))
            i = rank + 1
            while i <= size:
                node = np.uint64((limb * size + i - 1) * lanes + lane)
                store(nodes, node, add(load(one, nodes, node), value))
                i += i & -i


@inner
def add_limbs(result, vector, at, plane, block, limb_lanes, low, high):
    """result += the vector at `at` on the lanes [low, high); its limbs are `plane` apart."""
    for limb in range(block.most_limbs):
        for lane in range(low, min(high, limb_lanes[limb])):
            result[limb * block.lanes + lane] += vector[at + limb * plane + lane]


@inlined
def compute_ranked_tick(program, columns, work, block, limb_lanes, limb_bits, row, size):
    """As `compute_tick`; of vertices that wait, the rank is kept in the place of the row."""
    waiting, places = work.waiting, work.places
    variable = program.states.variable[0]
    one = work.nodes.dtype.type(1)
    now = columns.tick[row]
    used = 0
    while row < block.row_end and columns.tick[row] == now:
        first, end = lanes_of_row(columns, block, row)
        if first < end and may_read(columns.letters, row, variable, 0, columns.queries):
            i = row - block.row_start
            bound = np.int64(places.bound[0, i])
            if block.lanes == 1:
                fitting = read_prefix(
                    one, 1, work.nodes, bound, size, work.pending, used, block, limb_lanes, limb_bits, first, end
                )
            else:
                fitting = read_prefix(
                    spread(one), LANES, work.nodes, bound, size, work.pending, used, block, limb_lanes, limb_bits,
                    first, end,
                )  # fmt: skip
            if not fitting:
                return row, used, False
            low = first & -8
            high = min((end + 7) & -8, block.lanes)
            at = used * block.width
            touched = Span(low, high, block.lanes, count_limbs(limb_lanes), block.kind)
            leave_out_others(work.pending, at, touched, 0, row, columns.queries)
            if places.rank[0, i] < 0:  # nothing can follow it
                add_limbs(work.result, work.pending, at, block.lanes, block, limb_lanes, low, high)
            else:
                waiting.row[used] = places.rank[0, i]
                waiting.low[used] = low
                waiting.high[used] = high
                used += 1
        row += 1
    return row, used, True


@inlined
def insert_ranked(work, block, limb_lanes, number, size):
    """Put vector number `number` of the tick into the tree."""
    waiting = work.waiting
    rank, low, high = waiting.row[number], waiting.low[number], waiting.high[number]
    one = work.nodes.dtype.type(1)
    if block.lanes == 1:
        add_to_tree(one, 1, work.nodes, rank, size, work.pending, number, block, limb_lanes, low, high)
    else:
        eight = spread(one)
        add_to_tree(eight, LANES, work.nodes, rank, size, work.pending, number, block, limb_lanes, low, high)


@inner
def propagate_ranked(program, columns, work, blocks, ask, bits_at_most, totals, limb_lanes):
    """As `propagate_blocks`, for programs that this loop serves."""
    for b in range(blocks.lanes.size):
        block = open_block(blocks, b, ask)
        if bits_at_most is None:
            limb_bits = None
        else:
            limb_bits = limb_bits_for(block.capacity, 1, bits_at_most)
            totals.bits_used[b] = limb_bits
        size = rank_by_order(program.rankings, columns.codes, block.row_start, block.row_end, work.places, work.sorting)
        clear(work.nodes, np.int64(0), size * block.lanes, block.kind)
        clear(work.result, np.int64(0), block.width, block.kind)
        limb_lanes[:] = 0
        limb_lanes[0] = block.lanes
        fitting = True
        row = block.row_start
        while row < block.row_end and fitting:
            heed_stop()
            row, used, fitting = compute_ranked_tick(program, columns, work, block, limb_lanes, limb_bits, row, size)
            for number in range(used):
                insert_ranked(work, block, limb_lanes, number, size)
        totals.fits[b] = fitting
        if fitting:
            i = size
            while i > 0:  # everything in the tree
                node = (i - 1) * block.lanes
                add_limbs(
                    work.result, work.nodes, node, size * block.lanes, block, limb_lanes, np.int64(0), block.lanes
                )
                i &= i - 1
            for limb in range(block.most_limbs):
                for lane in range(block.windows):
                    totals.results[blocks.offset[b] + lane, limb] = work.result[limb * block.lanes + lane]
