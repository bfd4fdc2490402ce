"""Each window by itself: rows are copied into the windows that hold them, and a window is part of the partition key.

What a NOT at the edge of a window says is then the same for all rows of a partition. It costs a copy per window, so it
is done only where nothing else tells (`Plan.window_apart`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.sorting import list_ranges
from trendweave.planning.plan import MovingWindow, Plan, SessionWindow, SlidingWindow
from trendweave.planning.preparation import Preparation
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import APART, CHUNK, TIME, EncodedRows, encode_rows, read_letters
from trendweave.rows.segments import MAX_COPIES, bit_of
from trendweave.rows.times import as_steps, time_type
from trendweave.rows.windows import (
    Chunks,
    MovingNumbers,
    SlidingNumbers,
    WindowNumbers,
    number_sessions,
    number_windows,
)


def copy_into_windows(
    plan: Plan, preparation: Preparation, table: pa.Table, only: tuple[int, int] | None, chunk: int | None
) -> pa.Table:
    """Copy prepared rows into their windows.

    Args:
        plan: A plan that looks at each window by itself.
        preparation: The names of prepared columns.
        table: Prepared rows.
        only: Keeps a range of windows, both ends included.
        chunk: The length of chunks of time, in steps of the time column.

    Returns:
        Rows with their window; the same table where there is one window only.

    Raises:
        ExecutionError: Too many rows would be copied.
    """
    if isinstance(plan.window, SessionWindow):
        rows = encode_rows(plan, preparation, table)
        starts = rows.tick[rows.partitions.starts[:-1]]
        sessions = number_sessions(plan.window, rows.time_type, rows.tick_steps, starts)
        return rows.table.append_column(APART, pa.array(sessions.of_tick[rows.tick]))
    if not isinstance(plan.window, SlidingWindow | MovingWindow):
        return table
    kind = time_type(table.schema.field(TIME).type)
    chunks = None if chunk is None else Chunks(table.column(CHUNK).to_numpy(), chunk)
    groups = _number_groups(plan, preparation, table)
    ends = _find_ends(plan, table)
    # Rows stand in for ticks: only their times count here.
    moments = as_steps(table.column(TIME), kind)
    numbers = number_windows(plan.window, kind, moments, (ends, groups[ends]), only, chunks)
    every = np.arange(table.num_rows)
    first = numbers.first(every, groups)
    copies = np.maximum(numbers.last(every, groups) - first + 1, 0)
    if int(copies.sum()) > MAX_COPIES:
        message = f"NOTs are evaluated per window, so {table.num_rows:,} events would be copied {copies.sum():,} times"
        raise ExecutionError([Problem("TW406", message, "let windows overlap less, or leave one of the NOTs out")])
    apart = numbers.keys(list_ranges(first, copies))
    return table.take(pa.array(np.repeat(every, copies))).append_column(APART, pa.array(apart))


def _number_groups(plan: Plan, preparation: Preparation, table: pa.Table) -> np.ndarray:
    """The group of each row, as far as all events of a trend share it: moving windows stand at times of a group."""
    keys = zip(plan.partition_key, preparation.partition_key, strict=True)
    names = [name for key, name in keys if key.path in plan.grouping_keys]
    names += [CHUNK] if CHUNK in table.column_names else []
    return key_codes([table.column(name) for name in names], table.num_rows)


def _find_ends(plan: Plan, table: pa.Table) -> np.ndarray:
    """Rows with which a trend may end."""
    letters = read_letters(table)
    ends = {template.states[end.state].variable for template in plan.templates for end in template.ends}
    bits = np.zeros(letters.shape[1], np.uint64)
    for number, variable in enumerate(plan.variables):
        if variable.name in ends:
            bits |= bit_of(number, letters.shape[1])
    return np.flatnonzero((letters & bits).any(axis=1))


@dataclass(frozen=True, slots=True)
class MovingApart(MovingNumbers):
    """Moving windows of rows that were copied into them. `at` is the place of each tick's window among the times."""

    at: np.ndarray

    def first(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.starts, group * self.width + self.at[tick])

    def last(self, tick: np.ndarray, group: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.starts, group * self.width + self.at[tick], side="right") - 1


def keep_apart(numbers: WindowNumbers, rows: EncodedRows) -> WindowNumbers:
    """The same numbers, for rows that were copied into windows: each tick lies in one.

    Args:
        numbers: Numbers of the windows as if rows had not been copied.
        rows: The copied rows.

    Returns:
        Numbers of the windows that rows were copied into.
    """
    if APART not in rows.table.column_names:
        return numbers
    of_tick = np.empty(rows.tick_steps.size, np.int64)
    of_tick[rows.tick] = rows.table.column(APART).to_numpy()
    match numbers:
        case SlidingNumbers():
            return SlidingNumbers(of_tick, of_tick)
        case MovingNumbers(times=times, rank=rank, beyond=beyond, starts=starts):
            return MovingApart(times, rank, beyond, starts, np.searchsorted(times, of_tick))
    return numbers
