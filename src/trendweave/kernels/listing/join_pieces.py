"""Trends from pieces: a depth-first walk from the last graphlet back, a piece of each at a time."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.graph import window_bounds
from trendweave.kernels.listing.marks import ALIVE, BEGIN, FINISH, mark_window
from trendweave.kernels.listing.walk import NEW, Progress
from trendweave.kernels.stopping import heed_stop


class Levels(NamedTuple):
    """The stack of the walk. A level is at a vertex, has chosen one of the pieces that end there, and looks for what
    leads to that piece from earlier graphlets."""

    vertex: np.ndarray
    next_piece: np.ndarray
    piece: np.ndarray  # -1: the next one is to be chosen
    cursor: np.ndarray  # over the edges to the piece's first vertex


def new_levels(graphlets: int) -> Levels:
    """Make room for a path through so many graphlets."""
    return Levels(*(np.zeros(graphlets + 1, np.int64) for _ in Levels._fields))


@inlined_late
def open_level(levels, pieces, depth, v, origin):
    """Begin a level at a vertex."""
    levels.vertex[depth], levels.piece[depth] = v, -1
    levels.next_piece[depth] = pieces.first[v - origin]


@inlined_late
def choose_piece(levels, pieces, top, low, origin):
    """Choose the next piece of a level that begins in the window; False where there is none left."""
    end = pieces.first[levels.vertex[top] - origin + 1]
    for k in range(levels.next_piece[top], end):
        if pieces.vertices[pieces.starts[k]] >= low:
            levels.piece[top], levels.next_piece[top] = k, k + 1
            return True
    return False


@inlined_late
def step_to_graphlet(graph, levels, pieces, marks, top, x, bounds, origin):
    """The next vertex of an earlier graphlet that leads to x, the first vertex of a level's piece; -1: none is left."""
    end, graphlet = graph.edge_starts[x + 1], pieces.graphlet_start[x - origin]
    cursor = levels.cursor[top]
    while cursor < end:
        u = np.int64(graph.edges[cursor])
        if u >= graphlet:
            break
        cursor += 1
        if u >= bounds.low and marks[u - bounds.base] & ALIVE:
            levels.cursor[top] = cursor
            return u
    return np.int64(-1)


@inlined_late
def path_size(levels, pieces, depth):
    """Vertices of the pieces of all levels."""
    size = 0
    for level in range(depth):
        size += pieces.starts[levels.piece[level] + 1] - pieces.starts[levels.piece[level]]
    return size


@inlined_late
def write_pieces(levels, pieces, depth, vertices, used):
    """The pieces of all levels, the last level's first. Returns how much is used then."""
    for level in range(depth - 1, -1, -1):
        for i in range(pieces.starts[levels.piece[level]], pieces.starts[levels.piece[level] + 1]):
            vertices[used] = pieces.vertices[i]
            used += 1
    return used


@inner
def _join_pieces(graph, steps, entries, walk, found, mode, pieces, origin, levels, progress):
    marks = walk.marks
    entry, end, depth, arrived = progress.entry, progress.end, progress.depth, progress.arrived
    trends, used = 0, 0
    found.starts[0] = 0
    while entry < entries.segment.size:
        bounds = window_bounds(graph, entries.segment[entry], entries.window[entry])
        if depth == NEW:
            mark_window(graph, steps, bounds, mode, marks, walk.longest)
            end, depth, arrived = bounds.low, 0, False
        while True:
            heed_stop()
            if depth == 0:
                while end < bounds.high and not (
                    marks[end - bounds.base] & FINISH and marks[end - bounds.base] & ALIVE
                ):
                    end += 1
                if end == bounds.high:
                    break
                open_level(levels, pieces, 0, end, origin)
                end += 1
                depth = 1
                continue
            top = depth - 1
            if levels.piece[top] < 0:
                if choose_piece(levels, pieces, top, bounds.low, origin):
                    arrived = True
                else:
                    depth -= 1
                continue
            x = np.int64(pieces.vertices[pieces.starts[levels.piece[top]]])
            if arrived:
                if marks[x - bounds.base] & BEGIN:
                    if trends == found.entry.size or used + path_size(levels, pieces, depth) > found.vertices.size:
                        return trends, (entry, end, depth, arrived, 0, 0, 0, 0)
                    used = write_pieces(levels, pieces, depth, found.vertices, used)
                    found.entry[trends] = entry
                    trends += 1
                    found.starts[trends] = used
                arrived = False
                levels.cursor[top] = graph.edge_starts[x]
                continue
            u = step_to_graphlet(graph, levels, pieces, marks, top, x, bounds, origin)
            if u < 0:
                levels.piece[top] = -1  # on to the other pieces that end where this one does
                continue
            open_level(levels, pieces, depth, u, origin)
            depth += 1
        entry += 1
        depth = NEW
    return trends, (entry, end, depth, arrived, 0, 0, 0, 0)


def join_pieces(graph, steps, entries, walk, found, mode, pieces, origin, levels, progress) -> tuple[int, Progress]:
    """Fill the buffers with trends of the entries, which are of one segment. Returns how many, and where the walk
    stands; 0 means that there are no more.

    origin  the first vertex that pieces were built of
    """
    trends, reached = _join_pieces(graph, steps, entries, walk, found, mode, pieces, origin, levels, progress)
    return trends, Progress(*reached)
