"""Ways: each vertex of a graph knows the vertex that the first of its trends goes on with."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.folds import COUNT, FIRST, LARGEST, LAST, SUM
from trendweave.kernels.listing.graph import NO_WINDOW
from trendweave.kernels.stopping import heed_stop

#: How a trend is found again: along the ways, along those of a search; candidates have numbers from 0 on.
WAY, SEARCHED = -1, -2


class Following(NamedTuple):
    """The vertices that follow vertex v are `vertices[starts[v]:starts[v + 1]]`. Vertices of one tick are ordered by
    variable and place; `row` is the row of each."""

    starts: np.ndarray  # int64[v + 1]
    vertices: np.ndarray  # int32
    variable: np.ndarray  # int32
    place: np.ndarray  # int64
    row: np.ndarray  # int64


class Ways(NamedTuple):
    """Per vertex the one that the first trend from here goes on with, and the one that it ends with; -1 where there is
    none. `soonest`: the first window of the soonest end. The same for a search inside of one window, `near`; which
    search saw a vertex last, and in which entry its row was taken."""

    following: np.ndarray  # int32
    end: np.ndarray  # int32
    soonest: np.ndarray  # int64
    near_following: np.ndarray  # int32
    near_end: np.ndarray  # int32
    seen: np.ndarray  # int64, comes as -1
    gone: np.ndarray  # int64, comes as -1


def new_ways(vertices: int) -> Ways:
    """Make room for the ways of so many vertices."""
    small = [np.empty(vertices, np.int32) for _ in range(4)]
    large = [np.full(vertices, -1, np.int64) for _ in range(3)]
    return Ways(small[0], small[1], large[0], small[2], small[3], large[1], large[2])


@inlined_late
def goes_first(graph, follows, ends, one, other, shortest):
    """Whether a trend goes on with the first of two vertices."""
    difference = graph.tick[ends[one]] - graph.tick[ends[other]]
    if difference != 0:
        return (difference < 0) == shortest
    if graph.tick[one] != graph.tick[other]:
        return graph.tick[one] < graph.tick[other]
    if follows.variable[one] != follows.variable[other]:
        return follows.variable[one] < follows.variable[other]
    return follows.place[one] < follows.place[other]


@inner
def find_ways(graph, follows, low, high, window, shortest, ways):
    """Find how the first trend of each vertex goes on, from late to early, where trends end in a window."""
    for v in range(high - 1, low - 1, -1):
        heed_stop()
        finishes = graph.end_until[v] >= window
        best, soonest = np.int64(-1), graph.window_first[v] if finishes else np.int64(NO_WINDOW)
        for i in range(follows.starts[v], follows.starts[v + 1]):
            w = np.int64(follows.vertices[i])
            if w < high and ways.end[w] >= 0:
                soonest = min(soonest, ways.soonest[w])
                if best < 0 or goes_first(graph, follows, ways.end, w, best, shortest):
                    best = w
        if finishes and (shortest or best < 0):
            ways.following[v], ways.end[v] = -1, v
        else:
            ways.following[v], ways.end[v] = best, ways.end[best] if best >= 0 else -1
        ways.soonest[v] = soonest


@inner
def search_ways(graph, follows, start, window, shortest, ways, number):
    """The end of the first trend from a vertex inside a window, or -1; `near` then has its way. The soonest ends keep
    the search from going where no trend of the window ends."""
    ways.seen[start] = number
    far, v, best = start, start, np.int64(-1)
    while v <= far and not (shortest and best >= 0 and graph.tick[v] > best):
        if ways.seen[v] == number:
            if graph.window_first[v] <= window <= graph.end_until[v]:
                best = graph.tick[v]
            for i in range(follows.starts[v], follows.starts[v + 1]):
                w = np.int64(follows.vertices[i])
                if graph.window_first[w] <= window and ways.soonest[w] <= window:
                    ways.seen[w] = number
                    far = max(far, w)
        v += 1
    if best < 0:
        return np.int64(-1)
    for v in range(far, start - 1, -1):
        if ways.seen[v] != number or graph.tick[v] > best:
            continue
        ways.near_following[v], ways.near_end[v] = -1, -1
        if graph.tick[v] == best:
            if graph.window_first[v] <= window <= graph.end_until[v]:
                ways.near_end[v] = v
            continue
        following = np.int64(-1)
        for i in range(follows.starts[v], follows.starts[v + 1]):
            w = np.int64(follows.vertices[i])
            if ways.seen[w] == number and graph.tick[w] <= best and ways.near_end[w] >= 0:
                if following < 0 or goes_first(graph, follows, ways.near_end, w, following, shortest):
                    following = w
        if following >= 0:
            ways.near_following[v], ways.near_end[v] = following, ways.near_end[following]
    return np.int64(ways.near_end[start])


@inlined_late
def find_end(graph, follows, ways, from_first, shortest, window, v, searches):
    """The end of the first trend from a vertex inside a window, or -1; whether it is at the end of its way or was
    searched for, and the number of searches."""
    end = np.int64(ways.end[v])
    if end < 0 or not from_first or graph.window_first[end] <= window <= graph.end_until[end]:
        return end, np.int64(WAY), searches
    if ways.soonest[v] > window:
        return np.int64(-1), np.int64(WAY), searches
    searches += 1
    return search_ways(graph, follows, v, window, shortest, ways, searches), np.int64(SEARCHED), searches


@inner
def fold_ways(follows, low, high, ways, folds, folded):
    """Fold the way from each vertex, which is one event more than the way from the next; `folded` is per vertex."""
    for v in range(high - 1, low - 1, -1):
        if ways.end[v] < 0:
            continue
        n, row = np.int64(ways.following[v]), follows.row[v]
        for f in range(folds.kind.size):
            kind, number = folds.kind[f], folds.number[f]
            is_read = folds.variable[f] < 0 or folds.variable[f] == follows.variable[v]
            place = folded.row[n, f] if n >= 0 else np.int64(-1)
            count = folded.count[n, f] if n >= 0 else np.int64(0)
            if kind == FIRST or kind == LAST:
                folded.row[v, f] = row if is_read and (kind == FIRST or place < 0) else place
                continue
            if kind != COUNT:
                is_read &= folds.is_known[number, row]
            folded.count[v, f] = count + is_read
            if kind == LARGEST:
                larger = place < 0 or (is_read and folds.whole[number, row] >= folds.whole[number, place])
                folded.row[v, f] = row if is_read and larger else place
            elif kind == SUM and folds.is_real[f]:
                total = folded.real[n, f] if n >= 0 else 0.0
                folded.real[v, f] = total + folds.real[number, row] if is_read else total
            elif kind == SUM:
                whole = folded.whole[n, f] if n >= 0 else np.int64(0)
                folded.whole[v, f] = whole + folds.whole[number, row] if is_read else whole
