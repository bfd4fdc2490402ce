"""The graph of a query's trends: a vertex is (event, state), an edge one step of a trend, a path a trend.

CET, Section 4.1, calls it the CET graph; here its vertices are also told apart by the template's state, so that every
pattern, negation and strategy is a matter of which edges there are. Edges do not depend on the window, so overlapping
windows share one graph: a window is a range of its vertices, and says only where trends may begin and end.

Edges are listed as long as there is room for them. A graph with too many is kept without: a walk then tests the
vertices before it one by one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trendweave.kernels.columns import ColumnList
from trendweave.kernels.compiling import inlined_late, inner, outer
from trendweave.kernels.inputs import (
    CONTIGUOUS,
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    NEXT,
    OPERATORS,
    Rows,
    Selection,
    Template,
)
from trendweave.kernels.searching import first_not_below
from trendweave.kernels.stopping import heed_stop, is_to_stop

NO_WINDOW = np.iinfo(np.int64).max
#: Before all windows and ticks: what no way leads to.
NOWHERE = -NO_WINDOW
#: A vertex takes as much memory as so many edges, while the graph is built and walked.
VERTEX_IN_EDGES = 4


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


@inlined_late
def window_bounds(graph, segment, window):
    """The vertices low:high of a segment, which lie in a window."""
    start, stop = graph.segment_starts[segment], graph.segment_starts[segment + 1]
    low = first_not_below(graph.window_last, start, stop, window)
    return low, first_not_below(graph.window_first, low, stop, window + 1)


@inner
def _find_bounds(graph, segment, window, low, high):
    for i in range(segment.size):
        low[i], high[i] = window_bounds(graph, segment[i], window[i])


def find_bounds(graph: TrendGraph | Rows, segment: np.ndarray, window: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for some windows, each in a segment; or the rows of each."""
    low, high = np.empty((2, segment.size), np.int64)
    _find_bounds(graph, segment, window, low, high)
    return low, high


@inner
def _list_windows(starts, first, last, segment, window):
    found = 0
    for s in range(starts.size - 1):
        fresh = np.int64(-NO_WINDOW)
        for row in range(starts[s], starts[s + 1]):
            for w in range(max(fresh, first[row]), last[row] + 1):
                if found < window.size:
                    segment[found], window[found] = s, w
                found += 1
            fresh = max(fresh, last[row] + 1)
    return found


