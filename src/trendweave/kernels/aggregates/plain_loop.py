"""The block loop of `propagate` with less in it, for most programs: any later event may follow, sums are running ones
or by ranks, nothing is ever taken out of them, and numbers have one limb.

Vertices, their order and all that is added are the same, so floats are rounded alike. It is there for the time that
compiling takes, a small part of that of the loop for everything, and it is given what it reads and no more: for each
array that Python hands over, code is compiled.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.blocks import FewerBlocks
from trendweave.kernels.aggregates.first_and_last import begin_here, end_here
from trendweave.kernels.aggregates.program import RANKED, RUNNING, Rankings, States, leave_out_columns
from trendweave.kernels.aggregates.ranked_sums import Tree, add_at_rank, add_prefix
from trendweave.kernels.aggregates.ranks import Places, Sorting, rank_block
from trendweave.kernels.aggregates.vectors import Span, blank_lanes, clear, clear_lanes, combine, pad_lanes
from trendweave.kernels.aggregates.vertices import EMPTY, OVERFLOW, finish_small, limb_bits_for
from trendweave.kernels.aggregates.workspace import Ask, Totals, Waiting, Workspace, extend_reach, lanes_of_row
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.inputs import Selection
from trendweave.kernels.query_masks import may_read
from trendweave.kernels.stopping import heed_stop


class PlainProgram(NamedTuple):
    """The parts of a `Program` that are read here."""

    states: States
    store: np.ndarray  # of each transition
    way: np.ndarray  # of each store
    ranking: np.ndarray
    rankings: Rankings


class PlainBlock(NamedTuple):
    """The block at hand; see `Block`."""

    window: int
    row_start: int
    row_end: int
    windows: int
    lanes: int
    width: int
    numbers: int
    kind: int


class PlainWork(NamedTuple):
    """The parts of a `Workspace` that are used here."""

    node: np.ndarray
    waiting: Waiting
    places: Places
    sorting: Sorting
    nodes: np.ndarray
    pending: np.ndarray
    result: np.ndarray
    sizes: np.ndarray


def serves_plainly(program, ask: Ask, queries) -> bool:
    """Whether a program is one that this loop can run."""
    stores = program.stores
    return bool(
        queries is None and ask.most_limbs == 1 and ask.selection == Selection.ANY
        and (stores.guard < 0).all() and ((stores.way == RUNNING) | (stores.way == RANKED)).all()
    )  # fmt: skip


@inlined
def open_plain_block(blocks, b, numbers, kind):
    """Block number b."""
    lanes = pad_lanes(blocks.lanes[b])
    return PlainBlock(
        blocks.window[b], blocks.row_start[b], blocks.row_end[b], blocks.lanes[b], lanes, lanes * numbers, numbers, kind
    )


@inlined
def empty_plain_stores(program, work, block):
    """Begin a new block."""
    at = np.int64(0)
    for s in range(program.way.size):
        work.node[s] = at
        at += work.sizes[program.ranking[s]] * block.width if program.way[s] == RANKED else block.width
    clear(work.nodes, np.int64(0), at, block.kind)
    clear(work.result, np.int64(0), block.width, block.kind)


@inlined
def add_plain_predecessors(program, work, block, state, row, at, span):
    """pending[at] += the vectors of all vertices that the row, read as the state, may follow."""
    for t in range(program.states.incoming[state], program.states.incoming_end[state]):
        s = program.store[t]
        if program.way[s] == RANKED:
            r, i = program.ranking[s], row - block.row_start
            tree_at = work.node[s] + work.places.from_base[r, i] * block.width
            add_prefix(work.pending, at, work.nodes, tree_at, block.width, work.places.bound[r, i], span)
        else:
            combine(work.pending, at, work.nodes, work.node[s], span)


@inlined
def insert_plainly(program, work, block, used):
    """Put the first `used` vertices that wait into all stores of their states."""
    waiting, states = work.waiting, program.states
    for number in range(used):
        state, i = waiting.state[number], waiting.row[number] - block.row_start
        span = Span(waiting.low[number], waiting.high[number], block.lanes, block.numbers, block.kind)
        at = number * block.width
        for s in range(states.outgoing[state], states.outgoing_end[state]):
            if program.way[s] == RANKED:
                r = program.ranking[s]
                if work.places.rank[r, i] >= 0:
                    base = work.node[s] + work.places.base[r, i] * block.width
                    tree = Tree(base, np.int64(work.places.size[r, i]), block.width)
                    add_at_rank(work.nodes, tree, work.places.rank[r, i], work.pending, at, span)
            else:
                combine(work.nodes, work.node[s], work.pending, at, span)


@inlined
def compute_plain_tick(program, columns, work, block, limb_bits, row, reach, row_results):
    """As `compute_tick`. Returns the row after the tick, the number of vertices that wait, and whether all fit."""
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
            span = Span(low, high, block.lanes, block.numbers, block.kind)
            clear_lanes(work.pending, at, span)
            add_plain_predecessors(program, work, block, state, row, at, span)
            blank_lanes(work.pending, at, first, end, span)
            begin_here(program, columns, work, block, state, row, at, first, end, span)
            outcome = finish_small(work.pending, at, span, limb_bits, columns.measures, row, state, None)
            if outcome == EMPTY:
                continue
            if outcome == OVERFLOW:
                return row, used, False
            end_here(program, columns, work, block, state, row, at, end, span, row_results)
            if states.outgoing[state] < states.outgoing_end[state]:
                waiting.state[used] = state
                waiting.row[used] = row
                waiting.low[used] = low
                waiting.high[used] = high
                used += 1
        row += 1
    return row, used, True


@inner
def propagate_plain(program, columns, work, blocks, kind, bits_at_most, totals):
    """As `propagate_blocks`, for programs that this loop serves."""
    for b in range(blocks.lanes.size):
        block = open_plain_block(blocks, b, totals.results.shape[1], kind)
        if bits_at_most is None:
            limb_bits = None
        else:
            limb_bits = limb_bits_for(block.row_end - block.row_start, program.states.variable.size, bits_at_most)
            totals.bits_used[b] = limb_bits
        for r in range(work.sizes.size):
            work.sizes[r] = rank_block(
                program.rankings, r, columns.codes, block.row_start, block.row_end, work.places, work.sorting
            )
        empty_plain_stores(program, work, block)
        fitting = True
        reach = program.states.furthest[program.states.variable.size]
        row = block.row_start
        while row < block.row_end and fitting:
            heed_stop()
            row, used, fitting = compute_plain_tick(
                program, columns, work, block, limb_bits, row, reach, totals.row_results
            )
            if fitting:
                insert_plainly(program, work, block, used)
                reach = extend_reach(program.states, work.waiting, used, reach)
        totals.fits[b] = fitting
        if fitting:
            for component in range(block.numbers):
                for lane in range(block.windows):
                    totals.results[blocks.offset[b] + lane, component] = work.result[component * block.lanes + lane]


def run_plainly(program, columns, work: Workspace, blocks, ask: Ask, bits_at_most: int | None, totals: Totals) -> None:
    """Write the totals of all blocks."""
    stores = program.stores
    propagate_plain(
        PlainProgram(program.states, program.transitions.store, stores.way, stores.ranking, program.rankings),
        leave_out_columns(columns),
        PlainWork(
            work.contents.node, work.waiting, work.places, work.sorting, work.nodes, work.pending, work.result,
            work.sizes,
        ),
        FewerBlocks(*blocks[1:]), ask.kind, bits_at_most, totals,
    )  # fmt: skip
