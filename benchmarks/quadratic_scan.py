"""GRETA's plain algorithm, Section 4.2: every event looks at all earlier ones of its window. O(n ** 2).

It tells what the engine should answer: numbers of any size modulo a prime, or as floats.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from benchmarks.plain_problem import FALLING, NO, Problem

PRIME = 2**31 - 1


def scanned(problem: Problem, dtype: type, every: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Segment, window, and numbers [3, windows]: trends, measured events in them, sum of their values.

    int64 is modulo PRIME. Only windows whose number `every` divides.
    """
    windows = windows_of(problem, every)
    numbers = np.zeros((3, windows[0].size), dtype)
    modulus = PRIME if dtype is np.int64 else 0
    _scan(*windows, *problem[2:], modulus, numbers)
    return windows[0], windows[1], numbers


def windows_of(problem: Problem, every: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Segment, window, first row and the one after the last, of all windows that hold rows."""
    nothing = np.empty((4, 0), np.int64)
    found = np.empty((4, _windows(problem.starts, problem.first, problem.last, every, nothing)), np.int64)
    _windows(problem.starts, problem.first, problem.last, every, found)
    return tuple(found)


@njit(cache=True)
def _windows(starts, first, last, every, found):
    """Write the windows of all segments; with no room, only count them."""
    count = 0
    for segment in range(starts.size - 1):
        begin = starts[segment]
        end = begin
        stop = starts[segment + 1]
        for window in range(-(-first[begin] // every) * every, last[stop - 1] + 1, every):
            while begin < stop and last[begin] < window:
                begin += 1
            while end < stop and first[end] <= window:
                end += 1
            if begin < end:
                if found.shape[1] > 0:
                    found[0, count] = segment
                    found[1, count] = window
                    found[2, count] = begin
                    found[3, count] = end
                count += 1
    return count


@njit(cache=True)
def follows(before, after, time, state, codes, steps):
    """Whether one event can come right after another in a trend."""
    step = steps[state[before], state[after]]
    if step == NO or time[before] >= time[after]:
        return False
    if step == FALLING:
        for code in range(codes.shape[0]):
            if codes[code, before] <= codes[code, after]:
                return False
    return True


@njit(cache=True)
def _scan(
    segments, windows, row_begins, row_ends, time, first, last, begins, state, codes, steps, value, measured, modulus,
    numbers,
):  # fmt: skip
    longest = 0
    for i in range(windows.size):
        longest = max(longest, row_ends[i] - row_begins[i])
    own = np.zeros((longest, 3), numbers.dtype)
    final = steps.shape[0] - 1
    for i in range(windows.size):
        low = row_begins[i]
        for row in range(low, row_ends[i]):
            mine = own[row - low]
            mine[:] = 0
            if state[row] == 0 and begins[row] <= windows[i]:
                mine[0] = 1
            for before in range(low, row):
                if follows(before, row, time, state, codes, steps):
                    theirs = own[before - low]
                    mine[0] += theirs[0]
                    mine[1] += theirs[1]
                    mine[2] += theirs[2]
            if modulus > 0:
                mine[0] %= modulus
            if state[row] == measured:
                mine[1] += mine[0]
                mine[2] += mine[0] * value[row]
            if modulus > 0:
                mine[1] %= modulus
                mine[2] %= modulus
            if state[row] == final:
                for number in range(3):
                    numbers[number, i] += mine[number]
                    if modulus > 0:
                        numbers[number, i] %= modulus
