"""Trends that are taken, one after the other, from beginnings that no earlier one has taken away."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.contiguous import write_folds
from trendweave.kernels.listing.graph import NO_WINDOW, window_bounds
from trendweave.kernels.listing.selection import NOTHING_TAKEN, PAST_LAST, TO_LAST, TO_NEXT
from trendweave.kernels.searching import first_not_below
from trendweave.kernels.stopping import heed_stop
from trendweave.kernels.taking.candidates import find_candidate, make_key
from trendweave.kernels.taking.ways import SEARCHED, WAY, find_end, find_ways, fold_ways, search_ways


class Taking(NamedTuple):
    """What a clause asks for, and whether windows stand at the first events of trends."""

    kind: int
    variable: int
    shortest: bool
    from_first: bool


class TakenEntries(NamedTuple):
    """Entries to look into and, per entry, the last tick at which no trend may begin: at first, and in the end."""

    segment: np.ndarray
    window: np.ndarray
    limit: np.ndarray
    reached: np.ndarray


class TakingProgress(NamedTuple):
    """Where taking stands between two calls: the entry, the next vertex (-1: the entry is new), the last tick at which
    no trend may begin, the number of searches, and of vertices that were taken away."""

    entry: int
    vertex: int
    until: int
    searches: int
    skipped: int


BEFORE_TAKING = TakingProgress(0, -1, NOTHING_TAKEN, 0, 0)


class Decisions(NamedTuple):
    """Which trend of a beginning is to be taken, where conditions decide: beginnings by their keys, ascending, the last
    vertex of the trend of each, and how it is found again. They are known for all beginnings before the key `until`."""

    key: np.ndarray  # int64
    end: np.ndarray  # int64
    way: np.ndarray  # int64
    until: int


#: Nothing but the clause decides.
NO_DECISIONS = Decisions(*np.empty((3, 0), np.int64), -1)


@inlined_late
def ends_sooner_or_later(graph, one, other, shortest):
    """Below 0 where the first of two ends comes first."""
    difference = graph.tick[one] - graph.tick[other]
    return difference if shortest else -difference


@inlined_late
def end_of_start(graph, follows, taking, ways, decisions, entry, window, v, searches):
    """The end of the trend to take from a vertex, or -1; how it is found, and the number of searches."""
    if decisions.until < 0:
        return find_end(graph, follows, ways, taking.from_first, taking.shortest, window, v, searches)
    key = make_key(graph, entry, v)
    at = first_not_below(decisions.key, 0, decisions.key.size, key)
    if at < decisions.key.size and decisions.key[at] == key:
        return decisions.end[at], decisions.way[at], searches
    return np.int64(-1), np.int64(WAY), searches


@inner
def find_first_of_row(graph, follows, taking, ways, decisions, entry, window, v, stop, searches):
    """The first trend that begins with the row of vertex v: its first vertex or -1, its end and how it is found; the
    first vertex of the next row, and the number of searches."""
    best, best_end, best_way, row = np.int64(-1), np.int64(-1), np.int64(WAY), follows.row[v]
    while v < stop and follows.row[v] == row:
        if graph.start_from[v] <= window and ways.gone[v] != entry:
            end, way, searches = end_of_start(graph, follows, taking, ways, decisions, entry, window, v, searches)
            if end >= 0:
                order = np.int64(-1) if best < 0 else ends_sooner_or_later(graph, end, best_end, taking.shortest)
                if order < 0 or (order == 0 and follows.variable[v] < follows.variable[best]):
                    best, best_end, best_way = v, end, way
        v += 1
    return best, best_end, best_way, v, searches


@inner
def find_first_of_tick(graph, follows, taking, ways, decisions, entry, window, v, stop, searches):
    """The same for the vertices v:stop, which are of one tick; TO_NEXT takes rows as they come."""
    best, best_end, best_way = np.int64(-1), np.int64(-1), np.int64(WAY)
    while v < stop and not (best >= 0 and taking.kind == TO_NEXT):
        own, end, way, v, searches = find_first_of_row(
            graph, follows, taking, ways, decisions, entry, window, v, stop, searches
        )
        if own < 0:
            continue
        order = np.int64(-1) if best < 0 else np.int64(follows.variable[own]) - np.int64(follows.variable[best])
        if order == 0:
            order = ends_sooner_or_later(graph, end, best_end, taking.shortest)
        if order < 0 or (order == 0 and follows.place[own] < follows.place[best]):
            best, best_end, best_way = own, end, way
    return best, best_end, best_way, v, searches


@inlined_late
def follow_way(following, v, path):
    """Write the vertices of a way into the path. Returns how many there are."""
    length = 0
    while v >= 0:
        path.vertex[length] = v
        length += 1
        v = np.int64(following[v])
    return length


@inlined_late
def find_named(graph, follows, taking, path, length):
    """The tick of the vertex that the clause names, or NOTHING_TAKEN."""
    named = np.int64(NOTHING_TAKEN)
    for i in range(length):
        v = path.vertex[i]
        if follows.variable[v] == taking.variable and (taking.kind == TO_LAST or named == NOTHING_TAKEN):
            named = graph.tick[v]
    return named


@inner
def _take_paths(graph, follows, reach, taking, entries, ways, decisions, folds, ahead, path, found, folded, progress):
    """See `take_paths`."""
    entry, at, until, searches = progress.entry, progress.vertex, progress.until, progress.searches
    trends, used, skipped = 0, 0, progress.skipped
    found.starts[0] = 0
    while entry < entries.segment.size:
        segment, window = entries.segment[entry], entries.window[entry]
        bounds = window_bounds(graph, segment, window)
        low, high = bounds.low, bounds.high
        if at < 0:
            at = low
            if not taking.from_first:
                find_ways(graph, follows, low, high, window, taking.shortest, ways)
                fold_ways(follows, low, high, ways, folds, ahead)
                until = entries.limit[entry]
            elif entry == 0 or segment != entries.segment[entry - 1]:
                first, stop = graph.segment_starts[segment], graph.segment_starts[segment + 1]
                find_ways(graph, follows, first, stop, -NO_WINDOW + 1, taking.shortest, ways)
                until = entries.limit[entry]
        # In windows that stand at first events nothing begins later.
        while at < high and not (taking.from_first and graph.tick[at] != graph.tick[low]):
            heed_stop()
            if decisions.until >= 0 and make_key(graph, entry, at) >= decisions.until:
                return trends, (entry, at, until, searches, skipped)
            stop = at + 1
            while stop < high and graph.tick[stop] == graph.tick[at]:
                stop += 1
            if graph.tick[at] <= until:
                skipped += stop - at
                at = stop
                continue
            best, end, way, beyond, searches = find_first_of_tick(
                graph, follows, taking, ways, decisions, entry, window, at, stop, searches
            )
            if best < 0:
                at = stop
                continue
            length = 0
            # What only conditions ask for is not compiled where there are none.
            if reach is not None:
                if way >= 0:
                    length = find_candidate(graph, follows, reach, window, best, way, folds, path)
            if way < 0 and folds.kind.size == 0:
                if way == SEARCHED:
                    searches += 1
                    search_ways(graph, follows, best, window, taking.shortest, ways, searches)
                length = follow_way(ways.near_following if way == SEARCHED else ways.following, best, path)
            listed = length if folds.kind.size == 0 else 0
            if trends == found.entry.size or used + listed > found.vertices.size:
                return trends, (entry, at, until, searches, skipped)
            folding, line = (path.folding, length - 1) if way >= 0 else (ahead, best)
            write_folds(folds, folding, line, folded, trends)
            for i in range(listed):
                found.vertices[used + i] = path.vertex[i]
            used += listed
            found.entry[trends] = entry
            trends += 1
            found.starts[trends] = used
            for v in range(at, stop):
                if follows.row[v] == follows.row[best]:
                    ways.gone[v] = entry
            if taking.kind == TO_NEXT:
                at = beyond
            elif taking.kind == PAST_LAST:
                until = max(until, graph.tick[end])
            else:
                named = find_named(graph, follows, taking, path, length)
                if named > graph.tick[best]:
                    until = max(until, named - 1)
        entries.reached[entry] = until
        entry += 1
        at = -1
    return trends, (entry, -1, until, searches, skipped)


def take_paths(
    graph, follows, reach, taking, entries, ways, decisions, folds, ahead, path, found, folded, progress
) -> tuple[int, TakingProgress]:
    """Fill the buffers with the trends that are taken. Returns how many, and where this stands: behind all entries, or
    where buffers were full or more decisions are needed. With folds, which TO_NEXT takes outside of windows that stand
    at first events, events are not listed: `folded` has what is folded of each trend, `ahead` of the way from each
    vertex."""
    trends, reached = _take_paths(
        graph, follows, reach, taking, entries, ways, decisions, folds, ahead, path, found, folded, progress
    )
    return trends, TakingProgress(*reached)
