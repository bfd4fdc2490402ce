"""Stores: what a state keeps of its vertices, so that transitions find the sum over predecessors without visiting them.

`Program.stores` says how each store is kept, `Workspace.contents` what it holds while a block runs. Here: empty one,
fill one, drop from one what a NOT has put out of reach, widen the numbers in all of them.

Without a comparison a store is one running sum, O(1) per event (A-Seq, Section 3.1). With a guard (a NOT between the
two events) predecessors before a threshold are out for good, and thresholds never fall. The sum over those that remain
is then a queue of two stacks: suffix sums of the older part and one sum of the newer part. Nothing is ever subtracted,
so it serves floats and extrema as well as integers."""

import numpy as np

from trendweave.kernels.aggregates.program import BEFORE_ALL_TICKS, CONTIGUOUS, NEXT, QUEUE, RANKED, RUNNING, SCAN
from trendweave.kernels.aggregates.ranked_sums import Tree, add_at_rank, remove_at_rank
from trendweave.kernels.aggregates.scan import forget_accepted
from trendweave.kernels.aggregates.vectors import SUM, Span, clear, clear_lanes, combine
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.query_masks import followed_in_part, forget_in_part, part_for_store


@inlined
def empty_all_stores(program, work, block):
    """Begin a new block with one limb per number; returns the number of nodes."""
    stores, contents = program.stores, work.contents
    at = np.int64(0)
    for s in range(stores.way.size):
        contents.node[s] = at
        contents.head[s] = 0
        contents.turn[s] = 0
        contents.tail[s] = 0
        contents.last_tick[s] = BEFORE_ALL_TICKS
        if stores.way[s] == RANKED:
            at += work.sizes[stores.ranking[s]] * block.width
        elif stores.way[s] != SCAN:
            at += block.width
    count = at // block.width
    in_use = block.lanes * block.numbers
    if in_use == block.width:
        clear(work.nodes, np.int64(0), at, block.kind)
    else:
        for node in range(count):
            clear(work.nodes, node * block.width, in_use, block.kind)
    clear(work.result, np.int64(0), in_use, block.kind)
    for t in range(work.reading_from.size):
        work.reading_from[t] = 0
    return count


@inlined
def take_limbs(program, work, block, node_count, limbs, limbs_now):
    """Limbs [limbs, limbs_now) of all vectors kept so far come into use: 0."""
    stores, kind = program.stores, np.int64(SUM)
    begin = limbs * block.numbers * block.lanes
    length = (limbs_now - limbs) * block.numbers * block.lanes
    for node in range(node_count):
        clear(work.nodes, node * block.width + begin, length, kind)
    for s in range(stores.way.size):
        if stores.listed[s] >= 0:
            for position in range(work.contents.tail[s]):
                at = (stores.listed[s] * block.capacity + position) * block.width
                clear(work.vectors, at + begin, length, kind)
    clear(work.result, begin, length, kind)


@inlined
def tree_of(program, work, block, s, row):
    """The tree of a ranked store into which the row goes."""
    r, i = program.stores.ranking[s], row - block.row_start
    at = work.contents.node[s] + work.places.base[r, i] * block.width
    return Tree(at, np.int64(work.places.size[r, i]), block.width)


@inner
def push(vectors, at, width, newer, newer_at, vector, vector_at, span):
    """Append one vector, at `at` of the list, and add it to the newer part."""
    clear(vectors, at, width, span.kind)
    combine(vectors, at, vector, vector_at, span)
    combine(newer, newer_at, vector, vector_at, span)


@inner
def turn_over(vectors, at, head, tail, newer, newer_at, width, lanes, components, kind):
    """Make suffix sums of everything in [head, tail); the newer part becomes empty."""
    whole = Span(np.int64(0), lanes, lanes, components, kind)
    for position in range(tail - 2, head - 1, -1):
        this = at + position * width
        combine(vectors, this, vectors, this + width, whole)
    clear(newer, newer_at, width, kind)


