"""Trends one by one: a depth-first walk from their last events back to their first ones.

This is M-CET (CET, Section 4.2): one trend is in memory at a time. It never walks into a dead end, because a pass over
the window marks the vertices that some beginning leads to. What it finds goes into buffers of fixed size; when they are
full the walk stops, and goes on from there with the next call.

Complete trends come in two ways. Where an event read as a variable is one vertex, they are the paths of the reduced
graph from vertices with no beginning before them to vertices with no end behind them. Elsewhere each step of the walk
carries along through which vertices a longer trend could pass the same events.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined, inner, outer
from trendweave.kernels.listing.graph import is_edge

ALL, COMPLETE, CHECKED = 0, 1, 2
# Walk.place: the entry, the next last vertex, vertices on the path, whether its first one was just reached, trends
# shown of the entry, of them those of the least length, trends seen, picks used, and the longest that was left out
ENTRY, END, DEPTH, ARRIVED, SHOWN, SHORTEST, SEEN, PICKED, LEFT_OUT = range(9)
# bits of Walk.marks
BEGIN, FINISH, ALIVE, BEGIN_BEFORE, END_BEHIND = 1, 2, 4, 8, 16
NEW = -1  # DEPTH of an entry that was not looked at yet


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
    """Where a walk stands. Arrays per vertex are as long as the largest segment; of a checked walk, as all of them."""

    place: np.ndarray
    marks: np.ndarray  # uint8, per vertex of the segment
    longest: np.ndarray  # int32: most vertices on a way from a beginning; only where lengths matter
    path: np.ndarray  # int32, from the last vertex back
    cursor: np.ndarray  # int64


class Found(NamedTuple):
    """Buffers: trends one after the other, in order of time."""

    entry: np.ndarray
    starts: np.ndarray
    vertices: np.ndarray


class Covers(NamedTuple):
    """For checked walks: the vertices of each (event, variable), ancestors over two or more edges as bits, and the
    vertices that a longer trend can pass, per event of the path."""

    pair: np.ndarray  # int64[v]
    member_starts: np.ndarray
    members: np.ndarray  # vertices by pair
    bit_starts: np.ndarray  # int64[v]: where the ancestors of a vertex begin, counted from its segment's first vertex
    bits: np.ndarray  # uint64
    segment: np.ndarray  # int64[v]
    covered: np.ndarray  # uint8[depth, most members]: bit 1 without, bit 2 with further vertices
    together_starts: np.ndarray  # int64[segments]: the segments of a segment's partition, as a range of `together`
    together_ends: np.ndarray
    together: np.ndarray


def new_walk(graph, lengths: bool = False, checked: bool = False) -> Walk:
    sizes = np.diff(graph.segment_starts)
    largest = int(sizes.sum() if checked else sizes.max()) if sizes.size else 0
    place = np.zeros(9, np.int64)
    place[DEPTH] = NEW
    return Walk(
        place,
        np.zeros(largest, np.uint8),
        np.zeros(largest if lengths else 0, np.int32),
        np.zeros(largest + 1, np.int32),
        np.zeros(largest + 1, np.int64),
    )


@inlined
def first_at_least(values, low, high, wanted):
    """The first place of a sorted range whose value is not below the wanted one."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def vertex_range(graph, segment, window):
    """The vertices of a segment that lie in a window."""
    start, stop = graph.segment_starts[segment], graph.segment_starts[segment + 1]
    low = first_at_least(graph.window_last, start, stop, window)
    return low, first_at_least(graph.window_first, low, stop, window + 1)


@inlined
def last_before(graph, v, low):
    """A cursor before the latest vertex from which an edge may lead to v."""
    if graph.edge_starts.size:
        return graph.edge_starts[v + 1]
    return first_at_least(graph.tick, low, v, graph.tick[v])


@inlined
def step_back(graph, steps, v, cursor, low):
    """The next earlier vertex with an edge to v, as (cursor, vertex); vertex -1 where there is none in the window."""
    if graph.edge_starts.size:
        cursor -= 1
        if cursor < graph.edge_starts[v]:
            return cursor, np.int64(-1)
        u = np.int64(graph.edges[cursor])
        return cursor, u if u >= low else np.int64(-1)
    u = cursor - 1
    while u >= low and not is_edge(steps, graph, u, v):
        u -= 1
    return u, u if u >= low else np.int64(-1)


