"""Complete trends where an event read as a variable may be several vertices: each step of a walk carries along through
which vertices a longer trend could pass the same events."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner, outer
from trendweave.kernels.lists.graph import (
    BEGIN_BEFORE,
    CHECKED,
    END_BEHIND,
    TrendGraph,
    has_edge,
    mark_window,
    window_bounds,
)
from trendweave.kernels.stopping import is_to_stop

#: Bits of `Covers.covered`: a longer trend passes without, or with, further vertices so far.
_SAME, _LONGER = np.uint8(1), np.uint8(2)


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


@inlined_late
def pass_end(graph, covers, window, v, marks):
    """Which vertices of the last event another trend can pass: those that end there, and those that go on."""
    pair = covers.pair[v]
    first = covers.member_starts[pair]
    for i in range(first, covers.member_starts[pair + 1]):
        x = covers.members[i]
        passed = np.uint8(0)
        if graph.end_until[x] >= window:
            passed |= _SAME
        if marks[x] & END_BEHIND:
            passed |= _LONGER
        covers.covered[0, i - first] = passed


@inlined_late
def passes_longer(covers, v, depth):
    """Whether a longer trend can pass vertex v itself, which has this depth on the path."""
    pair = covers.pair[v]
    for i in range(covers.member_starts[pair], covers.member_starts[pair + 1]):
        if covers.members[i] == v:
            return covers.covered[depth, i - covers.member_starts[pair]] & _LONGER != 0
    return False


@inner
def cover_end(graph, covers, window, v, marks):
    """Begin a path with its last vertex. False where a longer trend passes it: then every trend that ends here is part
    of a longer one."""
    pass_end(graph, covers, window, v, marks)
    return not passes_longer(covers, v, 0)


@inlined_late
def goes_around(graph, covers, u, v):
    """Whether a path of two or more edges leads from u to v."""
    bit = u - graph.segment_starts[covers.segment[v]]
    word = covers.bits[covers.bit_starts[v] + bit // 64]
    return (word >> np.uint64(bit % 64)) & np.uint64(1) != 0


@inlined_late
def pass_step(graph, covers, u, v, depth):
    """Carry the vertices that another trend can pass from the event of v back to the event of u."""
    first, behind = covers.member_starts[covers.pair[u]], covers.member_starts[covers.pair[v]]
    for i in range(first, covers.member_starts[covers.pair[u] + 1]):
        x = covers.members[i]
        passed = np.uint8(0)
        for k in range(behind, covers.member_starts[covers.pair[v] + 1]):
            known = covers.covered[depth - 1, k - behind]
            y = covers.members[k]
            if known == 0 or covers.segment[x] != covers.segment[y]:
                continue
            if has_edge(graph, x, y):
                passed |= known
            if goes_around(graph, covers, x, y):
                passed |= _LONGER
        covers.covered[depth, i - first] = passed


@inner
def cover_step(graph, covers, u, v, depth):
    """The same; False where a longer trend passes u itself: then every trend through here is part of a longer one."""
    pass_step(graph, covers, u, v, depth)
    return not passes_longer(covers, u, depth)


@inner
def is_complete(graph, covers, window, v, depth, marks):
    """Whether no longer trend covers the path of this depth that begins at v."""
    first = covers.member_starts[covers.pair[v]]
    for i in range(first, covers.member_starts[covers.pair[v] + 1]):
        x = covers.members[i]
        known = covers.covered[depth - 1, i - first]
        if known and marks[x] & BEGIN_BEFORE:
            return False
        if known & _LONGER and graph.start_from[x] <= window:
            return False
    return True


@outer
def distant_ancestors(edge_starts, edges, segment_of, segment_starts, bit_starts, size):
    """Per vertex the vertices of its segment from which a path of two or more edges leads to it, as bits."""
    bits = np.zeros(size, np.uint64)
    for v in range(segment_of.size):
        if is_to_stop():
            break
        base = segment_starts[segment_of[v]]
        for i in range(edge_starts[v], edge_starts[v + 1]):
            u = edges[i]
            for word in range((u - base + 63) // 64):
                bits[bit_starts[v] + word] |= bits[bit_starts[u] + word]
            for k in range(edge_starts[u], edge_starts[u + 1]):
                bit = edges[k] - base
                bits[bit_starts[v] + bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
    return bits


def make_covers(graph: TrendGraph, pair: np.ndarray, partition: np.ndarray, depth: int) -> Covers:
    """Find what checked walks need.

    Args:
        graph: The graph of all segments.
        pair: A number per vertex for its (event, variable).
        partition: The partition of each segment.
        depth: Vertices of the longest path, at most.

    Returns:
        Ancestors, the vertices of each pair, and room for what is covered.
    """
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


@outer
def find_covered(graph, steps, covers, walk, vertices, starts, own, first, last):
    """Which trends are part of a longer one that stands in another window.

    own          int64[trends]: the window of each trend
    first, last  int64[trends]: all windows that hold it
    """
    covered = np.zeros(own.size, np.bool_)
    order = np.argsort(first)
    active = np.empty(own.size, np.int64)
    count, waiting = 0, 0
    window = np.int64(0)
    while (count or waiting < own.size) and not is_to_stop():
        if not count:
            window = first[order[waiting]]
        while waiting < own.size and first[order[waiting]] == window:
            active[count] = order[waiting]
            count += 1
            waiting += 1
        # Windows belong to one partition, and so do the trends that they hold.
        segment = covers.segment[vertices[starts[active[0]]]]
        for i in range(covers.together_starts[segment], covers.together_ends[segment]):
            low, high = window_bounds(graph, covers.together[i], window)
            mark_window(graph, steps, window, low, high, CHECKED, walk.marks, walk.longest)
        kept = 0
        for i in range(count):
            trend = active[i]
            if own[trend] != window:
                at, end = starts[trend], starts[trend + 1] - 1
                pass_end(graph, covers, window, vertices[end], walk.marks)
                for depth in range(1, end - at + 1):
                    pass_step(graph, covers, vertices[end - depth], vertices[end - depth + 1], depth)
                covered[trend] = not is_complete(graph, covers, window, vertices[at], end - at + 1, walk.marks)
            if not covered[trend] and last[trend] > window:
                active[kept] = trend
                kept += 1
        count = kept
        window += 1
    return covered
