"""What the twins read: one segment after the other, one pattern, conditions that codes must fall.

Deliberately less than the engine reads: every row is of one state, there is one first and one last state, and a
condition is that each code of an event is larger than that code of the next one. It shares no code with the engine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NO, ALWAYS, FALLING = 0, 1, 2


class Problem(NamedTuple):
    """Rows sorted by (segment, time).

    starts  int64[k+1]   rows of segment i are starts[i]:starts[i+1]
    group   int64[k]     the group of each segment
    time    int64[n]
    first   int64[n]     first and last window that hold the row
    last    int64[n]
    begins  int64[n]     the first window in which a trend may begin with this row
    state   int64[n]     what the row is read as; trends begin in state 0 and end in the last one
    codes   int64[c, n]  all of them fall along a FALLING step
    steps   int64[s, s]  NO, ALWAYS or FALLING from one state to the next
    value   int64[n]     what is summed, over rows of state `measured`
    measured             -1 for nothing
    """

    starts: np.ndarray
    group: np.ndarray
    time: np.ndarray
    first: np.ndarray
    last: np.ndarray
    begins: np.ndarray
    state: np.ndarray
    codes: np.ndarray
    steps: np.ndarray
    value: np.ndarray
    measured: int


KLEENE = np.array([[ALWAYS]])
KLEENE_FALLING = np.array([[FALLING]])
SEQUENCE_OF_THREE = np.array([[NO, ALWAYS, NO], [NO, NO, ALWAYS], [NO, NO, NO]])
START_FALLING_END = np.array([[NO, ALWAYS, NO], [NO, FALLING, ALWAYS], [NO, NO, NO]])


def one_window(state: np.ndarray, steps: np.ndarray, *codes: np.ndarray) -> Problem:
    """One segment, one window, one event at a time."""
    n = state.size
    nothing = np.zeros(n, np.int64)
    falling = np.stack(codes) if codes else np.zeros((0, n), np.int64)
    return Problem(
        np.array([0, n]), np.zeros(1, np.int64), np.arange(n), nothing, nothing, nothing, state.astype(np.int64),
        falling, steps, nothing, -1,
    )  # fmt: skip


def stock_problem(table: pa.Table, length: int, slide: int, falling: bool = True) -> Problem:
    """Q1 of GRETA: [company, sector], S+, the price falls, per sector."""
    cents = np.rint(table["price"].to_numpy() * 100).astype(np.int64)
    zeros = np.zeros(cents.size, np.int64)
    keys = (table["company"].to_numpy(), table["sector"].to_numpy())
    return _sorted(
        keys, 1, _seconds(table), (length, slide), zeros, cents, KLEENE_FALLING if falling else KLEENE, zeros, -1
    )


def cluster_problem(table: pa.Table, length: int, slide: int) -> Problem:
    """Q2 of GRETA: [job, mapper], SEQ(Start, Measurement M+, End), the load rises, SUM(M.cpu) per mapper."""
    keys = (table["job"].to_numpy(), table["mapper"].to_numpy())
    codes, value = -table["load"].to_numpy(), table["cpu"].to_numpy()
    state = _states(table, ("Start", "Measurement", "End"))
    return _sorted(keys, 1, _seconds(table), (length, slide), state, codes, START_FALLING_END, value, 1)


def traffic_problem(table: pa.Table, length: int, slide: int) -> Problem:
    """Q3 of GRETA: [P.vehicle, segment], no accident before, P+, the speed falls, per segment."""
    is_position = pc.equal(table["type"], "Position")
    accidents = table.filter(pc.invert(is_position))
    table = table.filter(is_position)
    speed = table["speed"].to_numpy()
    keys = (table["vehicle"].to_numpy(), table["segment"].to_numpy())
    state = np.zeros(speed.size, np.int64)
    problem = _sorted(keys, 1, _seconds(table), (length, slide), state, speed, KLEENE_FALLING, speed, 0)
    # A window in which a trend begins holds no accident of its segment before it, so it begins after the last one.
    begins = problem.first.copy()
    accident_times, accident_segments = _seconds(accidents), accidents["segment"].to_numpy()
    segment = np.repeat(problem.group, np.diff(problem.starts))
    for place in np.unique(accident_segments):
        times = np.sort(accident_times[accident_segments == place])
        rows = np.flatnonzero(segment == place)
        before = np.searchsorted(times, problem.time[rows])
        some = before > 0
        begins[rows[some]] = times[before[some] - 1] // slide + 1
    return problem._replace(begins=begins)


def by_window_and_group(problem: Problem, segment: np.ndarray, window: np.ndarray, numbers: np.ndarray) -> dict:
    """numbers[:, i] of (segment, window) number i, added up per (window, group)."""
    totals: dict[tuple[int, int], np.ndarray] = {}
    groups = problem.group[segment]
    order = np.lexsort((groups, window))
    window, groups, numbers = window[order], groups[order], numbers[:, order]
    new = np.flatnonzero(np.append(True, (window[1:] != window[:-1]) | (groups[1:] != groups[:-1])))
    if window.size:
        added = np.add.reduceat(numbers, new, axis=1)
        totals = dict(zip(zip(window[new].tolist(), groups[new].tolist(), strict=True), added.T, strict=True))
    return totals


def _seconds(table: pa.Table) -> np.ndarray:
    return pc.cast(table["time"], pa.int64()).to_numpy() // 1_000_000


def _states(table: pa.Table, types: tuple[str, ...]) -> np.ndarray:
    return pc.index_in(table["type"], value_set=pa.array(types)).to_numpy().astype(np.int64)


def _sorted(keys, group, time, window, state, codes, steps, value, measured) -> Problem:
    """By (keys, time); `group` is the number of the key that names the group."""
    length, slide = window
    order = np.lexsort((time, *keys[::-1]))
    time, state, codes, value, *keys = (column[order] for column in (time, state, codes, value, *keys))
    new = np.ones(time.size, np.bool_)
    new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    starts = np.append(np.flatnonzero(new), time.size)
    first = (time - length) // slide + 1
    return Problem(
        starts, keys[group][starts[:-1]], time, first, time // slide, first, state, codes[None], steps, value, measured
    )
