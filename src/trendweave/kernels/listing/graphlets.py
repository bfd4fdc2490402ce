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

from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.listing.graph import NO_WINDOW
from trendweave.kernels.listing.walk import (
    ALIVE,
    ARRIVED,
    BEGIN,
    COMPLETE,
    DEPTH,
    END,
    ENTRY,
    FINISH,
    NEW,
    SHOWN,
    has_edge,
    mark_window,
    vertex_range,
)

BYTES_PER_PIECE, BYTES_PER_VERTEX = 8, 4


class Pieces(NamedTuple):
    """The pieces that end at vertex `base + i` are `first[i]:first[i + 1]`; piece k is
    `vertices[starts[k]:starts[k + 1]]`. `graphlet_start` is the first vertex of a vertex's graphlet."""

    first: np.ndarray
    starts: np.ndarray
    vertices: np.ndarray
    graphlet_start: np.ndarray


@outer
def possible_begins(graph, kind):
    """Vertices at which a trend begins in some window. A complete trend does not begin behind a vertex at which others
    begin in all windows of both."""
    count = graph.row.size
    begins = np.zeros(count, np.bool_)
    until = np.empty(count, np.int64)  # up to this window some trend begins at the vertex or before it
    for v in range(count):
        known = np.int64(-NO_WINDOW)
        for i in range(graph.edge_starts[v], graph.edge_starts[v + 1]):
            known = max(known, until[graph.edges[i]])
        begins[v] = graph.start_from[v] != NO_WINDOW and not (kind == COMPLETE and known >= graph.window_last[v])
        if graph.start_from[v] <= graph.window_first[v]:
            known = max(known, graph.window_last[v])
        until[v] = known
    return begins


@inner
def count_pieces(edge_starts, edges, begins, low, high, pieces, sizes):
    """Pieces that end at each vertex of a graphlet, and their vertices; totals, as floats that cannot overflow."""
    total, total_size = 0.0, 0.0
    for v in range(low, high):
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


@outer
def build_pieces(edge_starts, edges, begins, base, cuts, total, total_size):
    """All pieces of the graphlets `cuts[i]:cuts[i + 1]`, of which there are `total`, with `total_size` vertices."""
    count = cuts[-1] - base
    first = np.zeros(count + 1, np.int64)
    starts = np.zeros(total + 1, np.int64)
    vertices = np.empty(total_size, np.int32)
    graphlet_start = np.empty(count, np.int64)
    number, used = 0, 0
    for g in range(cuts.size - 1):
        low = cuts[g]
        for v in range(low, cuts[g + 1]):
            graphlet_start[v - base] = low
            entered = begins[v]
            for i in range(edge_starts[v], edge_starts[v + 1]):
                u = edges[i]
                if u < low:
                    entered = True
                    continue
                for k in range(first[u - base], first[u - base + 1]):
                    used = extend_piece(vertices, starts, k, v, used)
                    number += 1
                    starts[number] = used
            if entered:
                vertices[used] = v
                used += 1
                number += 1
                starts[number] = used
            first[v - base + 1] = number
    return Pieces(first, starts, vertices, graphlet_start)


@outer
def extend_all(graph, begins, low, high, total, total_size):
    """The same pieces of one graphlet, found without the graph's order: every event is compared with the last event of
    every piece so far (CET, Algorithm 1, the baseline)."""
    first = np.zeros(high - low + 1, np.int64)
    starts = np.zeros(total + 1, np.int64)
    vertices = np.empty(total_size, np.int32)
    number, used = 0, 0
    for v in range(low, high):
        entered = begins[v]
        for i in range(graph.edge_starts[v], graph.edge_starts[v + 1]):
            if graph.edges[i] < low:
                entered = True
        for k in range(number):
            if has_edge(graph, vertices[starts[k + 1] - 1], v):
                used = extend_piece(vertices, starts, k, v, used)
                number += 1
                starts[number] = used
        if entered:
            vertices[used] = v
            used += 1
            number += 1
            starts[number] = used
        first[v - low + 1] = number
    return Pieces(first, starts, vertices, np.full(high - low, low))


@inner
def join_pieces(graph, steps, entries, walk, found, kind, pieces, origin, stack):
    """Fill the buffers with trends of the entries, which are of one segment. Returns how many; 0: no more.

    origin  the first vertex that pieces were built of
    stack  int64[depth, 3]: the piece, the next piece of the same last vertex, the cursor over what leads to the piece
    """
    place, marks, longest = walk.place, walk.marks, walk.longest
    trends, used = 0, 0
    found.starts[0] = 0
    while place[ENTRY] < entries.segment.size:
        entry = place[ENTRY]
        segment, window = entries.segment[entry], entries.window[entry]
        base = graph.segment_starts[segment]
        low, high = vertex_range(graph, segment, window)
        if place[DEPTH] == NEW:
            mark_window(graph, steps, window, low, high, base, kind, marks, longest)
            place[END], place[DEPTH], place[ARRIVED], place[SHOWN] = low, 0, 0, 0
        while True:
            depth = place[DEPTH]
            if depth == 0:
                v = place[END]
                while v < high and not (marks[v - base] & FINISH and marks[v - base] & ALIVE):
                    v += 1
                place[END] = v + 1
                if v >= high:
                    break
                stack[0, 1] = pieces.first[v - origin]
                stack[0, 0] = -1
                stack[0, 2] = v
                place[DEPTH] = 1
                continue
            top = depth - 1
            piece = stack[top, 0]
            if piece < 0:
                # The next piece that ends where this level does; stack[top, 2] is that vertex meanwhile.
                v = stack[top, 2]
                k = stack[top, 1]
                if k == pieces.first[v - origin + 1]:
                    place[DEPTH] = depth - 1
                    continue
                stack[top, 1] = k + 1
                if pieces.vertices[pieces.starts[k]] < low:
                    continue
                stack[top, 0] = k
                place[ARRIVED] = 1
                continue
            x = np.int64(pieces.vertices[pieces.starts[piece]])
            if place[ARRIVED]:
                if marks[x - base] & BEGIN:
                    size = 0
                    for level in range(depth):
                        size += pieces.starts[stack[level, 0] + 1] - pieces.starts[stack[level, 0]]
                    if trends == found.entry.size or used + size > found.vertices.size:
                        return trends
                    for level in range(depth - 1, -1, -1):
                        for i in range(pieces.starts[stack[level, 0]], pieces.starts[stack[level, 0] + 1]):
                            found.vertices[used] = pieces.vertices[i]
                            used += 1
                    found.entry[trends] = entry
                    trends += 1
                    found.starts[trends] = used
                    place[SHOWN] += 1
                place[ARRIVED] = 0
                # From here on stack[top, 2] is the cursor over the edges to x from earlier graphlets.
                stack[top, 2] = graph.edge_starts[x]
                continue
            cursor = stack[top, 2]
            u = np.int64(-1)
            while cursor < graph.edge_starts[x + 1]:
                candidate = np.int64(graph.edges[cursor])
                if candidate >= pieces.graphlet_start[x - origin]:
                    cursor = graph.edge_starts[x + 1]
                    break
                cursor += 1
                if candidate >= low and marks[candidate - base] & ALIVE:
                    u = candidate
                    break
            stack[top, 2] = cursor
            if u < 0:
                # Back to the other pieces that end where this one does.
                stack[top, 2] = pieces.vertices[pieces.starts[piece + 1] - 1]
                stack[top, 0] = -1
                continue
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = -1, pieces.first[u - origin], u
            place[DEPTH] = depth + 1
        place[ENTRY] += 1
        place[DEPTH] = NEW
    return trends
