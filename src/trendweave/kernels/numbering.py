"""Numbering values and times in the order in which rows have them."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer


@outer
def _numbered(numbers: np.ndarray, known: np.ndarray, least: int, given: np.ndarray, codes: np.ndarray) -> None:
    """`given` has a place for each number from `least` and one for NULL: its code and one more, 0 where it has none."""
    count = 0
    for row in range(numbers.size):
        place = given.size - 1 if known.size > 0 and not known[row] else numbers[row] - least
        if given[place] == 0:
            count += 1
            given[place] = count
        codes[row] = given[place] - 1


@outer
def _present(numbers: np.ndarray, given: np.ndarray, codes: np.ndarray, values: np.ndarray) -> int:
    count = 0
    for row in range(numbers.size):
        given[numbers[row]] = 1
    for number in range(given.size):
        if given[number] > 0:
            values[count] = number
            given[number] = count
            count += 1
    for row in range(numbers.size):
        codes[row] = given[numbers[row]]
    return count


@outer
def _ticks(times: np.ndarray, starts: np.ndarray, tick: np.ndarray, steps: np.ndarray) -> int:
    count = 0
    for segment in range(starts.size - 1):
        for row in range(starts[segment], starts[segment + 1]):
            if row == starts[segment] or times[row] != times[row - 1]:
                steps[count] = times[row]
                count += 1
            tick[row] = count - 1
    return count


def number_near(numbers: np.ndarray, known: np.ndarray | None, least: int, most: int) -> np.ndarray:
    """Number int64 numbers of `least` .. `most` by their first rows, from 0 without gaps; NULL is a value of its own.
    Takes four bytes for each number between the two."""
    given, codes = np.zeros(most - least + 2, np.int32), np.empty(numbers.size, np.int64)
    everywhere = np.empty(0, np.bool_)
    _numbered(read_only(numbers), read_only(everywhere if known is None else known), least, given, codes)
    return codes


def number_present(numbers: np.ndarray, highest: int) -> tuple[np.ndarray, np.ndarray]:
    """Number int64 numbers of 0 .. highest - 1 by their order: the place of each among those that occur, and those.
    Takes four bytes for each number below the highest."""
    given, codes = np.zeros(highest, np.int32), np.empty(numbers.size, np.int64)
    values = np.empty(min(highest, numbers.size), np.int64)
    return codes, values[: _present(read_only(numbers), given, codes, values)]


def number_ticks(times: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the different times of each segment, all segments one after the other; and the time of each number."""
    tick, steps = np.empty((2, times.size), np.int64)
    return tick, steps[: _ticks(read_only(times), read_only(starts), tick, steps)]
