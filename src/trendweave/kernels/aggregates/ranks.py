"""Ranks inside a block: where a row's vector is kept and which prefix of ranks a row may follow.

For `previous[p] < next[e]` all predecessors with a smaller rank qualify: a prefix of the ranks. `>` is the same with
reversed codes. An equality splits the ranks into one group per value, kept side by side. Ranks are dense inside the
block, so an index over them is as small as the block.
"""

import numpy as np

from trendweave.kernels.compiling import inner

INSERTION_SORT_BELOW = 40


@inner
def sort_by_key(keys, items, count, other_keys, other_items, buckets):
    """Stable sort of the first `count` (key, item) pairs by key: least-significant-digit radix sort on the key
    range."""
    if count < 2:
        return
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
    bits = 8 if count < 2048 else 11
    low = np.uint64(smallest)
    mask = np.uint64((1 << bits) - 1)
    shift = np.uint64(0)
    swapped = False
    while shift < np.uint64(64) and (spread >> shift) > np.uint64(0):
        for i in range((1 << bits) + 1):
            buckets[i] = 0
        if swapped:
            one_digit(other_keys, other_items, keys, items, count, low, shift, mask, buckets)
        else:
            one_digit(keys, items, other_keys, other_items, count, low, shift, mask, buckets)
        swapped = not swapped
        shift += np.uint64(bits)
    if swapped:
        for i in range(count):
            keys[i] = other_keys[i]
            items[i] = other_items[i]


@inner
def one_digit(keys, items, to_keys, to_items, count, low, shift, mask, buckets):
    """One stable pass of the radix sort."""
    for i in range(count):
        buckets[np.int64(((np.uint64(keys[i]) - low) >> shift) & mask) + 1] += 1
    total = 0
    for i in range(np.int64(mask) + 2):
        total += buckets[i]
        buckets[i] = total
    for i in range(count):
        digit = np.int64(((np.uint64(keys[i]) - low) >> shift) & mask)
        at = buckets[digit]
        buckets[digit] = at + 1
        to_keys[at] = keys[i]
        to_items[at] = items[i]


@inner
def rank_block(rankings, r, codes, row_start, row_end, places, sorting, items, buckets):
    """Fill places[r, 0..4, row - row_start]: base, rank, size for inserting a row; base and bound for querying;
    returns the number of ranks used.

    rankings[r]: (equality previous, equality next, order previous, order next, descending, inclusive); columns or -1.
    A rank of -1, or a bound of 0, says that a NULL takes part: nothing is inserted or found.
    """
    equal_previous, equal_next = rankings[r, 0], rankings[r, 1]
    order_previous, order_next = rankings[r, 2], rankings[r, 3]
    descending, inclusive = rankings[r, 4] != 0, rankings[r, 5] != 0
    place = places[r]
    count = row_end - row_start
    same = equal_previous == equal_next and order_previous == order_next
    keys = sorting[0]
    used = 0
    for side in range(1 if same else 2):
        equal = equal_previous if side == 0 else equal_next
        order = order_previous if side == 0 else order_next
        for i in range(count):
            row = row_start + i
            place[1, i] = -1
            place[4, i] = 0
            if equal >= 0 and codes[equal, row] < 0:
                continue
            key = np.int64(0)
            if order >= 0:
                key = codes[order, row]
                if key < 0:
                    continue
                if descending:
                    key = -key
            keys[used] = key
            items[0, used] = i + side * count
            used += 1
    if order_previous >= 0:
        sort_by_key(keys, items[0], used, sorting[1], items[1], buckets)
    if equal_previous >= 0:
        group = sorting[2]
        for j in range(used):
            item = items[0, j]
            column = equal_previous if item < count else equal_next
            group[j] = codes[column, row_start + (item if item < count else item - count)]
        sort_by_key(group, items[0], used, sorting[1], items[1], buckets)
    base = 0
    rank = -1
    group_from = 0
    last_key = np.int64(0)
    last_group = np.int64(-1)
    for j in range(used):
        item = items[0, j]
        i = item if item < count else item - count
        row = row_start + i
        value = np.int64(-2)
        if equal_previous >= 0:
            value = codes[equal_previous if item < count else equal_next, row]
        key = np.int64(0)
        if order_previous >= 0:
            key = codes[order_previous if item < count else order_next, row]
        if j == 0 or value != last_group:
            close_group(place, items[0], group_from, j, count, rank + 1)
            base += rank + 1
            group_from = j
            rank = 0
        elif key != last_key:
            rank += 1
        last_group = value
        last_key = key
        if item < count:
            place[0, i] = base
            place[1, i] = rank
        if same or item >= count:
            place[3, i] = base
            place[4, i] = rank + 1 if inclusive or order_previous < 0 else rank
    close_group(place, items[0], group_from, used, count, rank + 1)
    return base + rank + 1


@inner
def close_group(place, items, begin, end, count, size):
    """Note the size of a finished group with the rows that insert into it."""
    for j in range(begin, end):
        if items[j] < count:
            place[2, items[j]] = size
