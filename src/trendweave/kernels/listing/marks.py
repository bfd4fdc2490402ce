"""Where trends of a window begin and end, and which vertices lie on a way from a beginning."""

import numpy as np

from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.listing.graph import NO_WINDOW, last_before, step_back
from trendweave.kernels.stopping import heed_stop, is_to_stop

#: Which paths are trends to show: all of them, those of the reduced graph, or those that pass a check at each step.
ALL, COMPLETE, CHECKED = 0, 1, 2
#: Bits of a vertex: a trend begins or ends there, a way from a beginning leads there, from one before it, to an end
#: behind it.
BEGIN, FINISH, ALIVE, BEGIN_BEFORE, END_BEHIND = 1, 2, 4, 8, 16


@outer
def latest_windows(edge_starts, edges, start_from, window_last):
    """Per vertex the last window of the latest beginning that leads to it, itself included; -NO_WINDOW where none does.

    Edges lead from smaller vertices to larger ones; nothing begins where `start_from` is beyond `window_last`."""
    begun = np.empty(start_from.size, np.int64)
    for v in range(begun.size):
        if is_to_stop():
            break
        latest = window_last[v] if start_from[v] <= window_last[v] else np.int64(-NO_WINDOW)
        for i in range(edge_starts[v], edge_starts[v + 1]):
            latest = max(latest, begun[edges[i]])
        begun[v] = latest
    return begun


@inner
def mark_window(graph, steps, bounds, mode, marks, longest):
    """Mark the vertices of a window, and the longest way to each of them unless `longest` is empty."""
    window, low, high, base = bounds.window, bounds.low, bounds.high, bounds.base
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
                if marks[u - base] & ALIVE:
                    mark |= BEGIN_BEFORE
                    if not longest.size:
                        break
                    most = max(most, longest[u - base] + 1)
        if starts and not (mode == COMPLETE and mark & BEGIN_BEFORE):
            mark |= BEGIN
        if mark & (BEGIN | BEGIN_BEFORE):
            mark |= ALIVE
            if longest.size:
                longest[v - base] = most
        if graph.end_until[v] >= window:
            mark |= FINISH
        marks[v - base] = mark
    if mode != ALL:
        mark_ends_behind(graph, steps, bounds, marks)
    if mode == COMPLETE:
        for v in range(low, high):
            if marks[v - base] & END_BEHIND:
                marks[v - base] &= np.uint8(255 - FINISH)


@inner
def mark_ends_behind(graph, steps, bounds, marks):
    """Mark the vertices behind which trends end, from late to early."""
    low, base = bounds.low, bounds.base
    for v in range(bounds.high - 1, low - 1, -1):
        heed_stop()
        if not marks[v - base] & (FINISH | END_BEHIND):
            continue
        cursor = last_before(graph, v, low)
        while True:
            cursor, u = step_back(graph, steps, v, cursor, low)
            if u < 0:
                break
            marks[u - base] |= END_BEHIND
