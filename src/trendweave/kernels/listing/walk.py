"""Trends one by one: a depth-first walk from their last events back to their first ones.

This is M-CET (CET, Section 4.2): one trend is in memory at a time. It never walks into a dead end: of each vertex it is
known how late the beginnings are that lead to it or, where that is not enough, a pass over the window marks those that
some beginning leads to. What it finds goes into buffers of fixed size; when they are
full the walk stops, and goes on from there with the next call.

Complete trends come in two ways. Where an event read as a variable is one vertex, they are the paths of the reduced
graph from vertices with no beginning before them to vertices with no end behind them. Elsewhere each step of the walk
carries along through which vertices a longer trend could pass the same events.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.covers import cover_end, cover_step, is_complete
from trendweave.kernels.listing.graph import Bounds, TrendGraph, last_before, step_back, window_bounds
from trendweave.kernels.listing.marks import ALIVE, BEGIN, CHECKED, FINISH, mark_window
from trendweave.kernels.searching import first_not_below
from trendweave.kernels.stopping import heed_stop

NEW = -1  # the depth of an entry that was not looked at yet


class Entries(NamedTuple):
    """The windows to look into, each in one segment. At most `quota` trends are shown, of `min_length` events at least;
    of those that have just as many, at most `shortest`. `picks` are the ordinals to show, where not all are."""

    segment: np.ndarray
    window: np.ndarray
    quota: np.ndarray
    min_length: np.ndarray
    shortest: np.ndarray
    pick_starts: np.ndarray  # int64[entries + 1], or empty: all
    picks: np.ndarray


class Walk(NamedTuple):
    """Room for a walk. Arrays per vertex are as long as the largest segment; of a checked walk, as all of them.

    Where a window has a beginning on some way to a vertex exactly up to its last window of `begun`, nothing is marked.
    """

    marks: np.ndarray  # uint8, per vertex of the segment, or empty
    begun: np.ndarray  # int64, per vertex of the graph, or empty
    at_ends: bool  # whether windows stand at last events
    longest: np.ndarray  # int32: most vertices on a way from a beginning; only where lengths matter
    path: np.ndarray  # int32, from the last vertex back
    cursor: np.ndarray  # int64


class Progress(NamedTuple):
    """Where a walk stands between two calls."""

    entry: int
    end: int  # the next vertex at which trends may end
    depth: int  # vertices on the path, or NEW
    arrived: bool  # whether the first vertex of the path was just reached
    shown: int  # trends of the entry so far
    shortest: int  # of them, those of the least length
    seen: int  # trends that were walked to, shown or not
    left_out: int  # the length of the longest that was too short


START = Progress(0, 0, NEW, False, 0, 0, 0, 0)


class Found(NamedTuple):
    """Buffers: trends one after the other, in order of time."""

    entry: np.ndarray
    starts: np.ndarray
    vertices: np.ndarray


def new_walk(
    graph: TrendGraph,
    lengths: bool = False,
    checked: bool = False,
    begun: np.ndarray | None = None,
    at_ends: bool = False,
) -> Walk:
    """Make room for a walk over a graph; `lengths`: it minds them, `checked`: it sees all segments at once."""
    sizes = np.diff(graph.segment_starts)
    largest = int(sizes.sum() if checked else sizes.max()) if sizes.size else 0
    return Walk(
        np.zeros(largest if begun is None else 0, np.uint8),
        np.zeros(0, np.int64) if begun is None else begun,
        at_ends,
        np.zeros(largest if lengths else 0, np.int32),
        np.zeros(largest + 1, np.int32),
        np.zeros(largest + 1, np.int64),
    )


@inlined_late
def entry_bounds(graph, entries, entry, mode):
    """The vertices of an entry. The arrays of a checked walk are of all segments."""
    bounds = window_bounds(graph, entries.segment[entry], entries.window[entry])
    return bounds if mode != CHECKED else Bounds(bounds.window, bounds.low, bounds.high, np.int64(0))


@inlined_late
def ends_complete(graph, covers, window, v, marks):
    """Begin a path with its last vertex; False where every trend that ends there is part of a longer one. Nothing is
    asked, nor compiled, of trends that are not checked."""
    if covers is None:
        return True
    return cover_end(graph, covers, window, v, marks)


@inlined_late
def steps_complete(graph, covers, u, v, depth):
    """The same for one more vertex."""
    if covers is None:
        return True
    return cover_step(graph, covers, u, v, depth)


@inlined_late
def begins_complete(graph, covers, window, v, depth, marks):
    """The same for the path as a whole."""
    if covers is None:
        return True
    return is_complete(graph, covers, window, v, depth, marks)


@inner
def mark_entry(graph, steps, entries, entry, mode, covers, walk):
    """Mark the window of an entry; a checked walk needs it in all segments of the partition."""
    if covers is None:
        mark_window(graph, steps, entry_bounds(graph, entries, entry, mode), mode, walk.marks, walk.longest)
        return
    segment, window = entries.segment[entry], entries.window[entry]
    for i in range(covers.together_starts[segment], covers.together_ends[segment]):
        bounds = window_bounds(graph, covers.together[i], window)
        everywhere = Bounds(window, bounds.low, bounds.high, np.int64(0))
        mark_window(graph, steps, everywhere, mode, walk.marks, walk.longest)


@inlined_late
def is_alive(walk, bounds, v):
    """Whether a way from a beginning of the window leads to a vertex."""
    if walk.marks.size:
        return walk.marks[v - bounds.base] & ALIVE != 0
    return walk.begun[v] >= bounds.window


@inlined_late
def begins_here(graph, walk, bounds, v):
    if walk.marks.size:
        return walk.marks[v - bounds.base] & BEGIN != 0
    return graph.start_from[v] <= bounds.window


@inlined_late
def ends_here(graph, walk, bounds, v):
    if walk.marks.size:
        return walk.marks[v - bounds.base] & FINISH != 0
    return graph.end_until[v] >= bounds.window


@inlined_late
def next_end(graph, walk, bounds, end, least, left_out):
    """The next vertex, from `end` on, at which a trend of enough events ends, and the longest that was left out."""
    while end < bounds.high:
        if ends_here(graph, walk, bounds, end) and is_alive(walk, bounds, end):
            if walk.longest.size == 0 or walk.longest[end - bounds.base] >= least:
                break
            left_out = max(left_out, walk.longest[end - bounds.base])
        end += 1
    return end, left_out


@inlined_late
def is_wanted(entries, entry, depth, shown, shortest, seen):
    """Whether the next trend, of this length, is among those to show."""
    if depth == entries.min_length[entry] and shortest >= entries.shortest[entry]:
        return False
    if entries.pick_starts.size == 0:
        return True
    # Picks come in order, and one was used for each trend that was shown.
    at = entries.pick_starts[entry] + shown
    return at < entries.pick_starts[entry + 1] and entries.picks[at] == seen


@inlined_late
def write_path(path, depth, vertices, used):
    """The path, which leads back, in order of time."""
    for i in range(depth):
        vertices[used + i] = path[depth - 1 - i]


@inner
def _walk_back(graph, steps, entries, walk, found, mode, covers, progress):
    marks, longest, path, cursors = walk.marks, walk.longest, walk.path, walk.cursor
    entry, end, depth, arrived = progress.entry, progress.end, progress.depth, progress.arrived
    shown, shortest, seen, left_out = progress.shown, progress.shortest, progress.seen, progress.left_out
    trends, used = 0, 0
    found.starts[0] = 0
    while entry < entries.segment.size:
        bounds = entry_bounds(graph, entries, entry, mode)
        low, base, least = bounds.low, bounds.base, entries.min_length[entry]
        if depth == NEW:
            if entries.quota[entry] > 0 and marks.size:
                mark_entry(graph, steps, entries, entry, mode, covers, walk)
            end, depth, arrived = low, 0, False
            if walk.at_ends:
                end = first_not_below(graph.window_first, low, bounds.high, bounds.window)
            shown, shortest, seen, left_out = 0, 0, 0, 0
        while shown < entries.quota[entry]:
            heed_stop()
            if depth == 0:
                end, left_out = next_end(graph, walk, bounds, end, least, left_out)
                if end == bounds.high:
                    break
                v = end
                end += 1
                if ends_complete(graph, covers, bounds.window, v, marks):
                    path[0], cursors[0] = v, last_before(graph, v, low)
                    depth, arrived = 1, True
                continue
            v = np.int64(path[depth - 1])
            if arrived:
                begins = begins_here(graph, walk, bounds, v)
                if begins and depth < least:
                    left_out = max(left_out, depth)
                elif begins and begins_complete(graph, covers, bounds.window, v, depth, marks):
                    if is_wanted(entries, entry, depth, shown, shortest, seen):
                        if trends == found.entry.size or used + depth > found.vertices.size:
                            return trends, (entry, end, depth, arrived, shown, shortest, seen, left_out)
                        write_path(path, depth, found.vertices, used)
                        found.entry[trends] = entry
                        used += depth
                        trends += 1
                        found.starts[trends] = used
                        shown += 1
                        if depth == least:
                            shortest += 1
                    seen += 1
                arrived = False
                continue
            cursor, u = step_back(graph, steps, v, cursors[depth - 1], low)
            cursors[depth - 1] = cursor
            if u < 0:
                depth -= 1
                continue
            if not is_alive(walk, bounds, u):
                continue
            if longest.size and depth + longest[u - base] < least:
                left_out = max(left_out, depth + longest[u - base])
                continue
            if not steps_complete(graph, covers, u, v, depth):
                continue
            path[depth], cursors[depth] = u, last_before(graph, u, low)
            depth += 1
            arrived = True
        entry += 1
        depth = NEW
    return trends, (entry, end, depth, arrived, shown, shortest, seen, left_out)


def walk_back(graph, steps, entries, walk, found, mode, covers, progress) -> tuple[int, Progress]:
    """Fill the buffers with trends. Returns how many, and where the walk stands; 0 means that there are no more."""
    trends, reached = _walk_back(graph, steps, entries, walk, found, mode, covers, progress)
    return trends, Progress(*reached)
