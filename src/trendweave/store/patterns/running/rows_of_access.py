"""What is read of a store -> prepared rows of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from trendweave.programs.program import Program
from trendweave.rows.dropped import NOTHING_DROPPED, Dropped
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.times import TimeType, as_steps, has_time, time_type
from trendweave.store.patterns.intervals.stretches import Stretches


def prepare_stretches(
    program: Program,
    tables: Iterable[tuple[pa.Table, Stretches]],
    kind: TimeType,
    apart: bool,
    fit: Callable[[pa.Table], pa.Table] = lambda table: table,
    first: int = 0,
) -> tuple[pa.Table, Dropped]:
    """Prepared rows of the events that lie in stretches of time.

    Args:
        program: Prepares rows; it has a time column.
        tables: Events as they were read, and the stretches that they belong to.
        kind: How the time column counts.
        apart: Whether rows of different stretches must not meet: they are numbered as chunks of time are.
        fit: Gives events the types that the program is bound to.
        first: The number of the first stretch.

    Returns:
        The rows, and what was dropped.
    """
    prepared, dropped = [], NOTHING_DROPPED
    finer = kind.step // time_type(program.moment).step
    for table, stretches in tables:
        rows, lost = program.prepare(fit(keep_inside(table, program.needs.time, kind, stretches)))
        if apart:
            # Spark may count in finer steps.
            steps = np.floor_divide(as_steps(rows.column(TIME), time_type(program.moment)), finer)
            rows = rows.append_column(CHUNK, pa.array(stretches.places(steps) + first))
        prepared.append(rows)
        dropped += lost
        first += stretches.count
    if not prepared:
        return program.prepare(program.events.empty_table())
    return pa.concat_tables(prepared), dropped


def keep_inside(events: pa.Table, time: str | None, kind: TimeType, stretches: Stretches) -> pa.Table:
    """The events of some stretches of time."""
    assert time is not None, "stretches are of times"
    column = events.column(time)
    known = np.asarray(has_time(column))
    if not known.all():
        events = events.filter(pa.array(known))
        column = events.column(time)
    # Row groups come one after the other, and most of them are in order of time.
    parts = [stretches.hold(as_steps(pa.chunked_array([chunk]), kind)) for chunk in column.chunks]
    inside = np.concatenate([np.empty(0, np.bool_), *parts])
    return events if inside.all() else events.filter(pa.array(inside))