@inlined
def drop_guarded(program, columns, work, block, s, threshold, components):
    """Vertices of store s before the threshold leave for good."""
    contents, way = work.contents, program.stores.way[s]
    head = contents.head[s]
    tail = contents.tail[s]
    list_at = program.stores.listed[s] * block.capacity
    while head < tail and columns.tick[work.list_rows[list_at + head]] < threshold:
        if way == RANKED:
            row = work.list_rows[list_at + head]
            low = max(columns.window_first[row] - block.window, 0) & -8
            high = min((columns.window_last[row] - block.window + 8) & -8, block.lanes)
            span = Span(low, high, block.lanes, components, block.kind)
            rank = work.places.rank[program.stores.ranking[s], row - block.row_start]
            tree = tree_of(program, work, block, s, row)
            remove_at_rank(work.nodes, tree, rank, work.vectors, (list_at + head) * block.width, span)
        head += 1
    contents.head[s] = head
    if way == QUEUE and head > contents.turn[s]:
        turn_over(
            work.vectors, list_at * block.width, head, tail, work.nodes, contents.node[s], block.width, block.lanes,
            components, block.kind,
        )  # fmt: skip
        contents.turn[s] = tail


@inlined
def empty_store(work, block, s):
    """Forget everything in a running or queued store."""
    clear(work.nodes, work.contents.node[s], block.width, block.kind)
    work.contents.head[s] = work.contents.tail[s]
    work.contents.turn[s] = work.contents.tail[s]


@inlined
def empty_store_in_part(stores, work, block, s, followed, queries):
    """Forget everything in a running or queued store that belongs to some queries."""
    whole = Span(np.int64(0), block.lanes, block.lanes, block.numbers * block.most_limbs, block.kind)
    forget_in_part(work.nodes, work.contents.node[s], whole, followed, queries)
    for position in range(work.contents.head[s], work.contents.tail[s]):
        at = (stores.listed[s] * block.capacity + position) * block.width
        forget_in_part(work.vectors, at, whole, followed, queries)


@inlined
def forget_followed(program, work, block, queries):
    """Skip-till-next-match: who found a successor at this tick connects to nothing later."""
    states = program.states
    for state in range(states.variable.size):
        for s in range(states.outgoing[state], states.outgoing_end[state]):
            if program.stores.way[s] == SCAN:
                forget_accepted(program.stores, work, block, s, state, queries)
            elif work.store_accepted[state]:
                if followed_in_part(work.store_accepted[state], state, queries):
                    empty_store_in_part(program.stores, work, block, s, work.store_accepted[state], queries)
                else:
                    empty_store(work, block, s)
        work.store_accepted[state] = 0


@inlined
def insert_vertex(program, columns, work, block, s, row, at, span):
    """Put pending[at], the vertex of a row, into store s of its state."""
    stores, contents = program.stores, work.contents
    way = stores.way[s]
    if way == RANKED:
        rank = work.places.rank[stores.ranking[s], row - block.row_start]
        if rank < 0:
            return
        add_at_rank(work.nodes, tree_of(program, work, block, s, row), rank, work.pending, at, span)
        if stores.guard[s] < 0:
            return
    elif way != SCAN:
        now = columns.tick[row]
        if block.selection == CONTIGUOUS and contents.last_tick[s] != now:
            empty_store(work, block, s)
        contents.last_tick[s] = now
        if way == RUNNING:
            combine(work.nodes, contents.node[s], work.pending, at, span)
            return
    tail = contents.tail[s]
    contents.tail[s] = tail + 1
    list_at = stores.listed[s] * block.capacity + tail
    work.list_rows[list_at] = row
    if way == QUEUE:
        push(work.vectors, list_at * block.width, block.width, work.nodes, contents.node[s], work.pending, at, span)
    else:
        for slot in range(stores.slot[s], stores.slot_end[s]):
            work.list_codes[slot * block.capacity + tail] = columns.codes[program.slot_column[slot], row]
        if block.selection == NEXT:
            work.accepted[list_at] = 0
        clear_lanes(work.vectors, list_at * block.width, span)
        combine(work.vectors, list_at * block.width, work.pending, at, span)


@inlined
def insert_vertices(program, columns, work, block, used, components):
    """Put the first `used` vertices that wait into all stores of their states."""
    waiting, states = work.waiting, program.states
    for number in range(used):
        state = waiting.state[number]
        span = Span(waiting.low[number], waiting.high[number], block.lanes, components, block.kind)
        for s in range(states.outgoing[state], states.outgoing_end[state]):
            at = part_for_store(work.pending, number * block.width, used * block.width, span, s, columns.queries)
            insert_vertex(program, columns, work, block, s, waiting.row[number], at, span)
