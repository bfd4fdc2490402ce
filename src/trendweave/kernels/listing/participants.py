"""Which vertices lie on a trend of a window: those that a beginning leads to and that lead to an end."""

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.listing.graph import window_bounds
from trendweave.kernels.listing.marks import ALIVE, CHECKED, END_BEHIND, FINISH, mark_window


@inner
def find_participants(graph, steps, segment, window, asked, marks, longest, counts, vertices):
    """Count the vertices that are asked for and lie on trends, per window of a segment, or list them.

    asked     bool, per vertex
    marks     uint8, per vertex of the largest segment: room
    longest   empty
    counts    int64, per window: how many there are; where they are listed, they are known
    vertices  int64: the vertices of one window after the other; empty where they are counted
    """
    at = np.int64(0)
    for entry in range(segment.size):
        bounds = window_bounds(graph, segment[entry], window[entry])
        # Of checked trends all beginnings and ends are marked, and what leads to an end.
        mark_window(graph, steps, bounds, CHECKED, marks, longest)
        count = np.int64(0)
        for v in range(bounds.low, bounds.high):
            mark = marks[v - bounds.base]
            if asked[v] and mark & ALIVE and mark & (FINISH | END_BEHIND):
                if vertices.size:
                    vertices[at] = v
                    at += 1
                count += 1
        counts[entry] = count