@inner
def mark_window(graph, steps, window, low, high, base, kind, marks, longest):
    """Where trends of a window begin and end, what lies behind a beginning, and the longest way to each vertex."""
    for v in range(low, high):
        mark = np.uint8(0)
        starts = graph.start_from[v] <= window
        most = 1 if starts else 0
        if not starts or kind != ALL or longest.size:
            cursor = last_before(graph, v, low)
            while True:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                if marks[u - base] & ALIVE:
                    mark |= BEGIN_BEFORE
                    if not longest.size:
                        break
                    most = max(most, longest[u - base] + 1)
        if starts and not (kind == COMPLETE and mark & BEGIN_BEFORE):
            mark |= BEGIN
        if mark & (BEGIN | BEGIN_BEFORE):
            mark |= ALIVE
            if longest.size:
                longest[v - base] = most
        if graph.end_until[v] >= window:
            mark |= FINISH
        marks[v - base] = mark
    if kind == ALL:
        return
    for v in range(high - 1, low - 1, -1):
        if not marks[v - base] & (FINISH | END_BEHIND):
            continue
        cursor = last_before(graph, v, low)
        while True:
            cursor, u = step_back(graph, steps, v, cursor, low)
            if u < 0:
                break
            marks[u - base] |= END_BEHIND
    if kind == COMPLETE:
        for v in range(low, high):
            if marks[v - base] & END_BEHIND:
                marks[v - base] &= np.uint8(255 - FINISH)


@inner
def mark_entry(graph, steps, entries, entry, kind, covers, marks, longest):
    """Mark the window of an entry; a checked walk needs it in all segments of the partition."""
    segment, window = entries.segment[entry], entries.window[entry]
    if kind != CHECKED:
        low, high = vertex_range(graph, segment, window)
        mark_window(graph, steps, window, low, high, graph.segment_starts[segment], kind, marks, longest)
        return
    for i in range(covers.together_starts[segment], covers.together_ends[segment]):
        low, high = vertex_range(graph, covers.together[i], window)
        mark_window(graph, steps, window, low, high, 0, kind, marks, longest)


@inner
def cover_end(graph, covers, window, v, marks):
    """Which vertices of the last event a longer trend can pass: those that end there, and those that go on."""
    pair = covers.pair[v]
    first = covers.member_starts[pair]
    for i in range(first, covers.member_starts[pair + 1]):
        x = covers.members[i]
        found = np.uint8(0)
        if graph.end_until[x] >= window:
            found |= np.uint8(1)
        if marks[x] & END_BEHIND:
            found |= np.uint8(2)
        covers.covered[0, i - first] = found
        if x == v and found & np.uint8(2):
            return False
    return True


@inlined
def has_edge(graph, u, v):
    high = graph.edge_starts[v + 1]
    at = first_at_least(graph.edges, graph.edge_starts[v], high, u)
    return at < high and graph.edges[at] == u


