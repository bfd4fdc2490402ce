"""Which trends are taken: the first one of each beginning, beginnings that are not taken away by another trend, and
marks by which a sample is drawn while trends are found.

Where nothing but the clause decides, only those that are taken are built: each vertex of a graph knows the vertex that
the first of its trends goes on with, so that a trend is a way along these. Elsewhere all are found, and come as arrays:
trend i is `starts[i]:starts[i + 1]` of `ticks`, `variables` and `places`. A tick is a time of one partition. The place
of an event is different for each row, and in the order of those of one tick.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.contiguous import write_folds
from trendweave.kernels.listing.draws import random_bits
from trendweave.kernels.listing.folds import COUNT, FIRST, LARGEST, LAST, SUM
from trendweave.kernels.listing.graph import NO_WINDOW, window_bounds
from trendweave.kernels.stopping import heed_stop

#: Which beginnings a taken trend takes away: its own, all up to its last event, those before an event of a variable.
TO_NEXT, PAST_LAST, TO_FIRST, TO_LAST = range(4)
#: Before every tick.
NOTHING_TAKEN = -1


@inlined_late
def compare_trends(starts, ticks, variables, places, one, other, shortest):
    """Below 0 where one of two trends that begin with the same event comes first.

    The one that ends last comes first (`shortest`: first); then events are compared one by one: times, variables, and
    the places of rows.
    """
    difference = ticks[starts[one + 1] - 1] - ticks[starts[other + 1] - 1]
    if difference != 0:
        return difference if shortest else -difference
    for i in range(min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])):
        left, right = starts[one] + i, starts[other] + i
        difference = ticks[left] - ticks[right]
        if difference == 0:
            difference = np.int64(variables[left]) - np.int64(variables[right])
        if difference == 0:
            difference = places[left] - places[right]
        if difference != 0:
            return difference
    return np.int64(0)


@inner
def mark_first_of_beginnings(order, window, starts, ticks, variables, places, shortest, taken):
    """Mark, per window and first event, the trend that comes first.

    order  trends sorted by window and the place of their first event
    taken  out: comes as False
    """
    low = 0
    while low < order.size:
        best = order[low]
        first = places[starts[best]]
        high = low + 1
        while high < order.size and window[order[high]] == window[best] and places[starts[order[high]]] == first:
            if compare_trends(starts, ticks, variables, places, order[high], best, shortest) < 0:
                best = order[high]
            high += 1
        taken[best] = True
        low = high


@inlined_late
def taken_until(starts, ticks, variables, trend, kind, variable):
    """The last tick at which no other event may begin a trend once this one is taken; NOTHING_TAKEN where each may."""
    if kind == PAST_LAST:
        return ticks[starts[trend + 1] - 1]
    until = np.int64(NOTHING_TAKEN)
    if kind == TO_FIRST or kind == TO_LAST:
        for i in range(starts[trend], starts[trend + 1]):
            if variables[i] == variable:
                until = ticks[i] - 1 if i > starts[trend] else np.int64(NOTHING_TAKEN)
                if kind == TO_FIRST:
                    break
    return until


@inner
def mark_after_skips(order, window, partition, starts, ticks, variables, kind, variable, limit, reached, taken):
    """Mark the trends that are taken one after the other, where each takes beginnings away.

    order  trends in the order in which they are taken, by window and partition; one of each first event
    limit  per partition, the last tick at which none may begin from the outset
    reached  out: the same after all that was taken
    taken  out: comes as False
    """
    until = np.int64(NOTHING_TAKEN)
    for i in range(order.size):
        trend = order[i]
        before = order[i - 1]
        if i == 0 or window[trend] != window[before] or partition[trend] != partition[before]:
            until = limit[partition[trend]]
        if ticks[starts[trend]] <= until:
            continue
        taken[trend] = True
        until = max(until, taken_until(starts, ticks, variables, trend, kind, variable))
        reached[partition[trend]] = max(reached[partition[trend]], until)


@inner
def mark_at_random(starts, moments, variables, seeds, marks):
    """A number per trend that looks random, and is a function of its seed, times and variables alone."""
    for trend in range(starts.size - 1):
        mark = seeds[trend]
        for i in range(starts[trend], starts[trend + 1]):
            mark = random_bits(mark ^ moments[i], np.int64(variables[i]))
        marks[trend] = mark


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
    no trend may begin, and the number of searches."""

    entry: int
    vertex: int
    until: int
    searches: int


BEFORE_TAKING = TakingProgress(0, -1, NOTHING_TAKEN, 0)


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
def ends_sooner_or_later(graph, one, other, shortest):
    """Below 0 where the first of two ends comes first."""
    difference = graph.tick[one] - graph.tick[other]
    return difference if shortest else -difference


