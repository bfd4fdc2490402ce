"""The reduced graph, whose paths are the complete trends."""

import numpy as np

from trendweave.kernels.compiling import outer
from trendweave.kernels.stopping import is_to_stop


def reduce_edges(edge_starts: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """See `_reduce_edges`."""
    starts, used, kept = _reduce_edges(edge_starts, edges)
    return starts, kept[:used].copy()


@outer
def _reduce_edges(edge_starts, edges):
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
    return kept_starts, used, kept
