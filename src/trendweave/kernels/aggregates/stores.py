"""Stores: what a state keeps of its vertices, so that transitions find the sum over predecessors without visiting them.

A row of `Program.stores` says how a store is kept and, while a block runs, where its nodes begin and which part of its
list is alive. Here: empty one, drop from one what a NOT has put out of reach, widen the numbers in all of them."""

import numpy as np

from trendweave.kernels.aggregates.program import (
    HEAD,
    LAST_TICK,
    LISTED,
    NEVER,
    NODE,
    QUEUE,
    RANKED,
    RANKING,
    SCAN,
    TAIL,
    TURN,
    WAY,
)
from trendweave.kernels.aggregates.ranked_sums import remove_at_rank
from trendweave.kernels.aggregates.running_sums import turn_over
from trendweave.kernels.aggregates.vectors import SUM, clear
from trendweave.kernels.compiling import inner


@inner
def empty_all_stores(stores, sizes, nodes, reading_from, result, width, in_use, kind):
    """Begin a new block with the first `in_use` numbers of each vector; returns the number of nodes."""
    at = 0
    for s in range(stores.shape[0]):
        stores[s, NODE] = at
        stores[s, HEAD] = 0
        stores[s, TURN] = 0
        stores[s, TAIL] = 0
        stores[s, LAST_TICK] = NEVER
        if stores[s, WAY] == RANKED:
            at += sizes[stores[s, RANKING]] * width
        elif stores[s, WAY] != SCAN:
            at += width
    count = at // width
    if in_use == width:
        clear(nodes, np.int64(0), at, kind)
    else:
        for node in range(count):
            clear(nodes, node * width, in_use, kind)
    clear(result, np.int64(0), in_use, kind)
    for t in range(reading_from.size):
        reading_from[t] = 0
    return count


@inner
def take_limbs(stores, node_count, nodes, vectors, result, capacity, width, begin, end):
    """Numbers [begin, end) of all vectors kept so far come into use: 0."""
    for node in range(node_count):
        clear(nodes, node * width + begin, end - begin, np.int64(SUM))
    for s in range(stores.shape[0]):
        if stores[s, LISTED] >= 0:
            for position in range(stores[s, TAIL]):
                clear(vectors, (stores[s, LISTED] * capacity + position) * width + begin, end - begin, np.int64(SUM))
    clear(result, begin, end - begin, np.int64(SUM))


@inner
def drop_guarded(stores, s, threshold, tick, window_first, window_last, nodes, vectors, list_rows, place, row_start,
                 capacity, lanes, components, width, kind, window):  # fmt: skip
    """Vertices of store s before the threshold leave for good."""
    head = stores[s, HEAD]
    tail = stores[s, TAIL]
    list_at = stores[s, LISTED] * capacity
    while head < tail and tick[list_rows[list_at + head]] < threshold:
        if stores[s, WAY] == RANKED:
            row = list_rows[list_at + head]
            i = row - row_start
            r = stores[s, RANKING]
            low = max(window_first[row] - window, 0) & -8
            high = min((window_last[row] - window + 8) & -8, lanes)
            remove_at_rank(
                nodes, stores[s, NODE], place[r, 0, i], place[r, 1, i], place[r, 2, i],
                vectors, (list_at + head) * width, low, high, lanes, components, width,
            )  # fmt: skip
        head += 1
    stores[s, HEAD] = head
    if stores[s, WAY] == QUEUE and head > stores[s, TURN]:
        turn_over(vectors, list_at * width, head, tail, nodes, stores[s, NODE], lanes, components, width, kind)
        stores[s, TURN] = tail


@inner
def empty_store(stores, s, nodes, width, kind):
    """Forget everything in a running or queued store."""
    clear(nodes, stores[s, NODE], width, kind)
    stores[s, HEAD] = stores[s, TAIL]
    stores[s, TURN] = stores[s, TAIL]
