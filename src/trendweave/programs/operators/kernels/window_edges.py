"""Windows of time that hold a row, key by key, and where their rows begin and end."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer


@outer
def _find(
    times: np.ndarray,
    starts: np.ndarray,
    length: int,
    slide: int,
    least: int,
    most: int,
    number: np.ndarray,
    key: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> int:
    """Fills the arrays as far as they reach, and counts all windows."""
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
            if count < number.size:
                number[count], key[count], low[count], high[count] = window, own, first, behind
            count += 1
            window += 1
            while first < end and times[first] < begin + slide:
                first += 1
    return count


def find_time_windows(
    times: np.ndarray, starts: np.ndarray, length: int, slide: int, bounds: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, keys, first rows and ends of the windows `[i * slide, i * slide + length)` that hold a row.

    Args:
        times: Ascending inside each key; windows around them fit 64 bits.
        starts: Where the rows of each key begin, and the end of the last.
        length: In steps.
        slide: The same.
        bounds: The first and the last number of the windows that are asked for.
    """
    least, most = max(bounds[0], -(2**63)), min(bounds[1], 2**63 - 1)
    guess = times.size + times.size // 4 + 16
    while True:
        number, key, low, high = (np.empty(guess, np.int64) for _ in range(4))
        count = _find(read_only(times), read_only(starts), length, slide, least, most, number, key, low, high)
        if count <= guess:
            return number[:count], key[:count], low[:count], high[:count]
        guess = count
