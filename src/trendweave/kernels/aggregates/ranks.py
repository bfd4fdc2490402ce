"""Ranks inside a block: where a row's vector is kept and which prefix of ranks a row may follow.

For `previous[p] < next[e]` all predecessors with a smaller rank qualify: a prefix of the ranks. `>` is the same with
reversed codes. An equality splits the ranks into one group per value, kept side by side. Ranks are dense inside the
block, so an index over them is as small as the block.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined, inner

INSERTION_SORT_BELOW = 40  # keys: a pass of the radix sort costs more than moving so few
FEW_KEYS = 400  # fewer are dealt into 256 buckets, more into 2048
KEYS_PER_BUCKET = 4  # at most, on average, where keys are dealt once and moved to their places from there
MOVES_PER_KEY = 8  # at most: digit by digit is quicker where keys lie close together in a wide range


class Places(NamedTuple):
    """Where rows of a block stand, int32[rankings, rows of the block].

    A row is inserted at (base, rank) of a tree of `size`, and reads the first `bound` ranks of the tree at `from_base`.
    A rank of -1, or a bound of 0, says that a NULL takes part: nothing is inserted or found.
    """

    base: np.ndarray
    rank: np.ndarray
    size: np.ndarray
    from_base: np.ndarray
    bound: np.ndarray


class Sorting(NamedTuple):
    """Scratch memory for sorting the rows of a block twice over: as earlier rows and as later ones."""

    keys: np.ndarray  # int64
    groups: np.ndarray  # int64
    other_keys: np.ndarray  # int64
    items: np.ndarray  # int32: rows of the block, later ones behind all earlier ones
    other_items: np.ndarray  # int32
    buckets: np.ndarray  # int64


@inner
def sort_by_key(keys, items, count, other_keys, other_items, buckets):
    """Stable sort of the first `count` (key, item) pairs by key."""
    if count < 2:
        return
    if count < INSERTION_SORT_BELOW:
        insert_all(keys, items, keys, items, count, count * count)
        return
    smallest = keys[0]
    largest = keys[0]
    ordered = True
    for i in range(1, count):
        ordered &= keys[i] >= keys[i - 1]
        smallest = min(smallest, keys[i])
        largest = max(largest, keys[i])
    if ordered:
        return
    spread = np.uint64(largest - smallest)
    low = np.uint64(smallest)
    bits = 8 if count < FEW_KEYS else 11
    if count <= KEYS_PER_BUCKET << bits:
        highest = np.uint64(0)
        while (spread >> highest) >> np.uint64(bits) > np.uint64(0):
            highest += np.uint64(1)
        one_digit(keys, items, other_keys, other_items, count, low, highest, bits, buckets)
        if insert_all(other_keys, other_items, keys, items, count, MOVES_PER_KEY * count):
            return
        copy_pairs(other_keys, other_items, keys, items, count)
    sort_by_digits(keys, items, count, other_keys, other_items, low, spread, bits, buckets)


@inner
def insert_all(keys, items, to_keys, to_items, count, most_moves):
    """Insertion sort into arrays that may be the same: quick where keys are near their places. Returns whether that was
    done in so many moves."""
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
def copy_pairs(keys, items, to_keys, to_items, count):
    """Copy the first `count` (key, item) pairs."""
    for i in range(count):
        to_keys[i] = keys[i]
        to_items[i] = items[i]


@inner
def sort_by_digits(keys, items, count, other_keys, other_items, low, spread, bits, buckets):
    """Least-significant-digit radix sort of keys from `low` to `low + spread`."""
    shift = np.uint64(0)
    swapped = False
    while shift < np.uint64(64) and (spread >> shift) > np.uint64(0):
        if swapped:
            one_digit(other_keys, other_items, keys, items, count, low, shift, bits, buckets)
        else:
            one_digit(keys, items, other_keys, other_items, count, low, shift, bits, buckets)
        swapped = not swapped
        shift += np.uint64(bits)
    if swapped:
        copy_pairs(other_keys, other_items, keys, items, count)


@inner
def one_digit(keys, items, to_keys, to_items, count, low, shift, bits, buckets):
    """One stable pass of a radix sort, by the given bits of keys above `low`."""
    mask = np.uint64((1 << bits) - 1)
    for i in range((1 << bits) + 1):
        buckets[i] = 0
    for i in range(count):
        buckets[np.int64(((np.uint64(keys[i]) - low) >> shift) & mask) + 1] += 1
    total = 0
    for i in range((1 << bits) + 1):
        total += buckets[i]
        buckets[i] = total
    for i in range(count):
        digit = np.int64(((np.uint64(keys[i]) - low) >> shift) & mask)
        at = buckets[digit]
        buckets[digit] = at + 1
        to_keys[at] = keys[i]
        to_items[at] = items[i]


@inner
def rank_block(rankings, r, codes, row_start, row_end, places, sorting):
    """Fill the places of ranking r for the rows [row_start, row_end); returns the number of ranks used."""
    count = row_end - row_start
    used = collect_keys(rankings, r, codes, row_start, count, places, sorting)
    if rankings.order_previous[r] >= 0:
        sort_by_key(sorting.keys, sorting.items, used, sorting.other_keys, sorting.other_items, sorting.buckets)
    if rankings.equal_previous[r] >= 0:
        for j in range(used):
            item = sorting.items[j]
            sorting.groups[j] = code_of(
                codes, rankings.equal_previous[r], rankings.equal_next[r], item, row_start, count
            )
        sort_by_key(sorting.groups, sorting.items, used, sorting.other_keys, sorting.other_items, sorting.buckets)
    return number_ranks(rankings, r, codes, row_start, count, used, places, sorting.items)


@inner
def rank_by_order(rankings, codes, row_start, row_end, places, sorting):
    """The same for ranking 0 without an equality, where all rows are in one tree: only rank and bound are noted."""
    count = row_end - row_start
    used = collect_keys(rankings, 0, codes, row_start, count, places, sorting)
    sort_by_key(sorting.keys, sorting.items, used, sorting.other_keys, sorting.other_items, sorting.buckets)
    same, inclusive = is_same(rankings, 0), rankings.inclusive[0] != 0
    rank = -1
    for j in range(used):
        if j == 0 or sorting.keys[j] != sorting.keys[j - 1]:
            rank += 1
        item = sorting.items[j]
        if item < count:
            places.rank[0, item] = rank
        if same or item >= count:
            places.bound[0, item if item < count else item - count] = rank + 1 if inclusive else rank
    return rank + 1


@inlined
def is_same(rankings, r):
    """Whether rows are compared by the same columns as earlier and as later ones: then they are ranked once."""
    same_values = rankings.equal_previous[r] == rankings.equal_next[r]
    return same_values and rankings.order_previous[r] == rankings.order_next[r]


@inlined
def code_of(codes, previous, following, item, row_start, count):
    """The code of an item, which is an earlier row or, behind them, a later one."""
    if item < count:
        return codes[previous, row_start + item]
    return codes[following, row_start + item - count]


@inlined
def collect_keys(rankings, r, codes, row_start, count, places, sorting):
    """Keys and items of all rows without NULL; returns how many there are."""
    descending = rankings.descending[r] != 0
    used = 0
    for side in range(1 if is_same(rankings, r) else 2):
        equal = rankings.equal_previous[r] if side == 0 else rankings.equal_next[r]
        order = rankings.order_previous[r] if side == 0 else rankings.order_next[r]
        for i in range(count):
            row = row_start + i
            places.rank[r, i] = -1
            places.bound[r, i] = 0
            if equal >= 0 and codes[equal, row] < 0:
                continue
            key = np.int64(0)
            if order >= 0:
                key = codes[order, row]
                if key < 0:
                    continue
                if descending:
                    key = -key
            sorting.keys[used] = key
            sorting.items[used] = i + side * count
            used += 1
    return used


@inlined
def number_ranks(rankings, r, codes, row_start, count, used, places, items):
    """Go over the sorted items, number the different keys of each group, and note where rows are inserted and read."""
    equal_previous, equal_next = rankings.equal_previous[r], rankings.equal_next[r]
    order_previous, order_next = rankings.order_previous[r], rankings.order_next[r]
    inclusive = rankings.inclusive[r] != 0 or order_previous < 0
    same = is_same(rankings, r)
    base = 0
    rank = -1
    group_from = 0
    last_key = np.int64(0)
    last_group = np.int64(-1)
    for j in range(used):
        item = items[j]
        i = item if item < count else item - count
        value = np.int64(-2)
        if equal_previous >= 0:
            value = code_of(codes, equal_previous, equal_next, item, row_start, count)
        key = np.int64(0)
        if order_previous >= 0:
            key = code_of(codes, order_previous, order_next, item, row_start, count)
        if j == 0 or value != last_group:
            close_group(places.size, r, items, group_from, j, count, rank + 1)
            base += rank + 1
            group_from = j
            rank = 0
        elif key != last_key:
            rank += 1
        last_group = value
        last_key = key
        if item < count:
            places.base[r, i] = base
            places.rank[r, i] = rank
        if same or item >= count:
            places.from_base[r, i] = base
            places.bound[r, i] = rank + 1 if inclusive else rank
    close_group(places.size, r, items, group_from, used, count, rank + 1)
    return base + rank + 1


@inner
def close_group(sizes, r, items, begin, end, count, size):
    """Note the size of a finished group with the rows that insert into it."""
    for j in range(begin, end):
        if items[j] < count:
            sizes[r, items[j]] = size
