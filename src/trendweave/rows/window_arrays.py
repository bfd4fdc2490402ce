"""Windows over rows in order as searches and scans of whole arrays.

Written over an array namespace `xp`, so that the same code runs on this machine (NumPy) and on a card (CuPy). Arrays
are int64 unless something else is said. Rows are in order of keys and of time inside each key; a window has the rows
low[i] <= place < high[i].
"""

from __future__ import annotations

from typing import Any

#: Numbers that hold a time and a key are below this.
_MOST = 2**62


class KeyedTimes:
    """The times of a side by place, made ready for searches: keys are moved apart, one behind the other.

    Args:
        xp: The namespace of the arrays.
        times: The times by place, in order within each key.
        starts: The first place of each key, and the end of the last.
    """

    def __init__(self, xp: Any, times: Any, starts: Any) -> None:
        self._xp, self._times, self._starts = xp, times, starts
        self._one_key = len(starts) <= 2
        self._least, self._most = (int(times.min()), int(times.max())) if len(times) else (0, 0)
        self._apart = self._most - self._least + 2
        self._numbers = times
        if not self._one_key and self._apart * len(starts) < _MOST:
            keys = xp.searchsorted(starts, xp.arange(len(times)), side="right") - 1
            self._numbers = times - self._least + keys * self._apart

    def find(self, keys: Any, moments: Any, after: bool) -> Any:
        """The first place of a key at which the time is not before a moment, or is after it; its end if there is none.

        Args:
            keys: The numbers of keys.
            moments: Times.
            after: After the moment, or not before it?
        """
        xp, side = self._xp, "right" if after else "left"
        if self._one_key:
            return xp.searchsorted(self._times, moments, side=side)
        if self._numbers is self._times:
            return self._find_by_halving(keys, moments, after)
        inside = xp.minimum(xp.maximum(moments, self._least), self._most) - self._least
        found = xp.searchsorted(self._numbers, inside + keys * self._apart, side=side)
        # Moments before all times and after all times stay with their key.
        found = xp.where(moments < self._least, self._starts[keys], found)
        return xp.where(moments > self._most, self._starts[keys + 1], found)

    def _find_by_halving(self, keys: Any, moments: Any, after: bool) -> Any:
        """For times so far from each other that no number holds them and a key."""
        xp = self._xp
        low, high = self._starts[keys], self._starts[keys + 1]
        for _ in range(len(self._times).bit_length()):
            middle = (low + high) >> 1
            time = self._times[xp.minimum(middle, len(self._times) - 1)]
            goes_on = (low < high) & ((time <= moments) if after else (time < moments))
            stops = (low < high) & ~goes_on
            low = xp.where(goes_on, middle + 1, low)
            high = xp.where(stops, middle, high)
        return low


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
    return number, key, low, KeyedTimes(xp, times, starts).find(key, number * slide + length, after=False)
