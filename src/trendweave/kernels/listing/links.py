"""Which vertices lead to a row: the edges of the graph of trends.

Vertices of a source state are looked at from the latest to the earliest: by chains of equal values where the transition
has an equality, else in blocks that know the range of their values.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late
from trendweave.kernels.inputs import CONTIGUOUS, NEXT
from trendweave.kernels.listing.blocks import may_hold
from trendweave.kernels.listing.steps import accepts, guard_at

#: What a candidate is: no edge, an edge, or one before which there are no more.
OTHER, EDGE, LAST = range(3)
#: The number of edges where there is no room for one more.
FULL = -1


class Vertices(NamedTuple):
    """Vertices while they are built. `chains`: per transition that leaves its state the
    vertex before with an equal value."""

    row: np.ndarray
    state: np.ndarray
    start_from: np.ndarray
    end_until: np.ndarray
    follow: np.ndarray
    edge_starts: np.ndarray
    chains: np.ndarray


@inlined_late
def judge(rows, steps, follow, transition, u, p, row, guard):
    """Whether a trend may step from vertex u, of row p, to a row. With skip-till-next-match, u then knows that an event
    can follow it."""
    if rows.window_last[p] < rows.window_first[row]:
        return LAST
    if steps.selection == CONTIGUOUS and rows.tick[p] + 1 < rows.tick[row]:
        return LAST
    if steps.selection == NEXT:
        if follow[u] >= 0 and follow[u] < rows.tick[row]:
            return OTHER
    elif rows.tick[p] < guard:
        return LAST
    if not accepts(steps, transition, p, row):
        return OTHER
    if steps.selection == NEXT:
        follow[u] = rows.tick[row]
        if rows.tick[p] < guard:
            return OTHER
    return EDGE


@inlined_late
def link_chain(rows, steps, vertices, latest_of_value, edges, transition, row, base, used, listed):
    """List the edges to a row from vertices of an equal value. Returns whether there are any, and the edges used."""
    equality = steps.equality[transition]
    guard = guard_at(steps, transition, row)
    code = steps.codes[steps.tests.following[equality], row]
    u = latest_of_value[transition, code] if code >= 0 else np.int64(-1)
    linked = False
    while u >= base:
        answer = judge(rows, steps, vertices.follow, transition, u, vertices.row[u], row, guard)
        if answer == LAST:
            break
        if answer == EDGE:
            linked = True
            if not listed:
                break
            if used == edges.size:
                return linked, np.int64(FULL)
            edges[used] = u
            used += 1
        u = np.int64(vertices.chains[u, steps.place[transition]])
    return linked, used


@inlined_late
def leave_followed(blocks, block, follow, tick):
    """Leave vertices that an event before a tick could follow out of a block: with skip-till-next-match nothing else
    ever follows them."""
    left = 0
    for item in range(blocks.size[block]):
        u = blocks.items[block, item]
        if follow[u] < 0 or follow[u] >= tick:
            blocks.items[block, left] = u
            left += 1
    blocks.size[block] = left


@inlined_late
def link_blocks(rows, steps, vertices, blocks, edges, transition, row, used, listed):
    """List the edges to a row from the vertices of a transition's source state. Returns as `link_chain`."""
    guard = guard_at(steps, transition, row)
    linked = False
    later = np.int64(-1)
    block = blocks.latest[steps.source[transition]]
    while block >= 0:
        item = blocks.size[block] if may_hold(steps, blocks, block, transition, row) else np.int64(0)
        followed = False
        while item > 0:
            item -= 1
            u = np.int64(blocks.items[block, item])
            if steps.selection == NEXT and 0 <= vertices.follow[u] < rows.tick[row]:
                followed = True
                continue
            answer = judge(rows, steps, vertices.follow, transition, u, vertices.row[u], row, guard)
            if answer == LAST:
                return linked, used
            if answer == EDGE:
                linked = True
                if listed:
                    if used == edges.size:
                        return linked, np.int64(FULL)
                    edges[used] = u
                    used += 1
                elif steps.selection != NEXT:
                    return linked, used
        # Ticks and windows only fall from here: there may be nothing left.
        first = vertices.row[blocks.items[block, 0]]
        if rows.window_last[first] < rows.window_first[row]:
            break
        if steps.selection != NEXT and rows.tick[first] < guard:
            break
        if followed:
            leave_followed(blocks, block, vertices.follow, rows.tick[row])
            if blocks.size[block] == 0 and later >= 0:
                blocks.before[later] = blocks.before[block]
                block = later
        later = block
        block = blocks.before[block]
    return linked, used
