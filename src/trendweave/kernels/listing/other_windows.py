"""Complete trends where each has a window of its own: a longer one may stand in another window that holds it."""

import numpy as np

from trendweave.kernels.compiling import inlined_late, outer
from trendweave.kernels.listing.covers import is_complete, pass_end, pass_step
from trendweave.kernels.listing.graph import Bounds, window_bounds
from trendweave.kernels.listing.marks import CHECKED, mark_window
from trendweave.kernels.stopping import is_to_stop


@inlined_late
def is_covered(graph, covers, window, vertices, low, high, marks):
    """Whether a longer trend of a window passes all events of a path, whose vertices are low:high."""
    pass_end(graph, covers, window, vertices[high - 1], marks)
    for i in range(high - 2, low - 1, -1):
        pass_step(graph, covers, vertices[i], vertices[i + 1], high - 1 - i)
    return not is_complete(graph, covers, window, vertices[low], high - low, marks)


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
            bounds = window_bounds(graph, covers.together[i], window)
            everywhere = Bounds(window, bounds.low, bounds.high, np.int64(0))
            mark_window(graph, steps, everywhere, CHECKED, walk.marks, walk.longest)
        kept = 0
        for i in range(count):
            trend = active[i]
            if own[trend] != window:
                covered[trend] = is_covered(
                    graph, covers, window, vertices, starts[trend], starts[trend + 1], walk.marks
                )
            if not covered[trend] and last[trend] > window:
                active[kept] = trend
                kept += 1
        count = kept
        window += 1
    return covered
