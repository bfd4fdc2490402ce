"""One order comparison, one equality, or both: sums over ranks in a Fenwick tree, O(log n) per event.

Nodes are vectors of lanes. An equality has one tree per value, side by side; with an equality alone each tree is a
single node. GRETA finds the predecessors in a tree but then visits each of them (Section 7)."""

from typing import NamedTuple

from trendweave.kernels.aggregates.vectors import SUM, combine, subtract
from trendweave.kernels.compiling import inner


class Tree(NamedTuple):
    """A tree of so many nodes, `width` numbers each, from `at` in an array of nodes."""

    at: int
    size: int
    width: int


@inner
def add_at_rank(nodes, tree, rank, vector, vector_at, span):
    """Insert a vector at its rank."""
    i = rank + 1
    if tree.width == 1 and span.kind == SUM:
        value = vector[vector_at]
        start = tree.at - 1
        while i <= tree.size:
            nodes[start + i] += value
            i += i & -i
        return
    while i <= tree.size:
        combine(nodes, tree.at + (i - 1) * tree.width, vector, vector_at, span)
        i += i & -i


@inner
def remove_at_rank(nodes, tree, rank, vector, vector_at, span):
    """Take a vector out again; integers only."""
    i = rank + 1
    while i <= tree.size:
        subtract(nodes, tree.at + (i - 1) * tree.width, vector, vector_at, span)
        i += i & -i


@inner
def add_prefix(vector, vector_at, nodes, at, width, bound, span):
    """vector += everything with a rank below `bound` in the tree at `at`."""
    i = bound
    if width == 1 and span.kind == SUM:
        start = at - 1
        total = vector[vector_at]
        while i > 0:
            total += nodes[start + i]
            i &= i - 1
        vector[vector_at] = total
        return
    while i > 0:
        combine(vector, vector_at, nodes, at + (i - 1) * width, span)
        i &= i - 1
