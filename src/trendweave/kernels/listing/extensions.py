"""How soon a path of a graph could go on to another end, and how late it could have begun before."""

import numpy as np

from trendweave.kernels.compiling import outer

#: Ticks after and before all others: there is no such end, or beginning.
NO_END, NO_BEGIN = np.iinfo(np.int64).max, np.iinfo(np.int64).min


@outer
def soonest_ends(edge_starts, edges, tick, ends):
    """Per vertex the earliest tick of a vertex behind it at which trends may end, or NO_END."""
    soonest = np.full(tick.size, NO_END, np.int64)
    for v in range(tick.size - 1, -1, -1):
        reached = min(soonest[v], tick[v]) if ends[v] else soonest[v]
        for i in range(edge_starts[v], edge_starts[v + 1]):
            soonest[edges[i]] = min(soonest[edges[i]], reached)
    return soonest


@outer
def latest_begins(edge_starts, edges, tick, begins):
    """Per vertex the latest tick of a vertex before it at which trends may begin, or NO_BEGIN."""
    latest = np.full(tick.size, NO_BEGIN, np.int64)
    for v in range(tick.size):
        for i in range(edge_starts[v], edge_starts[v + 1]):
            u = edges[i]
            latest[v] = max(latest[v], max(latest[u], tick[u]) if begins[u] else latest[u])
    return latest