def list_windows(
    starts: np.ndarray, first: np.ndarray, last: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """List the windows of each segment that hold something of it, each once.

    Args:
        starts: Where segments begin, and the end of the last.
        first: The first window of each row; they ascend in a segment.
        last: The last window of each row.
        most: How many windows are listed.

    Returns:
        The segment and the number of each; None where there are more.
    """
    nothing = np.empty(0, np.int64)
    total = int(_list_windows(starts, first, last, nothing, nothing))
    if total > most:
        return None
    segment, window = np.empty((2, total), np.int64)
    _list_windows(starts, first, last, segment, window)
    return segment, window


@inlined_late
def is_edge(steps, graph, u, v):
    """Whether a trend may step from vertex u to vertex v; u is of an earlier tick of the same segment."""
    transition = steps.transition[graph.state[u], graph.state[v]]
    if transition < 0 or graph.window_last[u] < graph.window_first[v]:
        return False
    if steps.selection == NEXT and graph.follow[u] != graph.tick[v]:
        return False
    if steps.selection == CONTIGUOUS and graph.tick[u] + 1 != graph.tick[v]:
        return False
    guard = steps.guard[transition]
    if guard >= 0 and graph.tick[u] < steps.guards[guard, graph.row[v]]:
        return False
    return accepts(steps, transition, graph.row[u], graph.row[v])


@inlined_late
def has_edge(graph, u, v):
    """Whether an edge from u to v is listed."""
    high = graph.edge_starts[v + 1]
    at = first_not_below(graph.edges, graph.edge_starts[v], high, u)
    return at < high and graph.edges[at] == u


@inlined_late
def last_before(graph, v, low):
    """A cursor before the latest vertex from which an edge may lead to v."""
    if graph.edge_starts.size:
        return graph.edge_starts[v + 1]
    return first_not_below(graph.tick, low, v, graph.tick[v])


@inlined_late
def step_back(graph, steps, v, cursor, low):
    """The next earlier vertex with an edge to v, as (cursor, vertex); vertex -1 where there is none in the window.

    Where edges are listed `steps` is None, and what tests vertices one by one is not compiled.
    """
    if steps is None:
        cursor -= 1
        if cursor < graph.edge_starts[v]:
            return cursor, np.int64(-1)
        u = np.int64(graph.edges[cursor])
        return cursor, u if u >= low else np.int64(-1)
    u = cursor - 1
    while u >= low and not is_edge(steps, graph, u, v):
        if steps.selection == CONTIGUOUS and graph.tick[u] + 1 < graph.tick[v]:
            return u, np.int64(-1)
        u -= 1
    return u, u if u >= low else np.int64(-1)


class Steps(NamedTuple):
    """When one event may follow another: per transition of the template, its comparisons, guard and pair test."""

    transition: np.ndarray  # int32[q, q]: from a state to a state, or -1
    first_test: np.ndarray  # int64[m]: comparisons of two rows, those of all transitions one after the other
    end_test: np.ndarray  # int64[m]
    guard: np.ndarray  # int64[m]: a line of `guards`, or -1
    pair: np.ndarray  # int64[m]: a line of `pairs`, or -1
    previous: np.ndarray  # int64[.]: the column of codes of the earlier row
    following: np.ndarray  # int64[.]: and of the later one
    operator: np.ndarray  # int64[.]
    codes: np.ndarray  # int64[., n]
    guards: np.ndarray  # int64[., n]: ticks before which predecessors of a row are out
    pairs: np.ndarray  # int64[., 4]: columns of the codes of both rows, where their answers begin, and width of a line
    answers: np.ndarray
    selection: int


def flatten_steps(template: Template, conditions: Sequence, selection: Selection, count: int) -> Steps:
    """Write the conditions of a template's transitions over so many rows as flat tables."""
    codes, guards = ColumnList(), ColumnList()
    parts, tests, pairs, answers, used = [], [], [], [np.zeros(0, np.uint8)], 0
    for condition in conditions:
        first = len(tests)
        for comparison in condition.comparisons:
            sides = comparison.previous, comparison.next
            tests.append((*map(codes.number, sides), OPERATORS.index(comparison.operator)))
        tested = -1
        if condition.pair_test is not None:
            previous, following, known = condition.pair_test
            tested = len(pairs)
            pairs.append((codes.number(previous), codes.number(following), used, known.shape[1]))
            answers.append(np.asarray(known, np.bool_).reshape(-1).view(np.uint8))
            used += answers[-1].size
        guarded = -1 if condition.guard is None else guards.number(condition.guard)
        parts.append((first, len(tests), guarded, tested))
    first_test, end_test, guard, pair = np.array(parts, np.int64).reshape(len(parts), 4).T.copy()
    transition = np.full((len(template.state_variable), len(template.state_variable)), -1, np.int32)
    transition[template.source, template.target] = np.arange(len(template.source))
    return Steps(
        transition,
        first_test,
        end_test,
        guard,
        pair,
        *np.array(tests, np.int64).reshape(len(tests), 3).T.copy(),
        codes.matrix(count),
        guards.matrix(count),
        np.array(pairs, np.int64).reshape(len(pairs), 4),
        np.concatenate(answers),
        int(selection),
    )


@inlined_late
def compares(operator, left, right):
    """NULL, a code below zero, compares true with nothing."""
    if left < 0 or right < 0:
        return False
    if operator == LESS:
        return left < right
    if operator == LESS_EQUAL:
        return left <= right
    if operator == GREATER:
        return left > right
    if operator == GREATER_EQUAL:
        return left >= right
    if operator == EQUAL:
        return left == right
    return left != right


@inlined_late
def accepts(steps, transition, previous, following):
    """Whether a row can follow another on a transition, apart from negation."""
    codes = steps.codes
    for t in range(steps.first_test[transition], steps.end_test[transition]):
        if not compares(steps.operator[t], codes[steps.previous[t], previous], codes[steps.following[t], following]):
            return False
    pair = steps.pair[transition]
    if pair < 0:
        return True
    # What GRETA decides anew for each edge was decided once for each pair of different values.
    line = steps.pairs[pair, 2] + codes[steps.pairs[pair, 0], previous] * steps.pairs[pair, 3]
    return steps.answers[line + codes[steps.pairs[pair, 1], following]] != 0


#: Which paths are trends to show: all of them, those of the reduced graph, or those that pass a check at each step.
ALL, COMPLETE, CHECKED = 0, 1, 2
#: Bits of a vertex: a trend begins or ends there, a way from a beginning leads there, from one before it, to an end
#: behind it.
BEGIN, FINISH, ALIVE, BEGIN_BEFORE, END_BEHIND = 1, 2, 4, 8, 16


@outer
def latest_before(edge_starts, edges, own):
    """Per vertex the largest number of the vertices from which a way leads to it (NOWHERE where there is none), and of
    these and itself. Edges lead from smaller vertices to larger ones."""
    before, reached = np.empty(own.size, np.int64), np.empty(own.size, np.int64)
    for v in range(own.size):
        if is_to_stop():
            break
        latest = np.int64(NOWHERE)
        for i in range(edge_starts[v], edge_starts[v + 1]):
            latest = max(latest, reached[edges[i]])
        before[v], reached[v] = latest, max(latest, own[v])
    return before, reached


@outer
def latest_behind(edge_starts, edges, own):
    """The same of the vertices to which a way leads from each."""
    behind, reached = np.full(own.size, NOWHERE, np.int64), np.empty(own.size, np.int64)
    for v in range(own.size - 1, -1, -1):
        if is_to_stop():
            break
        latest = max(behind[v], own[v])
        reached[v] = latest
        for i in range(edge_starts[v], edge_starts[v + 1]):
            behind[edges[i]] = max(behind[edges[i]], latest)
    return behind, reached


@inner
def mark_window(graph, steps, window, low, high, mode, marks, longest):
    """Mark the vertices of a window, and the longest way to each of them unless `longest` is empty."""
    for v in range(low, high):
        heed_stop()
        mark = np.uint8(0)
        starts = graph.start_from[v] <= window
        most = 1 if starts else 0
        if not starts or mode != ALL or longest.size:
            cursor = last_before(graph, v, low)
            while True:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                if marks[u] & ALIVE:
                    mark |= BEGIN_BEFORE
                    if not longest.size:
                        break
                    most = max(most, longest[u] + 1)
        if starts and not (mode == COMPLETE and mark & BEGIN_BEFORE):
            mark |= BEGIN
        if mark & (BEGIN | BEGIN_BEFORE):
            mark |= ALIVE
            if longest.size:
                longest[v] = most
        if graph.end_until[v] >= window:
            mark |= FINISH
        marks[v] = mark
    if mode != ALL:
        mark_ends_behind(graph, steps, low, high, marks)
    if mode == COMPLETE:
        for v in range(low, high):
            if marks[v] & END_BEHIND:
                marks[v] &= np.uint8(255 - FINISH)


@inner
def mark_ends_behind(graph, steps, low, high, marks):
    """Mark the vertices behind which trends end, from late to early."""
    for v in range(high - 1, low - 1, -1):
        heed_stop()
        if not marks[v] & (FINISH | END_BEHIND):
            continue
        cursor = last_before(graph, v, low)
        while True:
            cursor, u = step_back(graph, steps, v, cursor, low)
            if u < 0:
                break
            marks[u] |= END_BEHIND


@outer
def reduce_edges(edge_starts, edges):
    """Only the edges p -> e for which no path leads from p to e over a third vertex (CET, Definition 4: events that
    are adjacent in a complete trend).

    Of the vertices before e the latest is kept first; all that lie before a kept one are out. It is enough to look
    back as far as the earliest candidate.
    """
    count = edge_starts.size - 1
    kept_starts = np.empty(count + 1, np.int64)
    kept_starts[0] = 0
    kept = np.empty(edges.size, np.int32)
    seen = np.empty(count, np.int32)
    for v in range(count):
        seen[v] = -1
    waiting = np.empty(count, np.int32)
    used = 0
    for e in range(count):
        if is_to_stop():
            break
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
            for i in range((used - first) // 2):
                kept[first + i], kept[used - 1 - i] = kept[used - 1 - i], kept[first + i]
        kept_starts[e + 1] = used
    return kept_starts, kept[:used].copy()


@inner
def find_participants(graph, steps, segment, window, asked, marks, longest, counts, vertices):
    """Count the vertices that are asked for and lie on trends, per window of a segment, or list them.

    asked     bool, per vertex
    marks     uint8, per vertex: room
    longest   empty
    counts    int64, per window: how many there are; where they are listed, they are known
    vertices  int64: the vertices of one window after the other; empty where they are counted
    """
    at = np.int64(0)
    for entry in range(segment.size):
        low, high = window_bounds(graph, segment[entry], window[entry])
        # Of checked trends all beginnings and ends are marked, and what leads to an end.
        mark_window(graph, steps, window[entry], low, high, CHECKED, marks, longest)
        count = np.int64(0)
        for v in range(low, high):
            mark = marks[v]
            if asked[v] and mark & ALIVE and mark & (FINISH | END_BEHIND):
                if vertices.size:
                    vertices[at] = v
                    at += 1
                count += 1
        counts[entry] = count
