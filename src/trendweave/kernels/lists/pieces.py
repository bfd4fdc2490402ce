"""T-CET and H-CET: pieces of trends are built once per stretch of time and joined from stretch to stretch.

A graphlet is a stretch of the vertices of a segment. Inside it all pieces of trends are built breadth first, each
vertex extending the pieces of those before it (T-CET; CET, Section 4.2); across graphlets a depth-first walk joins them
(H-CET, Section 4.3). One graphlet is T-CET, one per tick is close to M-CET. Pieces do not depend on the window: all
windows of a segment share them (Section 6.3), each leaving out the pieces that begin before it.

CET allows cuts only where edges lead from last to first events of graphlets. Here a piece may begin at any vertex that
an earlier graphlet leads to, and end at any vertex, so every time between two ticks is a cut.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner, outer
from trendweave.kernels.lists.graph import COMPLETE, NO_WINDOW, NOWHERE, TrendGraph, has_edge, latest_before
from trendweave.kernels.searching import first_not_below
from trendweave.kernels.stopping import heed_stop, is_to_stop

#: What a piece takes in memory: a start, and a number per vertex.
BYTES_PER_PIECE, BYTES_PER_VERTEX = 8, 4


class Pieces(NamedTuple):
    """The pieces that end at vertex `base + i` are `first[i]:first[i + 1]`; piece k is
    `vertices[starts[k]:starts[k + 1]]`. `graphlet_start` is the first vertex of a vertex's graphlet."""

    first: np.ndarray
    starts: np.ndarray
    vertices: np.ndarray
    graphlet_start: np.ndarray
    base: int


def find_begins(graph: TrendGraph, mode: int) -> np.ndarray:
    """Vertices at which a trend begins in some window. A complete trend does not begin behind a vertex at which others
    begin in all windows of both."""
    begins = graph.start_from != NO_WINDOW
    if mode != COMPLETE:
        return begins
    in_all = np.where(graph.start_from <= graph.window_first, graph.window_last, NOWHERE)
    return begins & (latest_before(graph.edge_starts, graph.edges, in_all)[0] < graph.window_last)


@inner
def count_pieces(edge_starts, edges, begins, low, high, pieces, sizes):
    """Pieces that end at each vertex of a graphlet, and their vertices; totals, as floats that cannot overflow."""
    total, total_size = 0.0, 0.0
    for v in range(low, high):
        heed_stop()
        count, size = 0.0, 0.0
        entered = begins[v]
        for i in range(edge_starts[v], edge_starts[v + 1]):
            u = edges[i]
            if u < low:
                entered = True
            else:
                count += pieces[u - low]
                size += sizes[u - low] + pieces[u - low]
        if entered:
            count += 1.0
            size += 1.0
        pieces[v - low], sizes[v - low] = count, size
        total += count
        total_size += size
    return total, total_size


@inner
def extend_piece(vertices, starts, k, v, used):
    """Write piece k once more, with a vertex at its end; returns how much is used then."""
    for i in range(starts[k], starts[k + 1]):
        vertices[used] = vertices[i]
        used += 1
    vertices[used] = v
    return used + 1


def build_pieces(graph, begins, cuts, total, total_size, in_order=True) -> Pieces:
    """All pieces of the graphlets `cuts[i]:cuts[i + 1]`, of which there are `total`, with `total_size` vertices. Unless
    `in_order`, every event is compared with the last event of every piece so far (CET, Algorithm 1, the baseline)."""
    return Pieces(*_build_pieces(graph, begins, cuts, total, total_size, in_order), int(cuts[0]))


@outer
def _build_pieces(graph, begins, cuts, total, total_size, in_order):
    base = cuts[0]
    count = cuts[-1] - base
    first = np.zeros(count + 1, np.int64)
    starts = np.zeros(total + 1, np.int64)
    vertices = np.empty(total_size, np.int32)
    graphlet_start = np.empty(count, np.int64)
    number, used = 0, 0
    for g in range(cuts.size - 1):
        low = cuts[g]
        for v in range(low, cuts[g + 1]):
            if is_to_stop():
                break
            graphlet_start[v - base] = low
            entered = begins[v]
            for i in range(graph.edge_starts[v], graph.edge_starts[v + 1]):
                u = graph.edges[i]
                if u < low:
                    entered = True
                elif in_order:
                    for k in range(first[u - base], first[u - base + 1]):
                        used = extend_piece(vertices, starts, k, v, used)
                        number += 1
                        starts[number] = used
            if not in_order:
                for k in range(first[low - base], number):
                    if has_edge(graph, vertices[starts[k + 1] - 1], v):
                        used = extend_piece(vertices, starts, k, v, used)
                        number += 1
                        starts[number] = used
            if entered:
                vertices[used] = v
                used += 1
                number += 1
                starts[number] = used
            first[v - base + 1] = number
    return first, starts, vertices, graphlet_start


@inlined_late
def choose_piece(walk, pieces, top, low):
    """Choose the next piece of a level that begins in the window; False where there is none left."""
    end = pieces.first[walk.path[top] - pieces.base + 1]
    for k in range(walk.next_piece[top], end):
        if pieces.vertices[pieces.starts[k]] >= low:
            walk.piece[top], walk.next_piece[top] = k, k + 1
            return True
    return False


@inlined_late
def first_vertex(walk, pieces, top):
    """The first vertex of a level's piece."""
    return np.int64(pieces.vertices[pieces.starts[walk.piece[top]]])


@inlined_late
def first_outside(graph, pieces, v):
    """A cursor before the latest vertex of an earlier graphlet from which an edge leads to v."""
    start = pieces.graphlet_start[v - pieces.base]
    return first_not_below(graph.edges, graph.edge_starts[v], graph.edge_starts[v + 1], start)


@inlined_late
def path_size(walk, pieces, depth):
    """Vertices of the pieces of all levels."""
    size = 0
    for level in range(depth):
        size += pieces.starts[walk.piece[level] + 1] - pieces.starts[walk.piece[level]]
    return size


@inlined_late
def write_pieces(walk, pieces, depth, vertices, used):
    """The pieces of all levels, the last level's first."""
    for level in range(depth - 1, -1, -1):
        for i in range(pieces.starts[walk.piece[level]], pieces.starts[walk.piece[level] + 1]):
            vertices[used] = pieces.vertices[i]
            used += 1
