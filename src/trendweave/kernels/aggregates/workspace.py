"""The state of a run: which block is at hand, what its stores hold, and scratch memory for the largest block."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.program import NEXT, RANKED
from trendweave.kernels.aggregates.ranks import Places, Sorting
from trendweave.kernels.aggregates.vectors import pad_lanes
from trendweave.kernels.compiling import inlined, inner


class Ask(NamedTuple):
    """What a pass asks for: how many numbers per vertex, in how many limbs at most, summed or compared (`kind`)."""

    numbers: int
    most_limbs: int
    kind: int
    selection: int


class Totals(NamedTuple):
    """Where a pass writes: results[offset + lane, limb * numbers + number], fits[b] and bits_used[b] per block; the
    best per row where `row_results` is not empty."""

    results: np.ndarray
    fits: np.ndarray
    bits_used: np.ndarray
    row_results: np.ndarray


class Block(NamedTuple):
    """The block at hand. `windows` of its `lanes` are real ones, the others pad; a vector has `width` numbers."""

    window: int
    row_start: int
    row_end: int
    capacity: int
    windows: int
    lanes: int
    width: int
    numbers: int
    most_limbs: int
    kind: int
    selection: int


class Contents(NamedTuple):
    """Per store, int64, while a block runs: where its nodes begin, and which part of its list is alive.

    The list is alive in [head, tail); before `turn` it holds suffix sums (see `stores.py`).
    """

    node: np.ndarray
    head: np.ndarray
    turn: np.ndarray
    tail: np.ndarray
    last_tick: np.ndarray


class Waiting(NamedTuple):
    """The vertices of a tick, int64, which are inserted once all of them are known."""

    state: np.ndarray
    row: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Workspace(NamedTuple):
    """Memory for the largest block of a call."""

    contents: Contents
    waiting: Waiting
    places: Places
    sorting: Sorting
    nodes: np.ndarray  # vectors: running sums, trees
    vectors: np.ndarray  # vectors of listed vertices
    pending: np.ndarray  # vectors of the current tick
    result: np.ndarray  # one vector
    list_rows: np.ndarray  # int64
    list_codes: np.ndarray  # int64
    sizes: np.ndarray  # int64[rankings]
    reading_from: np.ndarray  # int64[m]: scans begin here
    ranges: np.ndarray  # int64[most tests, 3]: lowest and highest code, one code left out
    # Skip-till-next-match, uint8; uint64 where there are several queries, as masks of those that it is true for
    accepted: np.ndarray  # listed vertices that found their successor tick
    store_accepted: np.ndarray  # [q]: states whose vertices all did


@inlined
def open_block(blocks, b, ask):
    """Block number b, for what a pass asks for."""
    lanes = pad_lanes(blocks.lanes[b])
    return Block(
        blocks.window[b], blocks.row_start[b], blocks.row_end[b], blocks.row_end[b] - blocks.row_start[b],
        blocks.lanes[b], lanes, lanes * ask.numbers * ask.most_limbs, ask.numbers, ask.most_limbs, ask.kind,
        ask.selection,
    )  # fmt: skip


@inlined
def lanes_of_row(columns, block, row):
    """The windows of the block that hold the row: [first, end)."""
    first = max(columns.window_first[row] - block.window, 0)
    return first, min(columns.window_last[row] - block.window + 1, block.windows)


@inlined
def extend_reach(states, waiting, used, reach):
    """From which state on none can follow what was inserted before, nor the first `used` vertices that waited."""
    for number in range(used):
        reach = max(reach, states.furthest[waiting.state[number]])
    return reach


@inner
def measure_blocks(row_start, row_end, lanes, tick):
    """Largest row count, row count x lanes, and same-tick rows and those x lanes, over all blocks."""
    rows = 0
    cells = 0
    tied = 1
    tied_cells = 1
    for b in range(lanes.size):
        count = row_end[b] - row_start[b]
        rows = max(rows, count)
        cells = max(cells, count * pad_lanes(lanes[b]))
        run = 1
        longest = 1
        for row in range(row_start[b] + 1, row_end[b]):
            run = run + 1 if tick[row] == tick[row - 1] else 1
            longest = max(longest, run)
        tied = max(tied, longest)
        tied_cells = max(tied_cells, longest * pad_lanes(lanes[b]))
    return rows, cells, tied, tied_cells


def make_workspace(program, columns, blocks, ask: Ask, number: type) -> Workspace:
    """Memory for the largest of the blocks, for numbers of the given type."""
    components = ask.numbers * ask.most_limbs
    rows, cells, tied, tied_cells = measure_blocks(blocks.row_start, blocks.row_end, blocks.lanes, columns.tick)
    lanes = int(pad_lanes(int(blocks.lanes.max()))) if blocks.lanes.size else 1
    stores, states, rankings = program.stores, program.states.variable.size, program.rankings
    lists = int(stores.listed.max(initial=-1)) + 1
    both_sides = (rankings.equal_previous != rankings.equal_next) | (rankings.order_previous != rankings.order_next)
    trees = int((1 + both_sides[stores.ranking[stores.way == RANKED]]).sum())
    ranked = rankings.equal_previous.size
    sorted_items = 2 * rows if ranked else 0
    flag = np.uint8 if columns.queries is None else np.uint64

    def integers(*shape: int) -> np.ndarray:
        return np.empty(shape, np.int64)

    return Workspace(
        contents=Contents(*(integers(stores.way.size) for _ in range(5))),
        waiting=Waiting(*(integers(states * (tied + 1)) for _ in range(4))),
        places=Places(*(np.empty((ranked, rows), np.int32) for _ in range(5))),
        sorting=Sorting(
            integers(sorted_items), integers(sorted_items), integers(sorted_items),
            np.empty(sorted_items, np.int32), np.empty(sorted_items, np.int32), integers(2**11 + 1),
        ),
        nodes=np.empty((trees * cells + stores.way.size * lanes) * components, number),
        vectors=np.empty(lists * cells * components, number),
        pending=np.empty(states * (tied_cells + lanes) * components, number),
        result=np.empty(lanes * components, number),
        list_rows=integers(lists * rows),
        list_codes=integers(program.slot_column.size * rows),
        sizes=integers(ranked),
        reading_from=integers(program.transitions.source.size),
        ranges=integers(max(1, program.tests.slot.size), 3),
        accepted=np.zeros(lists * rows if ask.selection == NEXT else 0, flag),
        store_accepted=np.zeros(states, flag),
    )  # fmt: skip
