"""Trends along links, each in the window of its last event: walked back from there, without looking at the rest of the
window.

What a walk must know of a vertex is how late the beginnings are that lead to it: a window that holds one of them holds
a trend up to the vertex, so that no walk ends in vain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.stopping import heed_stop

#: Before all windows.
NO_WINDOW = -np.iinfo(np.int64).max


class Linked(NamedTuple):
    """A graph of links. Trends may begin at a vertex in windows `start_from` to `window_last`; `begun` is the last
    window of the latest beginning that leads to it, itself included."""

    edge_starts: np.ndarray
    edges: np.ndarray
    start_from: np.ndarray
    window_last: np.ndarray
    begun: np.ndarray


class Ends(NamedTuple):
    """Vertices that trends end with, and the window of each."""

    vertex: np.ndarray
    window: np.ndarray


@inner
def find_begun(edge_starts, edges, start_from, window_last, begun):
    """Fill `begun`. Edges lead from smaller vertices to larger ones; nothing begins where `start_from` is beyond
    `window_last`."""
    for v in range(begun.size):
        latest = window_last[v] if start_from[v] <= window_last[v] else np.int64(NO_WINDOW)
        for i in range(edge_starts[v], edge_starts[v + 1]):
            latest = max(latest, begun[edges[i]])
        begun[v] = latest


@inlined_late
def begins_here(graph, v, window):
    return graph.start_from[v] <= window <= graph.window_last[v]


@inlined_late
def step_back(graph, cursor, first, window):
    """The next earlier edge, before `cursor`, from a vertex that some beginning of the window leads to; below `first`
    where there is none."""
    cursor -= 1
    while cursor >= first and graph.begun[graph.edges[cursor]] < window:
        cursor -= 1
    return cursor


@inner
def count_ends(graph, ends, path, cursors, counts, most):
    """How many trends end with each of the vertices; -1 where there are more than `most` altogether."""
    total = np.int64(0)
    for end in range(ends.vertex.size):
        window, depth, count = ends.window[end], 1, np.int64(0)
        path[0], cursors[0] = ends.vertex[end], graph.edge_starts[ends.vertex[end] + 1]
        if begins_here(graph, path[0], window):
            count += 1
        while depth > 0:
            heed_stop()
            v = path[depth - 1]
            cursor = step_back(graph, cursors[depth - 1], graph.edge_starts[v], window)
            cursors[depth - 1] = cursor
            if cursor < graph.edge_starts[v]:
                depth -= 1
                continue
            u = graph.edges[cursor]
            path[depth], cursors[depth] = u, graph.edge_starts[u + 1]
            depth += 1
            if begins_here(graph, u, window):
                count += 1
                if total + count > most:
                    return np.int64(-1)
        counts[end] = count
        total += count
    return total


@inner
def walk_ends(graph, ends, path, cursors, place, found_end, found_starts, found_vertices):
    """Fill the buffers with trends, in the order of `kernels/listing/walk.py`. Returns how many; 0 at the end.

    place  int64[3]: the end that is walked from, the vertices on the path, and whether the last of them was just
           reached; kept between calls
    """
    end, depth, arrived = place[0], place[1], place[2] != 0
    trends, used = 0, 0
    found_starts[0] = 0
    while end < ends.vertex.size:
        window = ends.window[end]
        if depth == 0:
            path[0], cursors[0] = ends.vertex[end], graph.edge_starts[ends.vertex[end] + 1]
            depth, arrived = 1, True
        while depth > 0:
            heed_stop()
            v = path[depth - 1]
            if arrived:
                if begins_here(graph, v, window):
                    if trends == found_end.size or used + depth > found_vertices.size:
                        place[0], place[1], place[2] = end, depth, 1
                        return trends
                    for i in range(depth):
                        found_vertices[used + i] = path[depth - 1 - i]
                    found_end[trends] = end
                    used += depth
                    trends += 1
                    found_starts[trends] = used
                arrived = False
            cursor = step_back(graph, cursors[depth - 1], graph.edge_starts[v], window)
            cursors[depth - 1] = cursor
            if cursor < graph.edge_starts[v]:
                depth -= 1
                continue
            u = graph.edges[cursor]
            path[depth], cursors[depth] = u, graph.edge_starts[u + 1]
            depth += 1
            arrived = True
        end += 1
    place[0], place[1], place[2] = end, 0, 0
    return trends
