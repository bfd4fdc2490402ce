"""Ranks inside a block: where a row's vector is kept and which prefix of ranks a row may follow.

For `previous[p] < next[e]` all predecessors with a smaller rank qualify: a prefix of the ranks. `>` is the same with
reversed codes. An equality splits the ranks into one group per value, kept side by side. Ranks are dense inside of a
block, so an index over them is as small as the block.
"""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import make_writable
from trendweave.kernels.compiling import inner
from trendweave.kernels.loops.plan import Ranking
from trendweave.kernels.loops.run import run_kernel
from trendweave.kernels.stopping import heed_stop

INSERTION_SORT_BELOW = 80  # keys: a pass of the radix sort costs more than moving so few
FEW_KEYS = 400  # fewer are sorted by digits of 8 bits, more by digits of 11
DIGITS = 2**11


@inner
def sort_by_key(keys, items, count, other_keys, other_items, buckets):
    """Sort the first `count` (key, item) pairs by key; those of equal keys stay in order."""
    if count < INSERTION_SORT_BELOW:
        for i in range(1, count):
            key = keys[i]
            item = items[i]
            j = i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                items[j] = items[j - 1]
                j -= 1
            keys[j] = key
            items[j] = item
        return
    low = high = keys[0]
    ordered = True
    for i in range(1, count):
        ordered &= keys[i] >= keys[i - 1]
        low = min(low, keys[i])
        high = max(high, keys[i])
    if ordered:
        return
    bits = 8 if count < FEW_KEYS else 11
    mask = (1 << bits) - 1
    shift = 0
    swapped = False
    while (high - low) >> shift > 0:
        if swapped:
            sort_by_digit(other_keys, other_items, keys, items, count, low, shift, mask, buckets)
        else:
            sort_by_digit(keys, items, other_keys, other_items, count, low, shift, mask, buckets)
        swapped = not swapped
        shift += bits
    if swapped:
        for i in range(count):
            keys[i] = other_keys[i]
            items[i] = other_items[i]


@inner
def sort_by_digit(keys, items, to_keys, to_items, count, low, shift, mask, buckets):
    """One stable pass of a radix sort, by some bits of keys above `low`."""
    for i in range(mask + 2):
        buckets[i] = 0
    for i in range(count):
        buckets[(((keys[i] - low) >> shift) & mask) + 1] += 1
    total = 0
    for i in range(mask + 2):
        total += buckets[i]
        buckets[i] = total
    for i in range(count):
        digit = ((keys[i] - low) >> shift) & mask
        at = buckets[digit]
        buckets[digit] = at + 1
        to_keys[at] = keys[i]
        to_items[at] = items[i]


@inner
def rank_blocks(
    row_start, row_end, places_from, equal, later_equal, order, later_order, sides, inclusive, keys, items, other_keys,
    other_items, buckets, values, rank, bound, base, reads_from, size, nodes,
):  # fmt: skip
    """Rank the rows of each block, as earlier rows and, with two sides, apart from that as later ones.

    Columns of which nothing is asked are empty. Items are positions in the block, those of later rows behind all
    earlier ones.
    """
    for b in range(len(row_start)):
        heed_stop()
        first = row_start[b]
        count = row_end[b] - first
        place = places_from[b]
        used = 0
        for side in range(sides):
            for i in range(count):
                rank[place + i] = -1
                bound[place + i] = 0
                key = 0
                if len(order) > 0:
                    key = order[first + i] if side == 0 else later_order[first + i]
                value = 0
                if len(equal) > 0:
                    value = equal[first + i] if side == 0 else later_equal[first + i]
                if key >= 0 and value >= 0:
                    keys[used] = key
                    items[used] = i + side * count
                    used += 1
        if len(order) > 0:
            sort_by_key(keys, items, used, other_keys, other_items, buckets)
        if len(equal) > 0:
            for j in range(used):
                item = items[j]
                values[j] = equal[first + item] if item < count else later_equal[first + item - count]
            sort_by_key(values, items, used, other_keys, other_items, buckets)
        nodes[b] = number_ranks(
            first, count, place, used, equal, later_equal, order, later_order, sides, inclusive, items, rank, bound,
            base, reads_from, size,
        )  # fmt: skip


