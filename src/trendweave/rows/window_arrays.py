"""Windows over rows in order as searches and scans of whole arrays.

Written over an array namespace `xp`, so that the same code runs on this machine (NumPy) and on a card (CuPy). Arrays
are int64 unless something else is said. Rows are in order of keys and of time inside each key; a window has the rows
low[i] <= place < high[i].
"""

from __future__ import annotations

from typing import Any


def repeat_each(xp: Any, counts: Any) -> tuple[Any, Any]:
    """Item 0 counts[0] times, item 1 counts[1] times and so on, and the number of each among its equals."""
    ends = xp.cumsum(counts)
    places = xp.arange(int(ends[-1]) if ends.size else 0)
    items = xp.searchsorted(ends, places, side="right")
    return items, places - (ends - counts)[items]


def count_window_edges(xp: Any, starts: Any, rows: int, slide: int, skipped: Any | None = None) -> tuple[Any, Any, Any]:
    """Keys, lows and highs of full windows of so many rows.

    Args:
        xp: The array namespace.
        starts: Where each key begins, and the end of the last.
        rows: How many rows a window has.
        slide: How many it moves by.
        skipped: How many rows of each key come before its first window.
    """
    first = starts[:-1] if skipped is None else starts[:-1] + skipped
    counts = xp.maximum((starts[1:] - first - rows) // slide + 1, 0)
    if counts.size == 1:
        count, begin = int(counts[0]), int(first[0])
        key, low = xp.broadcast_to(xp.zeros(1, xp.int64), (count,)), xp.arange(begin, begin + slide * count, slide)
    else:
        key, number = repeat_each(xp, counts)
        low = first[key] + slide * number
    return key, low, low + rows


def time_window_edges(
    xp: Any, times: Any, starts: Any, length: int, slide: int, bounds: tuple[int, int] | None = None
) -> tuple[Any, Any, Any, Any]:
    """Numbers, keys, lows and highs of the windows `[i * slide, i * slide + length)` that hold a row.

    A window is found by its first row: it begins after the row before, or that row is of another key.

    Args:
        xp: The array namespace.
        times: In steps; windows around them fit 64 bits.
        starts: Where each key begins, and the end of the last; no key is empty.
        length: In steps.
        slide: The same.
        bounds: The first and the last number of the windows that are asked for; None for all.
    """
    last = times // slide
    first = (times - length) // slide + 1
    begun = xp.concatenate((first[:1], last[:-1] + 1))
    begun[starts[:-1]] = first[starts[:-1]]
    first = xp.maximum(first, begun)
    if bounds is not None:
        first, last = xp.maximum(first, bounds[0]), xp.minimum(last, bounds[1])
    low, number = repeat_each(xp, xp.maximum(last - first + 1, 0))
    number += first[low]
    key = xp.searchsorted(starts, low, side="right") - 1
    return number, key, low, _places(xp, times, starts, key, number * slide + length)


def _places(xp: Any, times: Any, starts: Any, key: Any, moments: Any) -> Any:
    """The first row of a key whose time is not before a moment: keys are moved apart, one behind the other."""
    if not times.size:
        return xp.zeros(0, xp.int64)
    least, most = int(times.min()), int(times.max())
    apart = most - least + 2
    if apart * int(starts.size) < 2**62:
        rows = xp.repeat(xp.arange(1), times.size) if starts.size == 2 else _key_of_rows(xp, starts, times.size)
        wanted = xp.minimum(moments, most + 1) - least
        return xp.searchsorted(times - least + rows * apart, wanted + key * apart)
    # Times are too far apart for that: halve the rows of each key until one is left.
    low, high = starts[key], starts[key + 1]
    for _ in range(int(times.size).bit_length() + 1):
        middle = (low + high) // 2
        open_ = low < high
        before = open_ & (times[xp.minimum(middle, times.size - 1)] < moments)
        low, high = xp.where(before, middle + 1, low), xp.where(open_ & ~before, middle, high)
    return low


def _key_of_rows(xp: Any, starts: Any, count: int) -> Any:
    return xp.searchsorted(starts, xp.arange(count), side="right") - 1
