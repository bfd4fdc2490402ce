"""Windows of time that hold a row, key by key, and where their rows begin and end."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.compiling import outer
from trendweave.kernels.growing import grow


@outer
def find_time_windows(
    times: np.ndarray, starts: np.ndarray, length: int, slide: int, least: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, keys, first rows and ends of the windows `[i * slide, i * slide + length)` that hold a row.

    Args:
        times: Ascending inside each key; windows around them fit 64 bits.
        starts: Where the rows of each key begin, and the end of the last.
        length: In steps.
        slide: The same.
        least: The first number of the windows that are asked for.
        most: The last one.
    """
    size = times.size + times.size // 4 + 16
    number, key = np.empty(size, np.int64), np.empty(size, np.int64)
    low, high = np.empty(size, np.int64), np.empty(size, np.int64)
    count = 0
    for own in range(starts.size - 1):
        first, end = starts[own], starts[own + 1]
        behind = first
        window = least
        while first < end:
            holding = (times[first] - length) // slide + 1
            if holding > window:
                window = holding
            if window > most:
                break
            begin = window * slide
            if times[first] < begin:
                first += 1
                continue
            if behind < first:
                behind = first
            while behind < end and times[behind] < begin + length:
                behind += 1
            if count == size:
                size *= 2
                number, key, low, high = grow(number, size), grow(key, size), grow(low, size), grow(high, size)
            number[count], key[count], low[count], high[count] = window, own, first, behind
            count += 1
            window += 1
            while first < end and times[first] < begin + slide:
                first += 1
    return number[:count], key[:count], low[:count], high[:count]
