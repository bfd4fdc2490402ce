"""Aggregates of all trends of a block of windows, propagated along the edges, without building a trend.

A vertex is (row, state). Its vector is the sum of its predecessors' vectors plus what begins here (GRETA, Section 4.2).
Rows with the same tick are never in one trend: all vertices of a tick are computed before any of them is inserted.
Every transition reads one *store* of its source state; the store's way decides how the sum is found.

The block loop is one long function on purpose: passing tuples of arrays on, or taking a view per row, costs more than
the work itself."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.program import (
    CONTIGUOUS,
    FINAL_GUARD,
    GUARD,
    HEAD,
    INCOMING,
    INCOMING_END,
    LAST_TICK,
    LISTED,
    NEXT,
    NODE,
    OUTGOING,
    OUTGOING_END,
    QUEUE,
    RANKED,
    RANKING,
    RUNNING,
    SCAN,
    SLOT,
    SLOT_END,
    SOURCE,
    START_GUARD,
    STORE,
    TAIL,
    TURN,
    VARIABLE,
    WAY,
)  # fmt: skip
from trendweave.kernels.aggregates.ranked_one_state import propagate_ranked
from trendweave.kernels.aggregates.ranked_sums import add_at_rank, add_prefix
from trendweave.kernels.aggregates.ranks import rank_block
from trendweave.kernels.aggregates.running_sums import push
from trendweave.kernels.aggregates.scan import add_scanned, forget_accepted
from trendweave.kernels.aggregates.stores import drop_guarded, empty_all_stores, empty_store, take_limbs
from trendweave.kernels.aggregates.vectors import (
    EMPTY,
    OVERFLOW,
    begin_trends,
    blank_lanes,
    clear_lanes,
    combine,
    finish_vertex,
    limb_bits_for,
    padded,
)
from trendweave.kernels.compiling import inner


class Workspace(NamedTuple):
    """Scratch memory for the largest block of a call."""

    nodes: np.ndarray  # vectors: running sums, trees
    vectors: np.ndarray  # vectors of listed vertices
    pending: np.ndarray  # vectors of the current tick
    pending_place: np.ndarray  # int64[., 4]: state, row, low, high
    result: np.ndarray  # one vector
    list_rows: np.ndarray  # int64
    list_codes: np.ndarray  # int64
    place: np.ndarray  # int32[rankings, 5, rows]
    sorting: np.ndarray  # int64[3, .]
    items: np.ndarray  # int32[2, .]
    buckets: np.ndarray  # int64
    sizes: np.ndarray  # int64[rankings]
    reading_from: np.ndarray  # int64[m]: scans begin here
    ranges: np.ndarray  # int64[most tests, 3]
    accepted: np.ndarray  # uint8: listed vertices that found their successor tick
    store_accepted: np.ndarray  # uint8[q]: states whose vertices all did


@inner
def propagate_blocks(
    program,
    columns,
    work,
    blocks,
    most_limbs,
    bits_at_most,
    numbers,
    kind,
    selection,
    row_results,
    results,
    fits,
    bits_used,
):
    """Aggregates of all blocks: results[offset + lane, limb * numbers + number]; fits[b] is 0 where a number did not
    fit."""
    states, transitions, tests, stores = program.states, program.transitions, program.tests, program.stores
    slot_column, rankings = program.slot_column, program.rankings
    pairs, answers = program.pairs, program.answers
    tick, letters, window_first, window_last = columns.tick, columns.letters, columns.window_first, columns.window_last
    codes, guards = columns.codes, columns.guards
    start_guards, final_guards = columns.start_guards, columns.final_guards
    values, value_states = columns.values, columns.value_states
    nodes, vectors, pending, pending_place = work.nodes, work.vectors, work.pending, work.pending_place
    result, list_rows, list_codes, place = work.result, work.list_rows, work.list_codes, work.place
    sizes, reading_from, accepted, store_accepted = work.sizes, work.reading_from, work.accepted, work.store_accepted
    sorting, items, buckets, ranges = work.sorting, work.items, work.buckets, work.ranges
    row_starts, row_ends, windows, block_lanes, offsets = (
        blocks.row_start, blocks.row_end, blocks.window, blocks.lanes, blocks.offset,
    )  # fmt: skip
    state_count = states.shape[0]
    beginning = np.int64(0)  # a literal 0 would compile `combine` once more
    for b in range(block_lanes.size):
        lanes = padded(block_lanes[b])
        window = windows[b]
        row_start = row_starts[b]
        row_end = row_ends[b]
        capacity = row_end - row_start
        width = lanes * numbers * most_limbs
        limbs = 1  # in use
        components = numbers
        if bits_at_most is None:
            limb_bits = None
        else:
            limb_bits = limb_bits_for(capacity, state_count, bits_at_most)
            bits_used[b] = limb_bits
        for r in range(rankings.shape[0]):
            sizes[r] = rank_block(rankings, r, codes, row_start, row_end, place, sorting, items, buckets)
        node_count = empty_all_stores(stores, sizes, nodes, reading_from, result, width, lanes * numbers, kind)
        fitting = True
        row = row_start
        while row < row_end and fitting:
            now = tick[row]
            used = 0
            # 1. all vertices of this tick, from what was inserted before it
            while row < row_end and tick[row] == now and fitting:
                true_low = max(window_first[row] - window, 0)
                true_high = min(window_last[row] - window + 1, block_lanes[b])
                low = true_low & -8
                high = min((true_high + 7) & -8, lanes)
                for state in range(state_count if true_low < true_high else 0):
                    variable = states[state, VARIABLE]
                    if (letters[row, variable >> 6] >> np.uint64(variable & 63)) & np.uint64(1) == np.uint64(0):
                        continue
                    at = used * width
                    clear_lanes(pending, at, low, high, lanes, components, kind)
                    for t in range(states[state, INCOMING], states[state, INCOMING_END]):
                        s = transitions[t, STORE]
                        way = stores[s, WAY]
                        if way == SCAN:
                            add_scanned(
                                transitions, t, tests, stores, pairs, answers, codes,
                                guards, tick, window_first, window_last, row, window, low, high, pending, at, vectors,
                                list_rows, list_codes, reading_from, ranges, accepted, capacity, lanes,
                                components, width, kind, selection,
                            )  # fmt: skip
                            continue
                        if selection == NEXT:
                            store_accepted[transitions[t, SOURCE]] = 1
                        elif selection == CONTIGUOUS and stores[s, LAST_TICK] != now - 1:
                            continue
                        if stores[s, GUARD] >= 0:
                            drop_guarded(
                                stores, s, guards[stores[s, GUARD], row], tick, window_first, window_last, nodes,
                                vectors, list_rows, place, row_start, capacity, lanes, components, width, kind,
                                window,
                            )  # fmt: skip
                        if way == RANKED:
                            r = stores[s, RANKING]
                            add_prefix(
                                pending, at, nodes, stores[s, NODE], place[r, 3, row - row_start],
                                place[r, 4, row - row_start], low, high, lanes, components, width, kind,
                            )  # fmt: skip
                        else:
                            combine(pending, at, nodes, stores[s, NODE], low, high, lanes, components, kind)
                            if way == QUEUE and stores[s, HEAD] < stores[s, TURN]:
                                suffix = (stores[s, LISTED] * capacity + stores[s, HEAD]) * width
                                combine(pending, at, vectors, suffix, low, high, lanes, components, kind)
                    blank_lanes(pending, at, low, true_low, true_high, high, lanes, components, kind)
                    if states[state, START_GUARD] > -2:
                        begin = true_low
                        if states[state, START_GUARD] >= 0:
                            begin = max(true_low, start_guards[states[state, START_GUARD], row] - window)
                        begin_trends(pending, at, begin, true_high, lanes, components, kind, values, row)
                    outcome, limbs_now = finish_vertex(
                        pending, used, width, low, high, lanes, limbs, most_limbs, limb_bits, kind, values,
                        value_states, row, state,
                    )  # fmt: skip
                    if limbs_now > limbs:
                        begin = limbs * numbers * lanes
                        end = limbs_now * numbers * lanes
                        take_limbs(stores, node_count, nodes, vectors, result, capacity, width, begin, end)
                        limbs = limbs_now
                        components = numbers * limbs
                    if outcome == EMPTY:
                        continue
                    if outcome == OVERFLOW:
                        fitting = False
                        break
                    if states[state, FINAL_GUARD] > -2:
                        end = high
                        if states[state, FINAL_GUARD] >= 0:
                            end = min(true_high, final_guards[states[state, FINAL_GUARD], row] - window + 1)
                        if low < end:
                            combine(result, beginning, pending, at, low, end, lanes, components, kind)
                            if row_results.size > 0:
                                row_results[row] = max(row_results[row], pending[at])
                    if states[state, OUTGOING] < states[state, OUTGOING_END]:
                        pending_place[used, 0] = state
                        pending_place[used, 1] = row
                        pending_place[used, 2] = low
                        pending_place[used, 3] = high
                        used += 1
                row += 1
            if not fitting:
                break
            # 2. skip-till-next-match: who found a successor now connects to nothing later
            if selection == NEXT:
                for state in range(state_count):
                    for s in range(states[state, OUTGOING], states[state, OUTGOING_END]):
                        if stores[s, WAY] == SCAN:
                            forget_accepted(stores, s, list_rows, list_codes, vectors, accepted, capacity, width)
                        elif store_accepted[state]:
                            empty_store(stores, s, nodes, width, kind)
                    store_accepted[state] = 0
            # 3. insert this tick's vertices
            for number in range(used):
                state = pending_place[number, 0]
                vertex_row = pending_place[number, 1]
                low = pending_place[number, 2]
                high = pending_place[number, 3]
                at = number * width
                for s in range(states[state, OUTGOING], states[state, OUTGOING_END]):
                    way = stores[s, WAY]
                    if way == RANKED:
                        r = stores[s, RANKING]
                        i = vertex_row - row_start
                        if place[r, 1, i] < 0:
                            continue
                        add_at_rank(
                            nodes, stores[s, NODE], place[r, 0, i], place[r, 1, i], place[r, 2, i], pending, at, low,
                            high, lanes, components, width, kind,
                        )  # fmt: skip
                        if stores[s, GUARD] < 0:
                            continue
                    elif way != SCAN:
                        if selection == CONTIGUOUS and stores[s, LAST_TICK] != now:
                            empty_store(stores, s, nodes, width, kind)
                        stores[s, LAST_TICK] = now
                        if way == RUNNING:
                            combine(nodes, stores[s, NODE], pending, at, low, high, lanes, components, kind)
                            continue
                    tail = stores[s, TAIL]
                    stores[s, TAIL] = tail + 1
                    list_at = stores[s, LISTED] * capacity
                    list_rows[list_at + tail] = vertex_row
                    if way == QUEUE:
                        push(
                            vectors, list_at * width, tail, nodes, stores[s, NODE], pending, at, low, high, lanes,
                            components, width, kind,
                        )  # fmt: skip
                    else:
                        for slot in range(stores[s, SLOT], stores[s, SLOT_END]):
                            list_codes[slot * capacity + tail] = codes[slot_column[slot], vertex_row]
                        clear_lanes(vectors, (list_at + tail) * width, low, high, lanes, components, kind)
                        combine(vectors, (list_at + tail) * width, pending, at, low, high, lanes, components, kind)
        fits[b] = fitting
        if fitting:
            offset = offsets[b]
            for component in range(components):
                for lane in range(block_lanes[b]):
                    results[offset + lane, component] = result[component * lanes + lane]
        elif selection == NEXT:  # the block was left half-way
            accepted[:] = 0
            store_accepted[:] = 0


@inner
def largest_needs(row_start, row_end, lanes, tick):
    """Largest row count, row count x lanes, and same-tick rows and those x lanes, over all blocks."""
    rows = 0
    cells = 0
    tied = 1
    tied_cells = 1
    for b in range(lanes.size):
        count = row_end[b] - row_start[b]
        rows = max(rows, count)
        cells = max(cells, count * padded(lanes[b]))
        run = 1
        longest = 1
        for row in range(row_start[b] + 1, row_end[b]):
            run = run + 1 if tick[row] == tick[row - 1] else 1
            longest = max(longest, run)
        tied = max(tied, longest)
        tied_cells = max(tied_cells, longest * padded(lanes[b]))
    return rows, cells, tied, tied_cells


def propagate(program, columns, blocks, limbs, bits_at_most, numbers, kind, selection, row_results, ranked):
    """Run all blocks, in the loop of `ranked_one_state` if `ranked`; returns (results, fits, bits per limb).
    `bits_at_most` None: float64 numbers."""
    components = numbers * limbs
    number = np.float64 if bits_at_most is None else np.int64
    most_rows, most_cells, tied, tied_cells = largest_needs(
        blocks.row_start, blocks.row_end, blocks.lanes, columns.tick
    )
    most_lanes = int(padded(int(blocks.lanes.max()))) if blocks.lanes.size else 1
    states = program.states.shape[0]
    stores = program.stores
    lists = int(stores[:, LISTED].max(initial=-1)) + 1
    trees = 0
    for ranking in stores[stores[:, WAY] == RANKED, RANKING]:
        k = program.rankings[ranking]
        trees += 1 if k[0] == k[1] and k[2] == k[3] else 2
    sorting = 2 * most_rows if program.rankings.shape[0] else 0
    work = Workspace(
        nodes=np.empty((trees * most_cells + stores.shape[0] * most_lanes) * components, number),
        vectors=np.empty(lists * most_cells * components, number),
        pending=np.empty(states * (tied_cells + most_lanes) * components, number),
        pending_place=np.empty((states * (tied + 1), 4), np.int64),
        result=np.empty(most_lanes * components, number),
        list_rows=np.empty(lists * most_rows, np.int64),
        list_codes=np.empty(program.slot_column.size * most_rows, np.int64),
        place=np.empty((program.rankings.shape[0], 5, most_rows), np.int32),
        sorting=np.empty((3, sorting), np.int64),
        items=np.empty((2, sorting), np.int32),
        buckets=np.empty(2**11 + 1, np.int64),
        sizes=np.empty(program.rankings.shape[0], np.int64),
        reading_from=np.empty(program.transitions.shape[0], np.int64),
        ranges=np.empty((max(1, program.tests.shape[0]), 3), np.int64),
        accepted=np.zeros(lists * most_rows if selection == NEXT else 0, np.uint8),
        store_accepted=np.zeros(states, np.uint8),
    )
    results = np.zeros((int(blocks.offset[-1]), components), number)
    fits = np.zeros(blocks.lanes.size, np.bool_)
    bits_used = np.zeros(blocks.lanes.size, np.int64)
    if ranked:
        propagate_ranked(program, columns, work, blocks, limbs, bits_at_most, results, fits, bits_used)
        return results, fits, bits_used
    if row_results is None:
        row_results = np.empty(0, number)
    propagate_blocks(
        program, columns, work, blocks, limbs, bits_at_most, numbers, kind, selection, row_results, results, fits,
        bits_used,
    )  # fmt: skip
    return results, fits, bits_used
