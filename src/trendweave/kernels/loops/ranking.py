"""Ranks inside a block: where a row's vector is kept and which prefix of ranks a row may follow.

For `previous[p] < next[e]` all predecessors with a smaller rank qualify: a prefix of the ranks. `>` is the same with
reversed codes. An equality splits the ranks into one group per value, kept side by side. Ranks are dense inside of a
block, so an index over them is as small as the block.
"""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.loops.plan import Ranking
from trendweave.kernels.loops.run import run_kernel
from trendweave.kernels.stopping import heed_stop

INSERTION_SORT_BELOW = 40  # keys: a pass of the radix sort costs more than moving so few
FEW_KEYS = 400  # fewer are sorted by digits of 8 bits, more by digits of 11
DIGITS = 2**11
KEYS_PER_BUCKET = 4  # at most, on average, where keys are dealt once and moved to their places from there
MOVES_PER_KEY = 8  # at most: digit by digit is quicker where keys lie close together in a wide range
COUNTED_BELOW = 16  # rows: to count the smaller keys of each is quicker than to sort so few


@inner
def sort_by_key(keys, items, count, other_keys, other_items, buckets):
    """Sort the first `count` (key, item) pairs by key; those of equal keys stay in order."""
    if count < INSERTION_SORT_BELOW:
        insert_all(keys, items, keys, items, count, count * count)
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
    if count <= KEYS_PER_BUCKET << bits:  # by their highest bits, and to their places from there
        while (high - low) >> shift > mask:
            shift += 1
        sort_by_digit(keys, items, other_keys, other_items, count, low, shift, mask, buckets)
        if insert_all(other_keys, other_items, keys, items, count, MOVES_PER_KEY * count):
            return
        for i in range(count):
            keys[i] = other_keys[i]
            items[i] = other_items[i]
        shift = 0
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
def insert_all(keys, items, to_keys, to_items, count, most_moves):
    """Insertion sort into arrays that may be the same; returns whether that was done in so many moves."""
    moves = 0
    for i in range(count):
        key = keys[i]
        item = items[i]
        j = i
        while j > 0 and to_keys[j - 1] > key:
            to_keys[j] = to_keys[j - 1]
            to_items[j] = to_items[j - 1]
            j -= 1
        to_keys[j] = key
        to_items[j] = item
        moves += i - j
        if moves > most_moves:
            return False
    return True


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
    row_start, row_end, codes, asked, keys, items, other_keys, other_items, buckets, places, nodes,
):  # fmt: skip
    """Rank the rows of each block, as earlier rows and, with two sides, apart from that as later ones.

    Items are positions in the block, those of later rows behind all earlier ones. `asked` says, in this order, where
    the codes of an equality begin for earlier and for later rows, and those of an order (-1: there is none), how many
    sides there are, whether equal keys may follow each other, from what codes are taken away where the order descends
    (-1: it ascends), and how many places there are of each kind.
    """
    equal, later_equal, order, later_order, sides = asked[0], asked[1], asked[2], asked[3], asked[4]
    largest, positions = asked[6], asked[7]
    place = 0
    for b in range(len(row_start)):
        heed_stop()
        first = row_start[b]
        count = row_end[b] - first
        if count < COUNTED_BELOW and equal < 0 and sides == 1:
            nodes[b] = count_ranks(codes[order + first : order + row_end[b]], count, asked, places, place)
            place += count
            continue
        used = 0
        for side in range(sides):
            for i in range(count):
                places[place + i] = -1
                places[positions + place + i] = 0
                key = value = 0
                if order >= 0:
                    key = codes[(order if side == 0 else later_order) + first + i]
                if equal >= 0:
                    value = codes[(equal if side == 0 else later_equal) + first + i]
                if key >= 0 and value >= 0:
                    keys[used] = key if largest < 0 else largest - key
                    items[used] = i + side * count
                    used += 1
        if order >= 0:
            sort_by_key(keys, items, used, other_keys, other_items, buckets)
        if equal >= 0:
            for j in range(used):
                item = items[j]
                keys[j] = codes[equal + first + item if item < count else later_equal + first + item - count]
            sort_by_key(keys, items, used, other_keys, other_items, buckets)
        nodes[b] = number_ranks(first, count, place, used, codes, asked, items, places)
        place += count


