"""Vertices and edges of the graph of trends, found in one pass over the rows, tick by tick.

A vertex that no trend reaches is left out. Arrays grow between ticks; a tick whose edges do not fit is added again.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.passes import normalise_rows
from trendweave.kernels.columns import ColumnList
from trendweave.kernels.compiling import inlined_late, outer
from trendweave.kernels.growing import grow
from trendweave.kernels.inputs import NEXT, Rows, Template
from trendweave.kernels.listing.blocks import BLOCK, add_to_block, grow_blocks, new_blocks
from trendweave.kernels.listing.graph import NO_WINDOW, VERTEX_IN_EDGES, TrendGraph
from trendweave.kernels.listing.links import FULL, Vertices, link_blocks, link_chain
from trendweave.kernels.listing.steps import Steps, most_outgoing
from trendweave.kernels.stopping import is_to_stop

#: Places that arrays begin with; they double.
_FIRST_CAPACITY = 1024
#: Edges are numbered by 32 bits, with a few to spare.
_MOST_EDGES = 2**31 - 8


class Ends(NamedTuple):
    """Where trends may begin (or end): per state whether they may, and the line of `windows` that says from (or up to)
    which window; -1: in all."""

    allowed: np.ndarray  # bool[q]
    guard: np.ndarray  # int64[q]
    windows: np.ndarray  # int64[., n]


class BuiltGraph(NamedTuple):
    """What was built: vertices, the edges to each, and the first vertex of each segment."""

    row: np.ndarray
    state: np.ndarray
    start_from: np.ndarray
    end_until: np.ndarray
    follow: np.ndarray
    edge_starts: np.ndarray
    edges: np.ndarray
    segment_starts: np.ndarray


@inlined_late
def first_window(starts, rows, state, row):
    """The first window in which a trend may begin at a row read as a state, or NO_WINDOW."""
    if not starts.allowed[state]:
        return np.int64(NO_WINDOW)
    window = rows.window_first[row]
    if starts.guard[state] >= 0:
        window = max(window, starts.windows[starts.guard[state], row])
    return window if window <= rows.window_last[row] else np.int64(NO_WINDOW)


@inlined_late
def last_window(finals, rows, state, row):
    """The last window in which a trend may end at a row read as a state, or -NO_WINDOW."""
    if not finals.allowed[state]:
        return np.int64(-NO_WINDOW)
    window = rows.window_last[row]
    if finals.guard[state] >= 0:
        window = min(window, finals.windows[finals.guard[state], row])
    return window if window >= rows.window_first[row] else np.int64(-NO_WINDOW)


@inlined_late
def add_tick(
    rows, steps, starts, finals, vertices, blocks, latest_of_value, edges, first, end, base, count, used,
    listed, reach,
):  # fmt: skip
    """Add the vertices of the rows first:end, which have one tick, and the edges to them. Returns the numbers of both;
    of edges FULL where there is no room. Said again, it adds the same. No state from `reach` on can be reached."""
    for row in range(first, end):
        if rows.window_first[row] > rows.window_last[row]:
            continue
        for state in range(reach):
            variable = steps.variable[state]
            if not (rows.letters[row, variable // 64] >> np.uint64(variable % 64)) & np.uint64(1):
                continue
            linked = False
            for i in range(steps.incoming_starts[state], steps.incoming_starts[state + 1]):
                t = steps.incoming[i]
                if steps.equality[t] >= 0 and steps.selection != NEXT:
                    some, used = link_chain(rows, steps, vertices, latest_of_value, edges, t, row, base, used, listed)
                else:
                    some, used = link_blocks(rows, steps, vertices, blocks, edges, t, row, used, listed)
                if used < 0:
                    return count, used
                linked |= some
            start = first_window(starts, rows, state, row)
            if not linked and start == NO_WINDOW:
                continue
            vertices.row[count], vertices.state[count] = row, state
            vertices.start_from[count] = start
            vertices.end_until[count] = last_window(finals, rows, state, row)
            vertices.follow[count] = -1
            vertices.edge_starts[count + 1] = used
            count += 1
    return count, used


@inlined_late
def offer_vertex(steps, vertices, blocks, latest_of_value, v, number):
    """Let later vertices find vertex v: by its block, which is a new one of this number if the last is full, and by the
    values that are chained. Returns the number of blocks."""
    state = vertices.state[v]
    number = add_to_block(steps, blocks, v, state, vertices.row[v], number)
    for i in range(steps.outgoing_starts[state], steps.outgoing_starts[state + 1]):
        t = steps.outgoing[i]
        equality = steps.equality[t]
        if equality >= 0:
            code = steps.codes[steps.tests.previous[equality], vertices.row[v]]
            if code >= 0:  # NULL is equal to nothing
                vertices.chains[v, steps.place[t]] = latest_of_value[t, code]
                latest_of_value[t, code] = v
    return number


@outer
def new_chains(steps):
    """Per transition and value the latest vertex that has it: none yet."""
    widest = 0
    for t in range(steps.source.size):
        if steps.equality[t] >= 0:
            for codes in (
                steps.codes[steps.tests.previous[steps.equality[t]]],
                steps.codes[steps.tests.following[steps.equality[t]]],
            ):
                for i in range(codes.size):
                    widest = max(widest, codes[i] + 1)
    return np.full((steps.source.size, widest), -1, np.int64)


@outer
def new_vertices(capacity, most):
    return Vertices(
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.zeros(capacity + 1, np.int64),
        np.empty((capacity, most), np.int32),
    )


@outer
def grow_vertices(vertices, capacity):
    return Vertices(
        grow(vertices.row, capacity),
        grow(vertices.state, capacity),
        grow(vertices.start_from, capacity),
        grow(vertices.end_until, capacity),
        grow(vertices.follow, capacity),
        grow(vertices.edge_starts, capacity + 1),
        grow(vertices.chains, capacity),
    )


@outer
def build_vertices(rows, steps, starts, finals, first_segment, max_edges, listed):
    """Vertices and edges of segments, from the first one on, until there is no more room; one segment at least, unless
    its edges alone are too many."""
    states, most = steps.variable.size, most_outgoing(steps)
    vertices = new_vertices(_FIRST_CAPACITY, most)
    blocks = new_blocks(states, most)
    latest_of_value = new_chains(steps)
    edges = np.empty(max(1, min(_FIRST_CAPACITY, max_edges)), np.int32)
    segments = rows.segment_starts.size - 1
    segment_starts = np.zeros(segments - first_segment + 1, np.int64)
    built, count, used = 0, np.int64(0), np.int64(0)
    for segment in range(first_segment, segments):
        base, base_edges, used_blocks = count, used, np.int64(0)
        blocks.latest[:] = -1
        reach = steps.furthest[states]
        at = rows.segment_starts[segment]
        stop = rows.segment_starts[segment + 1]
        while at < stop and not is_to_stop():
            end = at + 1
            while end < stop and rows.tick[end] == rows.tick[at]:
                end += 1
            if count + (end - at) * reach > vertices.row.size:
                vertices = grow_vertices(vertices, max(2 * vertices.row.size, count + (end - at) * reach))
            more, more_edges = add_tick(
                rows, steps, starts, finals, vertices, blocks, latest_of_value, edges, at, end, base, count, used,
                listed, reach,
            )  # fmt: skip
            if more_edges == FULL:
                if edges.size >= max_edges or edges.size > _MOST_EDGES:
                    break
                edges = grow(edges, min(2 * edges.size, max_edges))
                continue
            needed = used_blocks + (more - count) // BLOCK + 2 * reach
            if needed > blocks.size.size:
                blocks = grow_blocks(blocks, max(2 * blocks.size.size, needed))
            for v in range(count, more):
                # Found from late to early: turned round, and merged where there are several transitions.
                edges[vertices.edge_starts[v] : vertices.edge_starts[v + 1]].sort()
                used_blocks = offer_vertex(steps, vertices, blocks, latest_of_value, v, used_blocks)
                reach = max(reach, steps.furthest[vertices.state[v]])
            count, used, at = more, more_edges, end
        if at < stop:
            count, used = base, base_edges
            break
        built += 1
        segment_starts[built] = count
        if count * VERTEX_IN_EDGES + used > max_edges:
            break
    return (
        vertices.row[:count].copy(),
        vertices.state[:count].copy(),
        vertices.start_from[:count].copy(),
        vertices.end_until[:count].copy(),
        vertices.follow[:count].copy(),
        vertices.edge_starts[: count + 1].copy(),
        edges[:used].copy(),
        segment_starts[: built + 1].copy(),
    )


def build_graph(
    rows: Rows,
    template: Template,
    steps: Steps,
    start_guards: Mapping[int, np.ndarray],
    final_guards: Mapping[int, np.ndarray],
    first_segment: int,
    max_edges: int,
) -> TrendGraph:
    """Build the graph of as many segments as fit, from the first one on.

    Args:
        rows: The rows of all segments.
        template: The template that trends are words of.
        steps: Its conditions, as flat tables.
        start_guards: Per state the first window in which a trend may begin at a row.
        final_guards: Per state the last window in which a trend may end at a row.
        first_segment: The segment to begin with.
        max_edges: Edges that there is room for.

    Returns:
        The graph; of one segment, without listed edges, if it has too many.
    """
    rows = normalise_rows(rows)
    starts = _guard_ends(template.is_start, start_guards, rows.tick.size)
    finals = _guard_ends(template.is_final, final_guards, rows.tick.size)
    built = BuiltGraph(*build_vertices(rows, steps, starts, finals, first_segment, max_edges, True))
    listed = built.segment_starts.size > 1
    if not listed:
        one = rows._replace(segment_starts=rows.segment_starts[: first_segment + 2])
        built = BuiltGraph(*build_vertices(one, steps, starts, finals, first_segment, 0, False))
    return TrendGraph(
        built.row,
        built.state,
        rows.tick[built.row],
        rows.window_first[built.row],
        rows.window_last[built.row],
        built.start_from,
        built.end_until,
        built.follow if steps.selection == NEXT else built.follow[:0],
        built.edge_starts if listed else built.edge_starts[:0],
        built.edges,
        built.segment_starts,
    )


def _guard_ends(allowed: np.ndarray, guards: Mapping[int, np.ndarray], rows: int) -> Ends:
    allowed = np.asarray(allowed, np.bool_)
    columns = ColumnList()
    line = np.full(allowed.size, -1, np.int64)
    for state, guard in guards.items():
        if allowed[state]:
            line[state] = columns.number(guard)
    return Ends(allowed, line, columns.matrix(rows))