@inner
def number_ranks(
    first, count, place, used, equal, later_equal, order, later_order, sides, inclusive, items, rank, bound, base,
    reads_from, size,
):  # fmt: skip
    """Number the different keys of each group of sorted items; returns how many there are in all."""
    here = 0
    node = -1
    group = 0
    last_key = last_value = 0
    for j in range(used + 1):
        key = value = 0
        if j < used:
            item = items[j]
            i = item if item < count else item - count
            if len(order) > 0:
                key = order[first + i] if item < count else later_order[first + i]
            if len(equal) > 0:
                value = equal[first + i] if item < count else later_equal[first + i]
        if j == used or j == 0 or value != last_value:
            if len(equal) > 0 and len(order) > 0:  # the size of the group that ends
                for k in range(group, j):
                    if items[k] < count:
                        size[place + items[k]] = node - here + 1
            if j == used:
                break
            here = node + 1
            node += 1
            group = j
        elif key != last_key:
            node += 1
        last_key = key
        last_value = value
        if item < count:
            rank[place + i] = node - here
            if len(equal) > 0:
                base[place + i] = here
        if sides == 1 or item >= count:
            bound[place + i] = node - here + inclusive
            if len(equal) > 0:
                reads_from[place + i] = here
    return node + 1


def rank_rows(
    number: int, ranking: Ranking, codes: np.ndarray, row_start: np.ndarray, row_end: np.ndarray, interpreted: bool
) -> dict[str, np.ndarray]:
    """What a loop reads of a ranking, under the names that it has there.

    A row is inserted at `rank` of the tree that begins with node `base` and has `size` nodes, and reads the first
    `bound` ranks of the tree at node `from`. A rank of -1, or a bound of 0, says that a NULL takes part. Without an
    equality there is one tree, of `nodes` nodes per block; without an order each tree is one node.
    """
    counts = row_end - row_start
    places_from = np.concatenate([[0], np.cumsum(counts)])
    positions, longest = int(places_from[-1]), int(counts.max(initial=0))
    pairs = [pair for pair in (ranking.equal, ranking.order) if pair is not None]
    sides = 1 if all(earlier == later for earlier, later in pairs) else 2
    none = np.zeros(0, np.int64)
    equal, later_equal = (none, none) if ranking.equal is None else (codes[column] for column in ranking.equal)
    order, later_order = (none, none) if ranking.order is None else (codes[column] for column in ranking.order)
    if ranking.descending:  # NULLs stay below 0
        largest = max(int(order.max(initial=0)), int(later_order.max(initial=0)))
        order, later_order = (np.where(column < 0, -1, largest - column) for column in (order, later_order))
    places = {
        "rank": np.empty(positions, np.int32), "bound": np.empty(positions, np.int32),
        "base": np.zeros(positions if ranking.equal else 0, np.int32),
        "from": np.zeros(positions if ranking.equal else 0, np.int32),
        "size": np.zeros(positions if ranking.equal and ranking.order else 0, np.int32),
        "nodes": np.zeros(counts.size, np.int64),
    }  # fmt: skip
    scratch = (np.empty(sides * longest, kind) for kind in (np.int64, np.int32, np.int64, np.int32))
    columns = (make_writable(np.ascontiguousarray(column)) for column in (equal, later_equal, order, later_order))
    run_kernel(
        rank_blocks,
        (row_start, row_end, places_from, *columns, sides, int(ranking.inclusive), *scratch,
         np.empty(DIGITS + 1, np.int64), np.empty(sides * longest if ranking.equal else 0, np.int64)),
        tuple(places.values()), interpreted,
    )  # fmt: skip
    return {f"{name}_{number}": column for name, column in places.items()}
