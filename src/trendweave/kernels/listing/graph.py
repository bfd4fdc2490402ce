"""The graph of a query's trends: a vertex is (event, state), an edge one step of a trend, a path a trend.

CET, Section 4.1, calls it the CET graph; here its vertices are also told apart by the template's state, so that every
pattern, negation and strategy is a matter of which edges there are. Edges do not depend on the window, so overlapping
windows share one graph: a window is a range of its vertices, and says only where trends may begin and end.

Edges are listed as long as there is room for them. A graph with too many is kept without: a walk then tests the
vertices before it one by one.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.passes import normalise_rows
from trendweave.kernels.aggregates.program import CONTIGUOUS, NEXT
from trendweave.kernels.aggregates.scan import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL
from trendweave.kernels.columns import ColumnList
from trendweave.kernels.compiling import inlined, outer
from trendweave.kernels.inputs import Rows, Template
from trendweave.kernels.listing.steps import PART_EQUALITY, PART_TESTS, PART_TESTS_END, Steps, accepts, guard_at

NO_WINDOW = np.iinfo(np.int64).max


class TrendGraph(NamedTuple):
    """Vertices sorted by (segment, tick). Trends may begin at a vertex in windows from `start_from` on, and end at it
    in windows up to `end_until`; both are beyond its windows where they may not."""

    row: np.ndarray
    state: np.ndarray
    tick: np.ndarray
    window_first: np.ndarray
    window_last: np.ndarray
    start_from: np.ndarray
    end_until: np.ndarray
    follow: np.ndarray  # the tick at which an event can follow (skip-till-next-match), or empty
    edge_starts: np.ndarray  # int64[v+1], of size 0 where edges are not listed
    edges: np.ndarray  # int32: the vertices before a vertex, ascending
    segment_starts: np.ndarray  # int64[k+1], of the segments that were built

    @property
    def is_listed(self) -> bool:
        return self.edge_starts.size > 0


@inlined
def is_edge(steps, graph, u, v):
    """Whether a trend may step from vertex u to vertex v; u is of an earlier tick of the same segment."""
    transition = steps.between[graph.state[u], graph.state[v]]
    if transition < 0 or graph.window_last[u] < graph.window_first[v]:
        return False
    if steps.selection == NEXT and graph.follow[u] != graph.tick[v]:
        return False
    if steps.selection == CONTIGUOUS and graph.tick[u] + 1 != graph.tick[v]:
        return False
    if graph.tick[u] < guard_at(steps, transition, graph.row[v]):
        return False
    return accepts(steps, transition, graph.row[u], graph.row[v])


@outer
def grown(array, size):
    larger = np.empty(size, array.dtype)
    larger[: array.size] = array
    return larger


@outer
def grown_rows(array, size):
    larger = np.empty((size, array.shape[1]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


#: A vertex takes as much memory as so many edges, while the graph is built and walked.
VERTEX_IN_EDGES = 4
#: Vertices of one state in a block; a block is left out as a whole where its values cannot compare true.
BLOCK = 64


@inlined
def may_compare(operator, low, high, code):
    """Whether some value between low and high may compare true with the code."""
    if code < 0:
        return False
    if operator == LESS:
        return low < code
    if operator == LESS_EQUAL:
        return low <= code
    if operator == GREATER:
        return high > code
    if operator == GREATER_EQUAL:
        return high >= code
    if operator == EQUAL:
        return low <= code <= high
    return True


@outer
def build_vertices(rows, steps, begins, ends, start_guards, final_guards, first_segment, max_edges, listed):
    """Vertices and edges of segments, from the first one on, until there is no more room; one segment at least, unless
    its edges alone are too many.

    `begins`, `ends`: per state -2 where trends may not, -1 where they may, else a row of the guards' matrix.
    Vertices of a source state are found from the latest to the earliest: by chains of equal values where the transition
    has an equality, else in blocks that know the range of their values. A vertex that no trend reaches is left out.
    """
    states = steps.variable.size
    transitions = steps.source.size
    capacity = 1024
    row_of, state_of = np.empty(capacity, np.int64), np.empty(capacity, np.int32)
    start_from, end_until = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    follow = np.empty(capacity, np.int64)
    edge_starts = np.zeros(capacity + 1, np.int64)
    edges = np.empty(max(1, min(1024, max_edges)), np.int32)
    chains = np.empty((capacity, transitions), np.int32)
    widest = 0
    for t in range(transitions):
        equality = steps.parts[t, PART_EQUALITY]
        if equality >= 0:
            for column in range(2):
                codes = steps.codes[steps.tests[equality, column]]
                for i in range(codes.size):
                    widest = max(widest, codes[i] + 1)
    latest_of_value = np.full((transitions, widest), -1, np.int64)
    blocks = 0
    block_items = np.empty((64, BLOCK), np.int32)
    block_facts = np.empty((64, 2), np.int64)  # number of items, the block before
    block_low = np.empty((64, transitions), np.int64)
    block_high = np.empty((64, transitions), np.int64)
    latest_block = np.full(states, -1, np.int64)
    vertices, used = 0, 0
    segments = rows.segment_starts.size - 1
    segment_starts = np.zeros(segments - first_segment + 1, np.int64)
    built = 0
    full = False
    for segment in range(first_segment, segments):
        base, edge_base = vertices, used
        blocks = 0
        latest_block[:] = -1
        at = rows.segment_starts[segment]
        stop = rows.segment_starts[segment + 1]
        while at < stop and not full:
            now = rows.tick[at]
            tick_end = at
            while tick_end < stop and rows.tick[tick_end] == now:
                tick_end += 1
            tick_base = vertices
            for row in range(at, tick_end):
                if rows.window_first[row] > rows.window_last[row]:
                    continue
                for state in range(states):
                    variable = steps.variable[state]
                    if not (rows.letters[row, variable // 64] >> np.uint64(variable % 64)) & np.uint64(1):
                        continue
                    if vertices == capacity:
                        capacity *= 2
                        row_of, state_of = grown(row_of, capacity), grown(state_of, capacity)
                        start_from, end_until = grown(start_from, capacity), grown(end_until, capacity)
                        follow, edge_starts = grown(follow, capacity), grown(edge_starts, capacity + 1)
                        chains = grown_rows(chains, capacity)
                    found = False
                    edge_start = used
                    for i in range(steps.incoming_starts[state], steps.incoming_starts[state + 1]):
                        t = steps.incoming[i]
                        guard = guard_at(steps, t, row)
                        equality = steps.parts[t, PART_EQUALITY]
                        chained = equality >= 0 and steps.selection != NEXT
                        first_test, end_test = steps.parts[t, PART_TESTS], steps.parts[t, PART_TESTS_END]
                        u = np.int64(-1)
                        block, item = np.int64(-1), np.int64(0)
                        if chained:
                            code = steps.codes[steps.tests[equality, 1], row]
                            u = latest_of_value[t, code] if code >= 0 else np.int64(-1)
                        else:
                            block = latest_block[steps.source[t]]
                            item = block_facts[block, 0] if block >= 0 else np.int64(0)
                        while True:
                            # 1. the next earlier candidate
                            if not chained:
                                if block >= 0 and item == block_facts[block, 0] and first_test < end_test:
                                    test = steps.tests[first_test]
                                    if not may_compare(
                                        test[2], block_low[block, t], block_high[block, t], steps.codes[test[1], row]
                                    ):
                                        item = 0
                                if block >= 0 and item == 0:
                                    last = block_items[block, 0]
                                    block = block_facts[block, 1]
                                    item = block_facts[block, 0] if block >= 0 else np.int64(0)
                                    # Ticks and windows only fall from here: there may be nothing left.
                                    p = row_of[last]
                                    if rows.window_last[p] < rows.window_first[row] or rows.tick[p] < guard:
                                        if steps.selection != NEXT:
                                            break
                                    continue
                                if block < 0:
                                    break
                                item -= 1
                                u = np.int64(block_items[block, item])
                            if u < base:
                                break
                            # 2. does it still matter?
                            p = row_of[u]
                            if rows.window_last[p] < rows.window_first[row]:
                                break
                            if steps.selection == CONTIGUOUS and rows.tick[p] + 1 < now:
                                break
                            candidate = u
                            if chained:
                                u = np.int64(chains[u, t])
                            if steps.selection == NEXT:
                                if follow[candidate] >= 0 and follow[candidate] < now:
                                    continue
                            elif rows.tick[p] < guard:
                                break
                            # 3. is it one?
                            if not accepts(steps, t, p, row):
                                continue
                            if steps.selection == NEXT:
                                follow[candidate] = now
                            if rows.tick[p] < guard:
                                continue
                            found = True
                            if listed:
                                if used == edges.size:
                                    if used >= max_edges or used > 2**31 - 8:
                                        full = True
                                        break
                                    edges = grown(edges, min(2 * edges.size, max_edges))
                                edges[used] = candidate
                                used += 1
                            elif steps.selection != NEXT:
                                break
                        if full:
                            break
                    if full:
                        break
                    start = np.int64(NO_WINDOW)
                    if begins[state] == -1:
                        start = rows.window_first[row]
                    elif begins[state] >= 0:
                        start = max(start_guards[begins[state], row], rows.window_first[row])
                    if start > rows.window_last[row]:
                        start = np.int64(NO_WINDOW)
                    if not found and start == NO_WINDOW:
                        continue
                    end = np.int64(-NO_WINDOW)
                    if ends[state] == -1:
                        end = rows.window_last[row]
                    elif ends[state] >= 0:
                        end = min(final_guards[ends[state], row], rows.window_last[row])
                    if end < rows.window_first[row]:
                        end = np.int64(-NO_WINDOW)
                    # Found from late to early: turned round, and merged where there are several transitions.
                    edges[edge_start:used].sort()
                    row_of[vertices], state_of[vertices] = row, state
                    start_from[vertices], end_until[vertices] = start, end
                    follow[vertices] = -1
                    edge_starts[vertices + 1] = used
                    vertices += 1
                if full:
                    break
            for v in range(tick_base, vertices):
                state = state_of[v]
                block = latest_block[state]
                if block < 0 or block_facts[block, 0] == BLOCK:
                    if blocks == block_items.shape[0]:
                        block_items = grown_rows(block_items, 2 * blocks)
                        block_facts = grown_rows(block_facts, 2 * blocks)
                        block_low, block_high = grown_rows(block_low, 2 * blocks), grown_rows(block_high, 2 * blocks)
                    block_facts[blocks, 0], block_facts[blocks, 1] = 0, block
                    block = blocks
                    latest_block[state] = block
                    blocks += 1
                    block_low[block], block_high[block] = NO_WINDOW, -1
                block_items[block, block_facts[block, 0]] = v
                block_facts[block, 0] += 1
                for t in range(transitions):
                    if steps.source[t] != state or steps.parts[t, PART_TESTS] == steps.parts[t, PART_TESTS_END]:
                        continue
                    code = steps.codes[steps.tests[steps.parts[t, PART_TESTS], 0], row_of[v]]
                    if code >= 0:  # NULL compares true with nothing
                        block_low[block, t] = min(block_low[block, t], code)
                        block_high[block, t] = max(block_high[block, t], code)
                    equality = steps.parts[t, PART_EQUALITY]
                    if equality >= 0:
                        code = steps.codes[steps.tests[equality, 0], row_of[v]]
                        if code >= 0:
                            chains[v, t] = latest_of_value[t, code]
                            latest_of_value[t, code] = v
            at = tick_end
        if full:
            vertices, used = base, edge_base
            break
        built += 1
        segment_starts[built] = vertices
        if vertices * VERTEX_IN_EDGES + used > max_edges:
            break
    return (
        row_of[:vertices].copy(),
        state_of[:vertices].copy(),
        start_from[:vertices].copy(),
        end_until[:vertices].copy(),
        follow[:vertices].copy(),
        edge_starts[: vertices + 1].copy(),
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
    """The graph of as many segments as fit, from the first one on; of one segment, without listed edges, if it has too
    many."""
    rows = normalise_rows(rows)
    starts, finals = ColumnList(), ColumnList()
    begins = _guarded(template.is_start, start_guards, starts)
    ends = _guarded(template.is_final, final_guards, finals)
    matrices = starts.matrix(rows.tick.size), finals.matrix(rows.tick.size)
    parts = build_vertices(rows, steps, begins, ends, *matrices, first_segment, max_edges, True)
    listed = parts[-1].size > 1
    if not listed:
        one = rows._replace(segment_starts=rows.segment_starts[: first_segment + 2])
        parts = build_vertices(one, steps, begins, ends, *matrices, first_segment, 0, False)
    row, state, start_from, end_until, follow, edge_starts, edges, segment_starts = parts
    return TrendGraph(
        row,
        state,
        rows.tick[row],
        rows.window_first[row],
        rows.window_last[row],
        start_from,
        end_until,
        follow if steps.selection == NEXT else follow[:0],
        edge_starts if listed else edge_starts[:0],
        edges,
        segment_starts,
    )


def _guarded(flags: np.ndarray, guards: Mapping[int, np.ndarray], columns: ColumnList) -> np.ndarray:
    found = np.where(np.asarray(flags, bool), -1, -2).astype(np.int64)
    for state, guard in guards.items():
        if found[state] != -2:
            found[state] = columns.number(guard)
    return found


@outer
def reduced_edges(edge_starts, edges):
    """Only the edges p -> e for which no path leads from p to e over a third vertex (CET, Definition 4: events that
    are adjacent in a complete trend).

    Of the vertices before e the latest is kept first; all that lie before a kept one are out. It is enough to look
    back as far as the earliest candidate.
    """
    count = edge_starts.size - 1
    kept_starts = np.zeros(count + 1, np.int64)
    kept = np.empty(edges.size, np.int32)
    seen = np.full(count, -1, np.int32)
    waiting = np.empty(count, np.int32)
    used = 0
    for e in range(count):
        first = used
        if edge_starts[e] < edge_starts[e + 1]:
            lowest = edges[edge_starts[e]]
            for i in range(edge_starts[e + 1] - 1, edge_starts[e] - 1, -1):
                p = edges[i]
                if seen[p] == e:
                    continue
                kept[used] = p
                used += 1
                if p == lowest:
                    continue
                waiting[0] = p
                size = 1
                while size:
                    size -= 1
                    v = waiting[size]
                    for k in range(kept_starts[v + 1] - 1, kept_starts[v] - 1, -1):
                        u = kept[k]
                        if u < lowest:
                            break
                        if seen[u] != e:
                            seen[u] = e
                            waiting[size] = u
                            size += 1
            kept[first:used] = kept[first:used][::-1].copy()
        kept_starts[e + 1] = used
    return kept_starts, kept[:used].copy()
