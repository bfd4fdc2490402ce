"""What of a graph of links lies on a way from a beginning to an end."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import inner, outer


@outer
def _mark_ways(edge_starts: np.ndarray, edges: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    count = begins.size
    reached = np.zeros(count, np.bool_)
    wanted = np.zeros(count, np.bool_)
    for v in range(count):
        reached[v] = begins[v]
        i = edge_starts[v]
        while not reached[v] and i < edge_starts[v + 1]:
            reached[v] = reached[edges[i]]
            i += 1
    for v in range(count - 1, -1, -1):
        if reached[v] and (ends[v] or wanted[v]):
            wanted[v] = True
            for i in range(edge_starts[v], edge_starts[v + 1]):
                wanted[edges[i]] = True
        else:
            wanted[v] = False
    return wanted


def mark_ways(edge_starts: np.ndarray, edges: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which vertices lie on a way from a beginning to an end.

    Args:
        edge_starts: int64[v+1], where the edges to each vertex begin.
        edges: int32, the vertices before a vertex, each of them smaller.
        begins: bool[v], where ways begin.
        ends: bool[v], where they end.

    Returns:
        bool[v].
    """
    return _mark_ways(read_only(edge_starts), read_only(edges), read_only(begins), read_only(ends))


@inner
def _deal(keys, values, place, dealt):
    for i in range(keys.size):
        dealt[place[keys[i]]] = values[i]
        place[keys[i]] += 1


def deal(keys: np.ndarray, values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Order values by their keys; those of one key stay in their order.

    Args:
        keys: int64, below `count`.
        values: int64.
        count: How many keys there are.

    Returns:
        Where those of each key begin, with the end of the last, and the values.
    """
    starts, dealt = np.zeros(count + 1, np.int64), np.empty(keys.size, np.int32)
    np.cumsum(np.bincount(keys, minlength=count), out=starts[1:])
    _deal(keys, values, starts[:-1].copy(), dealt)
    return starts, dealt
