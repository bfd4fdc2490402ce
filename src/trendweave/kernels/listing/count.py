"""How many paths of a graph are trends of a window."""

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.graph import last_before, step_back, window_bounds
from trendweave.kernels.listing.marks import BEGIN, FINISH, mark_window
from trendweave.kernels.stopping import heed_stop


@inlined_late
def mark_where_asked(graph, steps, bounds, mode, walk):
    """Mark a window; of all trends nothing is marked, nor compiled."""
    if walk is not None:
        mark_window(graph, steps, bounds, mode, walk.marks, walk.longest)


@inlined_late
def find_limits(graph, bounds, walk, v):
    """Whether trends of the window begin with a vertex, and whether they end with it."""
    if walk is None:
        return graph.start_from[v] <= bounds.window, graph.end_until[v] >= bounds.window
    mark = walk.marks[v - bounds.base]
    return mark & BEGIN != 0, mark & FINISH != 0


@inner
def count_paths(graph, steps, entries, mode, walk, counts, numbers):
    """How many paths of the reduced graph (or of the whole one) each entry has; -1 where 64 bits cannot tell.

    walk     where something is marked; None: all paths are counted
    numbers  int64, per vertex of the segment: room for the paths that end there
    """
    most = np.int64(2) ** 62
    for entry in range(entries.segment.size):
        bounds = window_bounds(graph, entries.segment[entry], entries.window[entry])
        low, base = bounds.low, bounds.base
        mark_where_asked(graph, steps, bounds, mode, walk)
        total = np.int64(0)
        for v in range(low, bounds.high):
            heed_stop()
            begins, ends = find_limits(graph, bounds, walk, v)
            count = np.int64(1) if begins else np.int64(0)
            cursor = last_before(graph, v, low)
            while count >= 0:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                before = numbers[u - base]
                count = -1 if before < 0 or count > most - before else count + before
            numbers[v - base] = count
            if ends and total >= 0:
                total = -1 if count < 0 or total > most - count else total + count
        counts[entry] = total
