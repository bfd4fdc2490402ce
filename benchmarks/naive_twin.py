"""The two-step way that the papers compare with: first build all trends of a window, then aggregate them.

Compiled, so that the difference to the engine is the algorithm and not the language.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from benchmarks.plain_problem import Problem
from benchmarks.quadratic_scan import follows, windows_of


def two_step(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Segment, window, and numbers int64[3, windows]: trends, measured events in them, sum of their values."""
    segments, windows, row_begins, row_ends = windows_of(problem)
    numbers = np.zeros((3, windows.size), np.int64)
    arrays = (problem.time, problem.begins, problem.state, problem.codes, problem.steps, problem.value)
    _all_windows(windows, row_begins, row_ends, *arrays, problem.measured, numbers)
    return segments, windows, numbers


@njit(cache=True)
def _all_windows(windows, row_begins, row_ends, time, begins, state, codes, steps, value, measured, numbers):
    events, ends = np.empty(1024, np.int32), np.empty(1024, np.int64)
    for i in range(windows.size):
        events, ends, trends = _build(
            windows[i], row_begins[i], row_ends[i], time, begins, state, codes, steps, events, ends
        )
        numbers[:, i] = _aggregate(events, ends, trends, state, value, measured)


@njit(cache=True)
def _build(window, low, high, time, begins, state, codes, steps, events, ends):
    """All trends: their events one after the other, and where each trend ends."""
    final = steps.shape[0] - 1
    path = np.empty(high - low, np.int64)
    tried = np.empty(high - low, np.int64)
    used, trends = 0, 0
    for start in range(low, high):
        if state[start] != 0 or begins[start] > window:
            continue
        path[0] = start
        tried[0] = start
        length = 1
        arrived = True
        while length > 0:
            here = path[length - 1]
            if arrived and state[here] == final:
                if used + length > events.size:
                    events = np.append(events, np.empty(events.size + length, np.int32))
                if trends == ends.size:
                    ends = np.append(ends, np.empty(ends.size, np.int64))
                for i in range(length):
                    events[used + i] = path[i]
                used += length
                ends[trends] = used
                trends += 1
            arrived = False
            following = tried[length - 1] + 1
            while following < high and not follows(here, following, time, state, codes, steps):
                following += 1
            tried[length - 1] = following
            if following == high:
                length -= 1
            else:
                path[length] = following
                tried[length] = following
                length += 1
                arrived = True
    return events, ends, trends


@njit(cache=True)
def _aggregate(events, ends, trends, state, value, measured):
    found = np.zeros(3, np.int64)
    begin = 0
    for trend in range(trends):
        found[0] += 1
        for i in range(begin, ends[trend]):
            if state[events[i]] == measured:
                found[1] += 1
                found[2] += value[events[i]]
        begin = ends[trend]
    return found
