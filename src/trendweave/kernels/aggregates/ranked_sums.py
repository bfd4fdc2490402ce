"""One order comparison, one equality, or both: sums over ranks in a Fenwick tree, O(log n) per event.

Nodes are vectors of lanes. An equality has one tree per value, side by side; with an equality alone each tree is a
single node. GRETA finds the predecessors in a tree but then visits each of them (Section 7)."""

from trendweave.kernels.aggregates.vectors import SUM, combine, subtract
from trendweave.kernels.compiling import inner


@inner
def add_at_rank(nodes, at, base, rank, size, vector, vector_at, low, high, lanes, components, width, kind):
    """Insert a vector at its rank."""
    if width == 1 and kind == SUM:
        value = vector[vector_at]
        i = rank + 1
        start = at + base - 1
        while i <= size:
            nodes[start + i] += value
            i += i & -i
        return
    i = rank + 1
    while i <= size:
        combine(nodes, at + (base + i - 1) * width, vector, vector_at, low, high, lanes, components, kind)
        i += i & -i


@inner
def remove_at_rank(nodes, at, base, rank, size, vector, vector_at, low, high, lanes, components, width):
    """Take a vector out again; integers only."""
    i = rank + 1
    while i <= size:
        subtract(nodes, at + (base + i - 1) * width, vector, vector_at, low, high, lanes, components)
        i += i & -i


@inner
def add_prefix(vector, vector_at, nodes, at, base, bound, low, high, lanes, components, width, kind):
    """vector += everything with a rank below `bound`."""
    if width == 1 and kind == SUM:
        start = at + base - 1
        i = bound
        total = vector[vector_at]
        while i > 0:
            total += nodes[start + i]
            i &= i - 1
        vector[vector_at] = total
        return
    i = bound
    while i > 0:
        combine(vector, vector_at, nodes, at + (base + i - 1) * width, low, high, lanes, components, kind)
        i &= i - 1
