"""The graph of a query's trends: a vertex is (event, state), an edge one step of a trend, a path a trend.

CET, Section 4.1, calls it the CET graph; here its vertices are also told apart by the template's state, so that every
pattern, negation and strategy is a matter of which edges there are. Edges do not depend on the window, so overlapping
windows share one graph: a window is a range of its vertices, and says only where trends may begin and end.

Edges are listed as long as there is room for them. A graph with too many is kept without: a walk then tests the
vertices before it one by one.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.inputs import CONTIGUOUS, NEXT
from trendweave.kernels.listing.steps import accepts, guard_at, transition_between
from trendweave.kernels.searching import first_not_below

NO_WINDOW = np.iinfo(np.int64).max
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


class Bounds(NamedTuple):
    """The vertices low:high, which are those of a segment that lie in a window. Arrays per vertex of a walk begin at
    `base`: the segment's first vertex, or 0 where they are of all segments."""

    window: int
    low: int
    high: int
    base: int


@inlined_late
def window_bounds(graph, segment, window):
    """The vertices of a segment that lie in a window."""
    start, stop = graph.segment_starts[segment], graph.segment_starts[segment + 1]
    low = first_not_below(graph.window_last, start, stop, window)
    return Bounds(window, low, first_not_below(graph.window_first, low, stop, window + 1), start)


@inner
def _find_bounds(graph, segment, window):
    bounds = window_bounds(graph, segment, window)
    return bounds.window, bounds.low, bounds.high, bounds.base


def find_bounds(graph: TrendGraph, segment: int, window: int) -> Bounds:
    """The same, for Python."""
    return Bounds(*_find_bounds(graph, segment, window))


@inlined_late
def is_edge(steps, graph, u, v):
    """Whether a trend may step from vertex u to vertex v; u is of an earlier tick of the same segment."""
    transition = transition_between(steps, graph.state[u], graph.state[v])
    if transition < 0 or graph.window_last[u] < graph.window_first[v]:
        return False
    if steps.selection == NEXT and graph.follow[u] != graph.tick[v]:
        return False
    if steps.selection == CONTIGUOUS and graph.tick[u] + 1 != graph.tick[v]:
        return False
    if graph.tick[u] < guard_at(steps, transition, graph.row[v]):
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
