"""Counts of the trends of S+ with one order comparison: the block loop of `propagate`, with nothing else in it.

A vertex reads a prefix of a Fenwick tree and is added to it. Several nodes are read or written at a time, as a pass
over the lanes costs more than its additions. All vertices end trends, so the sum over the whole tree is the result.
Limbs of nodes lie in planes, one after the other: side by side, nodes that use few of many limbs would share few cache
lines."""

import numpy as np

from trendweave.kernels.aggregates.program import ANY, FINAL_GUARD, GUARD, RANKED, START_GUARD, WAY
from trendweave.kernels.aggregates.ranks import rank_block
from trendweave.kernels.aggregates.vectors import SUM, clear, combine_long, limb_bits_for, padded, settle, take_limb
from trendweave.kernels.compiling import inner


def serves(program, numbers, kind, selection, row_results) -> bool:
    """Whether a program is one that this loop can run."""
    states, stores = program.states, program.stores
    return bool(
        kind == SUM and numbers == 1 and selection == ANY and row_results is None
        and states.shape[0] == 1 and states[0, START_GUARD] == -1 and states[0, FINAL_GUARD] == -1
        and program.transitions.shape[0] == 1 and stores.shape[0] == 1
        and stores[0, WAY] == RANKED and stores[0, GUARD] < 0 and program.rankings[0, 0] < 0
    )  # fmt: skip


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


@inner
def propagate_ranked(program, columns, work, blocks, most_limbs, bits_at_most, results, fits, bits_used):
    """As `propagate_blocks`, for programs that this loop serves."""
    tick, letters, window_first, window_last = columns.tick, columns.letters, columns.window_first, columns.window_last
    codes = columns.codes
    nodes, pending, pending_place, result, place = work.nodes, work.pending, work.pending_place, work.result, work.place
    variable = np.int64(program.states[0, 0])
    word, letter = variable >> 6, np.uint64(1) << np.uint64(variable & 63)
    kind = np.int64(SUM)
    for b in range(blocks.lanes.size):
        lanes = padded(blocks.lanes[b])
        window, row_start, row_end = blocks.window[b], blocks.row_start[b], blocks.row_end[b]
        width = lanes * most_limbs
        components = 1  # limbs in use
        if bits_at_most is None:
            limb_bits = None
        else:
            limb_bits = limb_bits_for(row_end - row_start, 1, bits_at_most)
            bits_used[b] = limb_bits
        size = rank_block(program.rankings, 0, codes, row_start, row_end, place, work.sorting, work.items, work.buckets)
        plane = (size + 1) * lanes
        clear(nodes, 0, plane, kind)
        clear(result, 0, lanes, kind)
        fitting = True
        row = row_start
        while row < row_end and fitting:
            now = tick[row]
            used = 0
            # all vertices of this tick, from what was inserted before it
            while row < row_end and tick[row] == now and fitting:
                true_low = max(window_first[row] - window, 0)
                true_high = min(window_last[row] - window + 1, blocks.lanes[b])
                if true_low < true_high and letters[row, word] & letter:
                    low = true_low & -8
                    high = min((true_high + 7) & -8, lanes)
                    at = used * width
                    i = row - row_start
                    read_prefix(pending, at, nodes, place[0, 4, i], size, low, high, lanes, components)
                    if low < true_low:
                        zero(pending, at, low, true_low, lanes, components)
                    if true_high < high:
                        zero(pending, at, true_high, high, lanes, components)
                    if limb_bits is not None:
                        if most_limbs == 1:
                            fitting = fits_one_limb(pending, at, low, high, limb_bits)
                        else:
                            while fitting and settle(pending, at, low, high, lanes, components, limb_bits) != 0:
                                fitting = components < most_limbs
                                if fitting:
                                    components = take_limb(pending, used, width, lanes, 1, components)
                                    clear(nodes, (components - 1) * plane, plane, kind)
                                    clear(result, (components - 1) * lanes, lanes, kind)
                    if place[0, 1, i] < 0:  # nothing can follow it
                        combine_long(result, 0, pending, at, low, high, lanes, components, kind)
                    else:
                        pending_place[used, 0] = place[0, 1, i]
                        pending_place[used, 1] = low
                        pending_place[used, 2] = high
                        used += 1
                row += 1
            for number in range(used):
                add_to_tree(
                    nodes, pending_place[number, 0], size, pending, number * width, pending_place[number, 1],
                    pending_place[number, 2], lanes, components,
                )  # fmt: skip
        fits[b] = fitting
        if fitting:
            i = size
            while i > 0:
                for component in range(components):
                    node = component * plane + (i - 1) * lanes
                    combine_long(result, component * lanes, nodes, node, 0, lanes, lanes, 1, kind)
                i &= i - 1
            offset = blocks.offset[b]
            for component in range(components):
                for lane in range(blocks.lanes[b]):
                    results[offset + lane, component] = result[component * lanes + lane]