@inner
def count_ranks(keys, count, asked, places, place):
    """Rank rows by how many keys come before each; returns how many nodes their ranks take."""
    inclusive, ascends, positions = asked[5], asked[6] < 0, asked[7]
    nodes = 0
    for i in range(count):
        key = keys[i]
        smaller = larger = 0
        for j in range(count):
            smaller += (keys[j] >= 0) & (keys[j] < key)
            larger += keys[j] > key
        before, behind = (smaller, larger) if ascends else (larger, smaller)
        rank = -1
        bound = 0
        if key >= 0:
            bound = before + inclusive
            if inclusive + behind > 0:  # else nothing follows
                rank = before
        places[place + i] = rank
        places[positions + place + i] = bound
        nodes = max(nodes, rank + 1, bound)
    return nodes


@inner
def number_ranks(first, count, place, used, codes, asked, items, places):
    """Number the different keys of each group of sorted items; returns how many there are in all."""
    equal, later_equal, order, later_order, sides, inclusive = (
        asked[0], asked[1], asked[2], asked[3], asked[4], asked[5],
    )  # fmt: skip
    positions = asked[7]
    here = 0
    node = -1
    group = 0
    last_key = last_value = 0
    for j in range(used + 1):
        key = value = 0
        if j < used:
            item = items[j]
            i = item if item < count else item - count
            if order >= 0:
                key = codes[(order if item < count else later_order) + first + i]
            if equal >= 0:
                value = codes[(equal if item < count else later_equal) + first + i]
        if j == used or j == 0 or value != last_value:
            if j > 0 and inclusive == 0 and sides == 1:  # nothing follows the largest keys of the group that ends
                k = j - 1
                while k >= group and places[place + items[k]] == node - here:
                    places[place + items[k]] = -1
                    k -= 1
                node -= 1
            if equal >= 0 and order >= 0:  # its size
                for k in range(group, j):
                    if items[k] < count:
                        places[4 * positions + place + items[k]] = node - here + 1
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
            places[place + i] = node - here
            if equal >= 0:
                places[2 * positions + place + i] = here
        if sides == 1 or item >= count:
            places[positions + place + i] = node - here + inclusive
            if equal >= 0:
                places[3 * positions + place + i] = here
    return node + 1


def rank_rows(
    number: int, ranking: Ranking, codes: np.ndarray, row_start: np.ndarray, row_end: np.ndarray, interpreted: bool
) -> dict[str, np.ndarray]:
    """What a loop reads of a ranking, under the names that it has there.

    A row is inserted at `rank` of the tree that begins with node `base` and has `size` nodes, and reads the first
    `bound` ranks of the tree at node `from`. A rank of -1 says that nothing may follow a row, a bound of 0 that it may
    follow nothing, as where a NULL takes part. Without an equality there is one tree, of `nodes` nodes per block;
    without an order each tree is one node.
    """
    counts = row_end - row_start
    positions, longest = int(counts.sum()), int(counts.max(initial=0))
    pairs = [pair for pair in (ranking.equal, ranking.order) if pair is not None]
    sides = 1 if all(earlier == later for earlier, later in pairs) else 2
    begins = [-1 if pair is None else column * codes.shape[1]
              for pair in (ranking.equal, ranking.order) for column in pair or (0, 0)]  # fmt: skip
    largest = -1
    if ranking.order is not None and ranking.descending:  # NULLs stay below 0
        largest = max(0, *(int(codes[column].max(initial=0)) for column in set(ranking.order)))
    names = ["rank", "bound", "base", "from", "size"][: 5 if len(pairs) == 2 else 4 if ranking.equal else 2]
    places, nodes = np.zeros(len(names) * positions, np.int32), np.zeros(counts.size, np.int64)
    asked = np.array([*begins, sides, ranking.inclusive, largest, positions], np.int64)
    scratch = (np.empty(sides * longest, kind) for kind in (np.int64, np.int32, np.int64, np.int32))
    reads = row_start, row_end, codes.reshape(-1), asked, *scratch, np.empty(DIGITS + 1, np.int64)
    run_kernel(rank_blocks, reads, (places, nodes), interpreted)
    columns = dict(zip(names, places.reshape(len(names), positions), strict=True)) | {"nodes": nodes}
    return {f"{name}_{number}": column for name, column in columns.items()}
