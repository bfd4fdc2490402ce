"""Trends of one beginning, where conditions on whole matches choose among them.

The first trend of each beginning is folded and judged elsewhere; only where it fails are the others walked, folded as
they grow. A walk goes from each vertex to what follows it in order, so trends that end together come as they are taken.
A *candidate* is a trend of a beginning, numbered in the order of the walk.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.contiguous import Folding, begin_folds, grow_folds, new_folding, write_folds
from trendweave.kernels.listing.graph import NO_WINDOW, window_bounds
from trendweave.kernels.stopping import heed_stop
from trendweave.kernels.taking.ways import SEARCHED, find_end, find_ways, fold_ways


class Reach(NamedTuple):
    """Per vertex the first window in which a trend from here can end, NO_WINDOW where none can, and whether one path
    alone leads on, so that its trends are beginnings of one another."""

    soonest: np.ndarray  # int64
    is_single: np.ndarray  # bool


class Path(NamedTuple):
    """Room for one trend and its folds, as long as the largest segment."""

    vertex: np.ndarray  # int64
    cursor: np.ndarray  # int64
    folding: Folding


class Starts(NamedTuple):
    """Beginnings in the order in which they may be taken: the entry and vertex as one number (`make_key`), the vertex,
    the window, the end of the first trend, and how that was found."""

    key: np.ndarray
    vertex: np.ndarray
    window: np.ndarray
    end: np.ndarray
    way: np.ndarray


class Candidates(NamedTuple):
    """Buffers for candidates: the number of the beginning, of the candidate, and its last vertex."""

    start: np.ndarray
    number: np.ndarray
    end: np.ndarray


class Walked(NamedTuple):
    """Per beginning: candidates that were walked before, how many are wanted, how many came, and whether these were
    the last."""

    before: np.ndarray
    wanted: np.ndarray
    came: np.ndarray
    is_over: np.ndarray


def new_path(longest: int, folds: int) -> Path:
    """Make room for a trend."""
    vertex, cursor = np.zeros((2, longest), np.int64)
    return Path(vertex, cursor, new_folding(longest, folds))


@inlined_late
def make_key(graph, entry, vertex):
    """An entry and a vertex as one number, ascending in the order in which they are looked at."""
    return entry * (graph.row.size + 1) + vertex


@inner
def find_reach(graph, follows, reach):
    """Find what can be reached from each vertex."""
    for v in range(graph.row.size - 1, -1, -1):
        heed_stop()
        soonest = graph.window_first[v] if graph.end_until[v] != -NO_WINDOW else np.int64(NO_WINDOW)
        ways, is_single = 0, True
        for i in range(follows.starts[v], follows.starts[v + 1]):
            w = follows.vertices[i]
            if reach.soonest[w] != NO_WINDOW:
                soonest = min(soonest, reach.soonest[w])
                ways += 1
                is_single &= reach.is_single[w]
        reach.soonest[v], reach.is_single[v] = soonest, is_single and ways <= 1


@inlined_late
def fold_way(follows, following, v, folds, folding):
    """Fold along a way, into the first line."""
    begin_folds(folds, folding)
    while v >= 0:
        grow_folds(folds, folding, 0, 0, follows.row[v], follows.variable[v])
        v = np.int64(following[v])


@inner
def collect_starts(
    graph, follows, from_first, entries, ways, folds, ahead, path, progress, known, most, starts, folded
):
    """Collect beginnings from where taking stands, about so many, with the folds of the trend of each that ends last.

    `known`: the entry, or where windows stand at first events the segment, that `ways` and `ahead` are of. Returns how
    many there are, the key of what comes next, what is known then, and the number of searches.
    """
    entry, at, until, searches = progress.entry, progress.vertex, progress.until, progress.searches
    found = 0
    while entry < entries.segment.size:
        segment, window = entries.segment[entry], entries.window[entry]
        bounds = window_bounds(graph, segment, window)
        low, high = bounds.low, bounds.high
        if from_first and known != segment:
            first, stop = graph.segment_starts[segment], graph.segment_starts[segment + 1]
            find_ways(graph, follows, first, stop, -NO_WINDOW + 1, False, ways)
            known = segment
        elif not from_first and known != entry:
            find_ways(graph, follows, low, high, window, False, ways)
            fold_ways(follows, low, high, ways, folds, ahead)
            known = entry
        if at < 0:
            at = low
            if not from_first or entry == 0 or segment != entries.segment[entry - 1]:
                until = entries.limit[entry]
        while at < high and not (from_first and graph.tick[at] != graph.tick[low]):
            heed_stop()
            stop = at + 1
            while stop < high and graph.tick[stop] == graph.tick[at]:
                stop += 1
            if found > 0 and found + stop - at > most:
                return found, make_key(graph, entry, at), known, searches
            for v in range(at, stop if graph.tick[at] > until else at):
                if graph.start_from[v] > window:
                    continue
                end, way, searches = find_end(graph, follows, ways, from_first, False, window, v, searches)
                if end < 0:
                    continue
                starts.key[found], starts.vertex[found] = make_key(graph, entry, v), v
                starts.window[found], starts.end[found], starts.way[found] = window, end, way
                if from_first:
                    following = ways.near_following if way == SEARCHED else ways.following
                    fold_way(follows, following, v, folds, path.folding)
                    write_folds(folds, path.folding, 0, folded, found)
                else:
                    write_folds(folds, ahead, v, folded, found)
                found += 1
            at = stop
        entry += 1
        at = -1
    return found, make_key(graph, entry, 0), known, searches


@inlined_late
def is_candidate(graph, v, window):
    return graph.window_first[v] <= window <= graph.end_until[v]


@inlined_late
def begin_path(follows, v, folds, path):
    path.vertex[0], path.cursor[0] = v, follows.starts[v]
    begin_folds(folds, path.folding)
    grow_folds(folds, path.folding, 0, 0, follows.row[v], follows.variable[v])


@inlined_late
def next_candidate(graph, follows, reach, window, folds, path, depth):
    """Go on from a path of so many vertices to the next one that is a trend; how many it has, 0 where there is none."""
    while depth > 0:
        heed_stop()
        v, following = path.vertex[depth - 1], np.int64(-1)
        cursor, stop = path.cursor[depth - 1], follows.starts[v + 1]
        while cursor < stop and following < 0:
            w = np.int64(follows.vertices[cursor])
            if graph.window_first[w] <= window and reach.soonest[w] <= window:
                following = w
            cursor += 1
        path.cursor[depth - 1] = cursor
        if following < 0:
            depth -= 1
            continue
        path.vertex[depth], path.cursor[depth] = following, follows.starts[following]
        grow_folds(folds, path.folding, depth - 1, depth, follows.row[following], follows.variable[following])
        depth += 1
        if is_candidate(graph, following, window):
            return depth
    return 0


@inner
def find_candidate(graph, follows, reach, window, v, number, folds, path):
    """Find a candidate of a beginning by its number. Returns how many vertices of the path it has."""
    begin_path(follows, v, folds, path)
    depth, left = 1, number
    if not is_candidate(graph, v, window):
        left += 1
    for _ in range(left):
        depth = next_candidate(graph, follows, reach, window, folds, path, depth)
    return depth


@inner
def walk_candidates(graph, follows, reach, vertex, window, walked, folds, path, found, folded):
    """Walk the candidates of some beginnings, from those on that were walked before. Returns how many came; what has no
    room any more is left for another call."""
    used = 0
    for s in range(vertex.size):
        begin_path(follows, vertex[s], folds, path)
        depth, number = 1, np.int64(0)
        if not is_candidate(graph, vertex[s], window[s]):
            depth = next_candidate(graph, follows, reach, window[s], folds, path, depth)
        while depth > 0 and walked.came[s] < walked.wanted[s]:
            if number >= walked.before[s]:
                if used == found.start.size:
                    return used
                found.start[used], found.number[used], found.end[used] = s, number, path.vertex[depth - 1]
                write_folds(folds, path.folding, depth - 1, folded, used)
                walked.came[s] += 1
                used += 1
            number += 1
            depth = next_candidate(graph, follows, reach, window[s], folds, path, depth)
        walked.is_over[s] = depth == 0
    return used