@inlined
def goes_around(graph, covers, u, v):
    """Whether a path of two or more edges leads from u to v."""
    bit = u - graph.segment_starts[covers.segment[v]]
    word = covers.bits[covers.bit_starts[v] + bit // 64]
    return (word >> np.uint64(bit % 64)) & np.uint64(1) != 0


@inner
def cover_step(graph, covers, u, v, depth):
    """Carry the vertices that a longer trend can pass from the event of v back to the event of u. False where u itself
    is among them with something in between: then every trend through here is part of a longer one."""
    first, behind = covers.member_starts[covers.pair[u]], covers.member_starts[covers.pair[v]]
    for i in range(first, covers.member_starts[covers.pair[u] + 1]):
        x = covers.members[i]
        found = np.uint8(0)
        for k in range(behind, covers.member_starts[covers.pair[v] + 1]):
            known = covers.covered[depth - 1, k - behind]
            y = covers.members[k]
            if known == 0 or covers.segment[x] != covers.segment[y]:
                continue
            if has_edge(graph, x, y):
                found |= known
            if goes_around(graph, covers, x, y):
                found |= np.uint8(2)
        covers.covered[depth, i - first] = found
        if x == u and found & np.uint8(2):
            return False
    return True


@inner
def is_complete(graph, covers, window, v, depth, marks):
    """Whether no longer trend covers the path of this depth that begins at v."""
    first = covers.member_starts[covers.pair[v]]
    for i in range(first, covers.member_starts[covers.pair[v] + 1]):
        x = covers.members[i]
        known = covers.covered[depth - 1, i - first]
        if known and marks[x] & BEGIN_BEFORE:
            return False
        if known & np.uint8(2) and graph.start_from[x] <= window:
            return False
    return True


@inner
def show(entries, place, path, found, trends, used):
    """Write the path into the buffers. Returns 1 if it was written, 0 if it is not wanted, -1 if there is no room."""
    entry, depth = place[ENTRY], place[DEPTH]
    shortest = depth == entries.min_length[entry]
    if shortest and place[SHORTEST] >= entries.shortest[entry]:
        return 0
    if entries.pick_starts.size:
        at = entries.pick_starts[entry] + place[PICKED]
        if at == entries.pick_starts[entry + 1] or entries.picks[at] != place[SEEN]:
            place[SEEN] += 1
            return 0
    if trends == found.entry.size or used + depth > found.vertices.size:
        return -1
    if entries.pick_starts.size:
        place[PICKED] += 1
    for i in range(depth):
        found.vertices[used + i] = path[depth - 1 - i]
    found.entry[trends] = entry
    found.starts[trends + 1] = used + depth
    place[SEEN] += 1
    place[SHOWN] += 1
    if shortest:
        place[SHORTEST] += 1
    return 1


@inner
def next_end(entries, place, marks, longest, base, high):
    """The next vertex at which a trend ends that is long enough, or -1."""
    least = entries.min_length[place[ENTRY]]
    v = place[END]
    while v < high:
        mark = marks[v - base]
        if mark & FINISH and mark & ALIVE:
            if longest.size == 0 or longest[v - base] >= least:
                place[END] = v + 1
                return v
            place[LEFT_OUT] = max(place[LEFT_OUT], longest[v - base])
        v += 1
    place[END] = high
    return np.int64(-1)


@inner
def walk_back(graph, steps, entries, walk, found, kind, covers):
    """Fill the buffers with trends. Returns how many; 0 means that there are no more."""
    place, marks, longest, path, cursors = walk.place, walk.marks, walk.longest, walk.path, walk.cursor
    trends, used = 0, 0
    found.starts[0] = 0
    while place[ENTRY] < entries.segment.size:
        entry = place[ENTRY]
        segment, window = entries.segment[entry], entries.window[entry]
        low, high = vertex_range(graph, segment, window)
        base = np.int64(0) if kind == CHECKED else graph.segment_starts[segment]
        if place[DEPTH] == NEW:
            if entries.quota[entry] > 0:
                mark_entry(graph, steps, entries, entry, kind, covers, marks, longest)
            place[END], place[DEPTH], place[ARRIVED] = low, 0, 0
            place[SHOWN], place[SHORTEST], place[SEEN], place[PICKED], place[LEFT_OUT] = 0, 0, 0, 0, 0
        while place[SHOWN] < entries.quota[entry]:
            depth = place[DEPTH]
            if depth == 0:
                v = next_end(entries, place, marks, longest, base, high)
                if v < 0:
                    break
                if kind == CHECKED and not cover_end(graph, covers, window, v, marks):
                    continue
                path[0], cursors[0] = v, last_before(graph, v, low)
                place[DEPTH], place[ARRIVED] = 1, 1
                continue
            v = np.int64(path[depth - 1])
            if place[ARRIVED]:
                if marks[v - base] & BEGIN and depth < entries.min_length[entry]:
                    place[LEFT_OUT] = max(place[LEFT_OUT], depth)
                elif marks[v - base] & BEGIN and (
                    kind != CHECKED or is_complete(graph, covers, window, v, depth, marks)
                ):
                    done = show(entries, place, path, found, trends, used)
                    if done < 0:
                        return trends
                    if done > 0:
                        trends += 1
                        used += depth
                place[ARRIVED] = 0
                continue
            cursor, u = step_back(graph, steps, v, cursors[depth - 1], low)
            cursors[depth - 1] = cursor
            if u < 0:
                place[DEPTH] = depth - 1
                continue
            if not marks[u - base] & ALIVE:
                continue
            if longest.size and depth + longest[u - base] < entries.min_length[entry]:
                place[LEFT_OUT] = max(place[LEFT_OUT], depth + longest[u - base])
                continue
            if kind == CHECKED and not cover_step(graph, covers, u, v, depth):
                continue
            path[depth], cursors[depth] = u, last_before(graph, u, low)
            place[DEPTH], place[ARRIVED] = depth + 1, 1
        place[ENTRY] += 1
        place[DEPTH] = NEW
    return trends


@inner
def count_trends(graph, steps, entries, kind, walk, counts, numbers):
    """How many paths of the reduced graph (or of the whole one) each entry has; -1 where 64 bits cannot tell."""
    most = np.int64(2) ** 62
    for entry in range(entries.segment.size):
        segment, window = entries.segment[entry], entries.window[entry]
        low, high = vertex_range(graph, segment, window)
        base = graph.segment_starts[segment]
        mark_window(graph, steps, window, low, high, base, kind, walk.marks, walk.longest)
        total = np.int64(0)
        for v in range(low, high):
            count = np.int64(1) if walk.marks[v - base] & BEGIN else np.int64(0)
            cursor = last_before(graph, v, low)
            while count >= 0:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                before = numbers[u - base]
                count = -1 if before < 0 or count > most - before else count + before
            numbers[v - base] = count
            if walk.marks[v - base] & FINISH and total >= 0:
                total = -1 if count < 0 or total > most - count else total + count
        counts[entry] = total


@outer
def distant_ancestors(edge_starts, edges, segment_of, segment_starts, bit_starts, size):
    """Per vertex the vertices of its segment from which a path of two or more edges leads to it, as bits."""
    bits = np.zeros(size, np.uint64)
    for v in range(segment_of.size):
        base = segment_starts[segment_of[v]]
        for i in range(edge_starts[v], edge_starts[v + 1]):
            u = edges[i]
            for word in range((u - base + 63) // 64):
                bits[bit_starts[v] + word] |= bits[bit_starts[u] + word]
            for k in range(edge_starts[u], edge_starts[u + 1]):
                bit = edges[k] - base
                bits[bit_starts[v] + bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
    return bits


def make_covers(graph, pair: np.ndarray, partition: np.ndarray, depth: int) -> Covers:
    """`pair` numbers the (event, variable) of each vertex, `partition` that of each segment."""
    count = graph.row.size
    segment = np.repeat(np.arange(graph.segment_starts.size - 1), np.diff(graph.segment_starts))
    words = (np.arange(count) - graph.segment_starts[segment] + 63) // 64
    bit_starts = np.concatenate([[0], np.cumsum(words)]).astype(np.int64)
    bits = distant_ancestors(
        graph.edge_starts, graph.edges, segment, graph.segment_starts, bit_starts[:-1], int(bit_starts[-1]) + 1
    )
    members = np.argsort(pair, kind="stable")
    pairs = int(pair.max()) + 1 if count else 0
    member_starts = np.searchsorted(pair[members], np.arange(pairs + 1))
    most = int(np.diff(member_starts).max()) if pairs else 0
    together = np.argsort(partition, kind="stable")
    return Covers(
        pair,
        member_starts,
        members,
        bit_starts,
        bits,
        segment,
        np.zeros((depth, most), np.uint8),
        np.searchsorted(partition[together], partition),
        np.searchsorted(partition[together], partition, side="right"),
        together,
    )


def no_covers() -> Covers:
    """For walks that are not checked."""
    none, bits = np.empty(0, np.int64), np.empty(0, np.uint64)
    return Covers(none, none, none, none, bits, none, np.empty((0, 0), np.uint8), none, none, none)
