"""How many paths of a graph are trends of a window."""

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.listing.graph import last_before, step_back, window_bounds
from trendweave.kernels.listing.marks import ALL, BEGIN, FINISH, mark_window
from trendweave.kernels.stopping import heed_stop


@inner
def count_paths(graph, steps, entries, mode, walk, counts, numbers):
    """How many paths of the reduced graph (or of the whole one) each entry has; -1 where 64 bits cannot tell.

    numbers  int64, per vertex of the segment: room for the paths that end there
    """
    most = np.int64(2) ** 62
    for entry in range(entries.segment.size):
        bounds = window_bounds(graph, entries.segment[entry], entries.window[entry])
        low, base = bounds.low, bounds.base
        if mode != ALL:
            mark_window(graph, steps, bounds, mode, walk.marks, walk.longest)
        total = np.int64(0)
        for v in range(low, bounds.high):
            heed_stop()
            begins = graph.start_from[v] <= bounds.window if mode == ALL else walk.marks[v - base] & BEGIN != 0
            ends = graph.end_until[v] >= bounds.window if mode == ALL else walk.marks[v - base] & FINISH != 0
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
