"""Aggregates of all trends of a block of windows, propagated along the edges, without building a trend.

A vertex is (row, state). Its vector is the sum of its predecessors' vectors plus what begins here (GRETA, Section 4.2).
Rows with the same tick are never in one trend: all vertices of a tick are computed before any of them is inserted.
Every transition reads one *store* of its source state; the store's way decides how the sum is found.

Program (`program.py`), state of the run (`workspace.py`) and the block at hand are named tuples. They are handed only
to functions that are compiled into their caller, where they cost nothing; a call would be handed each array's parts.
Measured beside one loop of 210 lines with local names for all arrays and calls of up to 29 parameters: 0.3 to 1.0 of
its time, on counts, sums and extrema by ranks, queues and scans, in one window and in overlapping ones."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.blocks import select_blocks
from trendweave.kernels.aggregates.first_and_last import begin_here, end_here
from trendweave.kernels.aggregates.one_state.ranked import propagate_ranked
from trendweave.kernels.aggregates.one_state.run_few import have_few_rows, run_few
from trendweave.kernels.aggregates.plain_loop import run_plainly
from trendweave.kernels.aggregates.program import CONTIGUOUS, NEXT, QUEUE, RANKED, SCAN
from trendweave.kernels.aggregates.ranked_sums import add_prefix
from trendweave.kernels.aggregates.ranks import rank_block
from trendweave.kernels.aggregates.scan import add_scanned
from trendweave.kernels.aggregates.stores import (
    drop_guarded,
    empty_all_stores,
    forget_followed,
    insert_vertices,
    take_limbs,
)
from trendweave.kernels.aggregates.vectors import Span, blank_lanes, clear_lanes, combine
from trendweave.kernels.aggregates.vertices import EMPTY, OVERFLOW, finish_vertex, limb_bits_for
from trendweave.kernels.aggregates.workspace import Ask, Totals, extend_reach, lanes_of_row, make_workspace, open_block
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.query_masks import leave_out_others, may_read, note_followed
from trendweave.kernels.stopping import heed_stop


@inlined
def add_predecessors(program, columns, work, block, state, row, at, span):
    """pending[at] += the vectors of all vertices that the row, read as the state, may follow."""
    stores, contents = program.stores, work.contents
    for t in range(program.states.incoming[state], program.states.incoming_end[state]):
        s = program.transitions.store[t]
        way = stores.way[s]
        if way == SCAN:
            add_scanned(program, columns, work, block, t, state, row, at, span)
            continue
        if block.selection == NEXT:
            note_followed(work.store_accepted, program.transitions.source[t], state, row, t, columns.queries)
        elif block.selection == CONTIGUOUS and contents.last_tick[s] != columns.tick[row] - 1:
            continue
        if stores.guard[s] >= 0:
            drop_guarded(program, columns, work, block, s, columns.guards[stores.guard[s], row], span.components)
        if way == RANKED:
            r, i = stores.ranking[s], row - block.row_start
            tree_at = contents.node[s] + work.places.from_base[r, i] * block.width
            add_prefix(work.pending, at, work.nodes, tree_at, block.width, work.places.bound[r, i], span)
        else:
            combine(work.pending, at, work.nodes, contents.node[s], span)
            if way == QUEUE and contents.head[s] < contents.turn[s]:
                suffix = (stores.listed[s] * block.capacity + contents.head[s]) * block.width
                combine(work.pending, at, work.vectors, suffix, span)


@inlined
def compute_tick(program, columns, work, block, limb_bits, row, reach, limbs, node_count, row_results):
    """All vertices of the tick that begins with the row, from what was inserted before it; none has a state from
    `reach` on. Returns the row after the tick, the number of vertices that wait to be inserted, the limbs in use, and
    whether all numbers fit."""
    states, waiting = program.states, work.waiting
    now = columns.tick[row]
    used = 0
    while row < block.row_end and columns.tick[row] == now:
        first, end = lanes_of_row(columns, block, row)
        low = first & -8
        high = min((end + 7) & -8, block.lanes)
        for state in range(reach if first < end else 0):
            if not may_read(columns.letters, row, states.variable[state], state, columns.queries):
                continue
            at = used * block.width
            span = Span(low, high, block.lanes, block.numbers * limbs, block.kind)
            clear_lanes(work.pending, at, span)
            add_predecessors(program, columns, work, block, state, row, at, span)
            blank_lanes(work.pending, at, first, end, span)
            leave_out_others(work.pending, at, span, state, row, columns.queries)
            begin_here(program, columns, work, block, state, row, at, first, end, span)
            outcome, limbs_now = finish_vertex(
                work.pending, used, block.width, span, limbs, block.most_limbs, limb_bits, columns.measures, row, state,
                columns.queries,
            )  # fmt: skip
            if limbs_now > limbs:
                take_limbs(program, work, block, node_count, limbs, limbs_now)
                limbs = limbs_now
                span = Span(low, high, block.lanes, block.numbers * limbs, block.kind)
            if outcome == EMPTY:
                continue
            if outcome == OVERFLOW:
                return row, used, limbs, False
            end_here(program, columns, work, block, state, row, at, end, span, row_results)
            if states.outgoing[state] < states.outgoing_end[state]:
                waiting.state[used] = state
                waiting.row[used] = row
                waiting.low[used] = low
                waiting.high[used] = high
                used += 1
        row += 1
    return row, used, limbs, True


@inner
def propagate_blocks(program, columns, work, blocks, ask, bits_at_most, totals):
    """Aggregates of all blocks; totals.fits[b] is 0 where a number did not fit."""
    for b in range(blocks.lanes.size):
        block = open_block(blocks, b, ask)
        if bits_at_most is None:
            limb_bits = None
        else:
            limb_bits = limb_bits_for(block.capacity, program.states.variable.size, bits_at_most)
            totals.bits_used[b] = limb_bits
        for r in range(work.sizes.size):
            work.sizes[r] = rank_block(
                program.rankings, r, columns.codes, block.row_start, block.row_end, work.places, work.sorting
            )
        node_count = empty_all_stores(program, work, block)
        reach = program.states.furthest[program.states.variable.size]
        limbs = 1
        fitting = True
        row = block.row_start
        while row < block.row_end:
            heed_stop()
            row, used, limbs, fitting = compute_tick(
                program, columns, work, block, limb_bits, row, reach, limbs, node_count, totals.row_results
            )
            if not fitting:
                break
            if block.selection == NEXT:
                forget_followed(program, work, block, columns.queries)
            insert_vertices(program, columns, work, block, used, block.numbers * limbs)
            reach = extend_reach(program.states, work.waiting, used, reach)
        totals.fits[b] = fitting
        if fitting:
            for component in range(block.numbers * limbs):
                for lane in range(block.windows):
                    totals.results[blocks.offset[b] + lane, component] = work.result[component * block.lanes + lane]
        elif block.selection == NEXT:  # the block was left half-way
            work.accepted[:] = 0
            work.store_accepted[:] = 0


class Choice(NamedTuple):
    """Which loops may run, of those that serve a program: those of `one_state.ranked` and `plain_loop` instead of the
    general one, and that of `one_state.few_rows` where blocks have few rows."""

    ranked: bool
    few: bool
    plain: bool


def propagate(program, columns, blocks, ask: Ask, bits_at_most: int | None, row_results, choice: Choice) -> tuple:
    """Run all blocks, in the loops that are chosen; returns (results, fits, bits per limb).

    `bits_at_most` None: float64 numbers. `row_results` None, or the best per row so far.
    """
    number = np.float64 if bits_at_most is None else np.int64
    totals = Totals(
        np.zeros((int(blocks.offset[-1]), ask.numbers * ask.most_limbs), number),
        np.zeros(blocks.lanes.size, np.bool_),
        np.zeros(blocks.lanes.size, np.int64),
        np.empty(0, number) if row_results is None else row_results,
    )
    if choice.few and (few := have_few_rows(blocks)).any():
        run_few(program, columns, blocks, np.flatnonzero(few), ask, bits_at_most, totals)
        if not few.all():
            others = select_blocks(blocks, ~few)
            rest = propagate(program, columns, others, ask, bits_at_most, None, choice._replace(few=False))
            totals.results[np.repeat(~few, blocks.lanes)] = rest[0]
            totals.fits[~few], totals.bits_used[~few] = rest[1:]
        return totals.results, totals.fits, totals.bits_used
    work = make_workspace(program, columns, blocks, ask, number)
    if choice.ranked:
        limb_lanes = np.zeros(ask.most_limbs, np.int64)
        propagate_ranked(program, columns, work, blocks, ask, bits_at_most, totals, limb_lanes)
    elif choice.plain:
        run_plainly(program, columns, work, blocks, ask, bits_at_most, totals)
    else:
        propagate_blocks(program, columns, work, blocks, ask, bits_at_most, totals)
    return totals.results, totals.fits, totals.bits_used
