"""Windows over rows in order as searches, scans and reductions of whole arrays.

Written over an array namespace `xp`, so that the same code runs on this machine (NumPy) and on a card (CuPy). Arrays
are int64 unless something else is said. Rows are in order of keys and of time inside each key; a window has the rows
low[i] <= place < high[i].
"""

from __future__ import annotations

from typing import Any

_LOWER = 0xFFFFFFFF


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


def count_between(xp: Any, flags: Any, low: Any, high: Any) -> Any:
    """How many flags are set in each window; of numbers their sums, where those fit 64 bits."""
    total = xp.zeros(flags.size + 1, xp.int64)
    total[1:] = xp.cumsum(flags, dtype=xp.int64)
    return total[high] - total[low]


def sum_between(xp: Any, values: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Exact sums of any int64 values, fewer than 2**31 of them: the lower word, read without a sign, and the upper."""
    lower = count_between(xp, values & _LOWER, low, high)
    upper = count_between(xp, values >> 32, low, high)
    moved = upper << 32
    word = moved + lower  # leaves 64 bits, and what is lost is the carry
    sign = xp.int64(-(2**63))
    return word, (upper >> 32) + ((word ^ sign) < (moved ^ sign))


def split_floats(xp: Any, values: Any, unit: int, parts: int) -> list[Any]:
    """Finite floats as whole numbers of 2**unit, which they are: in parts of 32 bits, lowest first, each with the
    sign of the number; the last one has all that is above. No step rounds."""
    rest = values * 2.0**-unit
    found = []
    for part in range(parts - 1, 0, -1):
        size = 2.0 ** (32 * part)
        upper = xp.trunc(rest / size)
        rest = rest - upper * size
        found.append(upper.astype(xp.int64))
    return [rest.astype(xp.int64), *found[::-1]]


def extreme_between(xp: Any, values: Any, low: Any, high: Any, largest: bool) -> Any:
    """The smallest or the largest value of each window, none of which is empty: of two halves that may overlap, whose
    lengths are powers of two."""
    choose = xp.maximum if largest else xp.minimum
    results = xp.empty(low.size, values.dtype)
    lengths = high - low
    longest = int(lengths.max()) if low.size else 0
    shortest = int(lengths.min()) if low.size else 0
    half, found = 1, values
    while half <= longest:
        if 2 * half > shortest:
            chosen = (lengths >= half) & (lengths < 2 * half)
            if longest == shortest:
                return choose(found[low], found[high - half])
            results[chosen] = choose(found[low[chosen]], found[high[chosen] - half])
        found = choose(found[:-half], found[half:])
        half *= 2
    return results