@inner
def find_first_of_row(graph, follows, taking, ways, entry, window, v, stop, searches):
    """The first trend that begins with the row of vertex v: its first vertex or -1, its end and whether it was searched
    for; the first vertex of the next row, and the number of searches."""
    best, best_end, best_searched, row = np.int64(-1), np.int64(-1), False, follows.row[v]
    while v < stop and follows.row[v] == row:
        if graph.start_from[v] <= window and ways.end[v] >= 0 and ways.gone[v] != entry:
            end, searched = np.int64(ways.end[v]), False
            if taking.from_first and not graph.window_first[end] <= window <= graph.end_until[end]:
                searched = ways.soonest[v] <= window
                end = np.int64(-1)
                if searched:
                    searches += 1
                    end = search_ways(graph, follows, v, window, taking.shortest, ways, searches)
            if end >= 0:
                order = np.int64(-1) if best < 0 else ends_sooner_or_later(graph, end, best_end, taking.shortest)
                if order < 0 or (order == 0 and follows.variable[v] < follows.variable[best]):
                    best, best_end, best_searched = v, end, searched
        v += 1
    return best, best_end, best_searched, v, searches


@inner
def find_first_of_tick(graph, follows, taking, ways, entry, window, v, stop, searches):
    """The same for the vertices v:stop, which are of one tick; TO_NEXT takes rows as they come."""
    best, best_end, best_searched = np.int64(-1), np.int64(-1), False
    while v < stop and not (best >= 0 and taking.kind == TO_NEXT):
        own, end, searched, v, searches = find_first_of_row(
            graph, follows, taking, ways, entry, window, v, stop, searches
        )
        if own < 0:
            continue
        order = np.int64(-1) if best < 0 else np.int64(follows.variable[own]) - np.int64(follows.variable[best])
        if order == 0:
            order = ends_sooner_or_later(graph, end, best_end, taking.shortest)
        if order < 0 or (order == 0 and follows.place[own] < follows.place[best]):
            best, best_end, best_searched = own, end, searched
    return best, best_end, best_searched, v, searches


@inlined_late
def measure_way(graph, follows, taking, following, v):
    """The number of vertices of a way, and the tick of the one that the clause names, or NOTHING_TAKEN."""
    length, named = 0, np.int64(NOTHING_TAKEN)
    while v >= 0:
        if follows.variable[v] == taking.variable and (taking.kind == TO_LAST or named == NOTHING_TAKEN):
            named = graph.tick[v]
        length += 1
        v = np.int64(following[v])
    return length, named


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


@inner
def _take_paths(graph, follows, taking, entries, ways, folds, ahead, found, folded, progress):
    """See `take_paths`."""
    entry, at, until, searches = progress.entry, progress.vertex, progress.until, progress.searches
    trends, used = 0, 0
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
            stop = at + 1
            while stop < high and graph.tick[stop] == graph.tick[at]:
                stop += 1
            if graph.tick[at] <= until:
                at = stop
                continue
            best, end, searched, beyond, searches = find_first_of_tick(
                graph, follows, taking, ways, entry, window, at, stop, searches
            )
            if best < 0:
                at = stop
                continue
            if searched:
                searches += 1
                search_ways(graph, follows, best, window, taking.shortest, ways, searches)
            following = ways.near_following if searched else ways.following
            length, named = 0, np.int64(NOTHING_TAKEN)
            if folds.kind.size == 0:
                length, named = measure_way(graph, follows, taking, following, best)
            if trends == found.entry.size or used + length > found.vertices.size:
                return trends, (entry, at, until, searches)
            write_folds(folds, ahead, best, folded, trends)
            v = best if folds.kind.size == 0 else np.int64(-1)
            while v >= 0:
                found.vertices[used] = v
                used += 1
                v = np.int64(following[v])
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
            elif named > graph.tick[best]:
                until = max(until, named - 1)
        entries.reached[entry] = until
        entry += 1
        at = -1
    return trends, (entry, -1, until, searches)


def take_paths(
    graph, follows, taking, entries, ways, folds, ahead, found, folded, progress
) -> tuple[int, TakingProgress]:
    """Fill the buffers with the trends that are taken. Returns how many, and where this stands; 0 means that there are
    no more. With folds, which TO_NEXT takes outside of windows that stand at first events, events are not listed:
    `folded` has what is folded of each trend, `ahead` of the way from each vertex."""
    trends, reached = _take_paths(graph, follows, taking, entries, ways, folds, ahead, found, folded, progress)
    return trends, TakingProgress(*reached)
