"""Trends one by one: a depth-first walk from their last events back to their first ones.

This is M-CET (CET, Section 4.2): one trend is in memory at a time. It never walks into a dead end: of each vertex it is
known how late the beginnings are that lead to it or, where that is not enough, a pass over the window marks those that
some beginning leads to. What it finds goes into buffers of fixed size; when they are
full the walk stops, and goes on from there with the next call. With T-CET and H-CET each step of the walk is a piece of
a trend, found beforehand, instead of a vertex.

Complete trends come in two ways. Where an event read as a variable is one vertex, they are the paths of the reduced
graph from vertices with no beginning before them to vertices with no end behind them. Elsewhere each step of the walk
carries along through which vertices a longer trend could pass the same events.

T-CET and H-CET: pieces of trends are built once per stretch of time and joined from stretch to stretch.

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
from trendweave.kernels.lists.covers import cover_end, cover_step, is_complete
from trendweave.kernels.lists.graph import (
    ALIVE,
    BEGIN,
    COMPLETE,
    FINISH,
    NO_WINDOW,
    NOWHERE,
    TrendGraph,
    has_edge,
    last_before,
    latest_before,
    mark_window,
    step_back,
    window_bounds,
)
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


NEW = -1  # the depth of an entry that was not looked at yet


class Share(NamedTuple):
    """Per entry: at most `quota` trends are shown, of at least `min_length` events, at most `shortest` of just that
    length.

    `picks`: the ordinals of the trends to show, of each entry from `pick_starts` on; none: all are. `drawn`: this many
    are drawn at random instead of walked to.
    """

    quota: np.ndarray
    min_length: np.ndarray
    shortest: np.ndarray
    drawn: np.ndarray
    pick_starts: np.ndarray
    picks: np.ndarray


class Entries(NamedTuple):
    """The windows to look into, each in one segment: the vertices low:high; and which place of `share` is theirs."""

    segment: np.ndarray
    window: np.ndarray
    low: np.ndarray
    high: np.ndarray
    place: np.ndarray
    share: Share

    def take(self, chosen: np.ndarray) -> "Entries":
        """Take some entries, by their numbers."""
        return Entries(*(column[chosen] for column in self[:-1]), self.share)


class Walk(NamedTuple):
    """Room for a walk, per vertex."""

    marks: np.ndarray  # uint8, or empty where nothing is marked
    longest: np.ndarray  # int32: most vertices on a way from a beginning; only where lengths matter
    path: np.ndarray  # int32, from the last vertex back; of pieces their last vertices
    cursor: np.ndarray  # int64, over the edges to a vertex, or to the first one of a piece
    piece: np.ndarray  # int64: -1 where the next one is to be chosen; only where trends are joined from pieces
    next_piece: np.ndarray


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


def new_walk(graph: TrendGraph, lengths: bool = False, marks: bool = True, pieces: bool = False) -> Walk:
    """Make room for a walk over a graph; `lengths`: it minds them."""
    count = graph.row.size
    return Walk(
        np.zeros(count if marks else 0, np.uint8),
        np.zeros(count if lengths else 0, np.int32),
        np.zeros(count + 1, np.int32),
        np.zeros(count + 1, np.int64),
        *np.zeros((2, count + 1 if pieces else 0), np.int64),
    )


@inner
def mark_entry(graph, steps, entries, entry, mode, covers, walk):
    """Mark the window of an entry; a checked walk needs it in all segments of the partition."""
    window = entries.window[entry]
    if covers is None:
        low, high = entries.low[entry], entries.high[entry]
        mark_window(graph, steps, window, low, high, mode, walk.marks, walk.longest)
        return
    segment = entries.segment[entry]
    for i in range(covers.together_starts[segment], covers.together_ends[segment]):
        low, high = window_bounds(graph, covers.together[i], window)
        mark_window(graph, steps, window, low, high, mode, walk.marks, walk.longest)


@inlined_late
def write_path(path, depth, vertices, used):
    """The path, which leads back, in order of time."""
    for i in range(depth):
        vertices[used + i] = path[depth - 1 - i]


@inlined_late
def is_wanted(share, place, depth, shown, shortest, seen):
    """Whether a trend of so many events is to be shown."""
    if depth == share.min_length[place] and shortest >= share.shortest[place]:
        return False
    if not share.picks.size:
        return True
    # Picks come in order, and one was used for each trend that was shown.
    at = share.pick_starts[place] + shown
    return at < share.pick_starts[place + 1] and share.picks[at] == seen


@inner
def walk_back(graph, steps, entries, walk, found, mode, covers, progress, begun, at_ends, pieces):
    """Fill the buffers with trends. Returns how many, and where the walk stands; 0 means that there are no more.

    begun    per vertex the window up to which some way from a beginning leads there; None where that is not enough to
             know, and windows are marked
    at_ends  whether each window stands at the last event of its trends
    pieces   of which trends are joined; None: of vertices

    Branches on what is None are not compiled, as they stand here and not in functions.
    """
    longest, path, cursors, marks, share = walk.longest, walk.path, walk.cursor, walk.marks, entries.share
    entry, end, depth, arrived = progress.entry, progress.end, progress.depth, progress.arrived
    shown, shortest, seen, left_out = progress.shown, progress.shortest, progress.seen, progress.left_out
    trends, used = 0, 0
    found.starts[0] = 0
    while entry < entries.segment.size:
        window, low, high, place = entries.window[entry], entries.low[entry], entries.high[entry], entries.place[entry]
        least = share.min_length[place]
        if depth == NEW:
            end, depth, arrived = low, 0, False
            shown, shortest, seen, left_out = 0, 0, 0, 0
            if at_ends:
                end = first_not_below(graph.window_first, low, high, window)
            if begun is None:
                if share.quota[place] > 0:
                    mark_entry(graph, steps, entries, entry, mode, covers, walk)
        while shown < share.quota[place]:
            heed_stop()
            if depth == 0:
                if end == high:
                    break
                v = end
                end += 1
                if begun is not None:
                    goes_on = graph.end_until[v] >= window and begun[v] >= window
                else:
                    goes_on = marks[v] & FINISH != 0 and marks[v] & ALIVE != 0
                if covers is not None:
                    goes_on = goes_on and cover_end(graph, covers, window, v, marks)
            else:
                v = np.int64(path[depth - 1])
                if pieces is not None:
                    if walk.piece[depth - 1] < 0:
                        if not choose_piece(walk, pieces, depth - 1, low):
                            depth -= 1
                            continue
                        arrived = True
                        v = first_vertex(walk, pieces, depth - 1)
                        cursors[depth - 1] = first_outside(graph, pieces, v)
                    else:
                        v = first_vertex(walk, pieces, depth - 1)
                if arrived:
                    if begun is not None:
                        begins = graph.start_from[v] <= window
                    else:
                        begins = marks[v] & BEGIN != 0
                    if begins and depth < least:
                        left_out = max(left_out, depth)
                        begins = False
                    if covers is not None:
                        begins = begins and is_complete(graph, covers, window, v, depth, marks)
                    if begins:
                        if is_wanted(share, place, depth, shown, shortest, seen):
                            size = depth
                            if pieces is not None:
                                size = path_size(walk, pieces, depth)
                            if trends == found.entry.size or used + size > found.vertices.size:
                                return trends, (entry, end, depth, arrived, shown, shortest, seen, left_out)
                            if pieces is None:
                                write_path(path, depth, found.vertices, used)
                            else:
                                write_pieces(walk, pieces, depth, found.vertices, used)
                            used += size
                            found.entry[trends], found.starts[trends + 1] = entry, used
                            trends += 1
                            shown += 1
                            shortest += depth == least
                        seen += 1
                    arrived = False
                    continue
                cursor, u = step_back(graph, steps, v, cursors[depth - 1], low)
                cursors[depth - 1] = cursor
                if u < 0:
                    if pieces is None:
                        depth -= 1
                    else:
                        walk.piece[depth - 1] = -1  # on to the other pieces that end where this one does
                    continue
                if begun is not None:
                    goes_on = begun[u] >= window
                else:
                    goes_on = marks[u] & ALIVE != 0
                if covers is not None:
                    goes_on = goes_on and cover_step(graph, covers, u, v, depth)
                v = u
            if goes_on and longest.size and depth + longest[v] < least:
                left_out = max(left_out, depth + longest[v])
                goes_on = False
            if goes_on:
                path[depth] = v
                if pieces is None:
                    cursors[depth] = last_before(graph, v, low)
                    arrived = True
                else:
                    walk.piece[depth], walk.next_piece[depth] = -1, pieces.first[v - pieces.base]
                depth += 1
        entry += 1
        depth = NEW
    return trends, (entry, end, depth, arrived, shown, shortest, seen, left_out)


@inner
def count_paths(graph, steps, entries, mode, walk, counts, numbers):
    """How many paths of the reduced graph (or of the whole one) each entry has; -1 where 64 bits cannot tell.

    walk     where something is marked; None: all paths are counted
    numbers  int64, per vertex: room for the paths that end there
    """
    most = np.int64(2) ** 62
    for entry in range(entries.segment.size):
        window, low, high = entries.window[entry], entries.low[entry], entries.high[entry]
        if walk is not None:
            mark_window(graph, steps, window, low, high, mode, walk.marks, walk.longest)
        total = np.int64(0)
        for v in range(low, high):
            heed_stop()
            if walk is None:
                begins, ends = graph.start_from[v] <= window, graph.end_until[v] >= window
            else:
                begins, ends = walk.marks[v] & BEGIN != 0, walk.marks[v] & FINISH != 0
            count = np.int64(1) if begins else np.int64(0)
            cursor = last_before(graph, v, low)
            while count >= 0:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                before = numbers[u]
                count = -1 if before < 0 or count > most - before else count + before
            numbers[v] = count
            if ends and total >= 0:
                total = -1 if count < 0 or total > most - count else total + count
        counts[entry] = total
