"""Events with a column for each situation that a trend query names: do they lie in one?

Events may come in pieces. What is kept of earlier ones is which conditions hold at their end, and since when.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.intervals import RUNNING
from trendweave.programs.intervals.program import IntervalMatches
from trendweave.programs.intervals.rows import Partitions, number_partitions
from trendweave.programs.intervals.situations import derive_situations, rows_reaching
from trendweave.programs.preparing import prepare_rows
from trendweave.programs.program import NO_CARRY, Carry
from trendweave.rows.times import has_time


def mark_events(
    bound: IntervalMatches, columns: tuple[str, ...], events: pa.Table, before: Carry = NO_CARRY
) -> pa.Table:
    """All events, those without a time included, with one boolean column per situation.

    Args:
        bound: The program of the situations.
        columns: A name for the column of each situation.
        events: Events in any order.
        before: What `remember_runs` kept of events before all of these.
    """
    place = np.flatnonzero(np.asarray(has_time(events.column(bound.time))))
    timed = events if place.size == events.num_rows else events.take(pa.array(place))
    partitions = _number_partitions(bound, timed, before)
    rows, found = partitions.every, derive_situations(partitions.rows, partitions.bits, partitions.since)
    # One that has not ended goes on: it is as long as any AT LEAST asks for.
    length = np.where(found.end == RUNNING, RUNNING, found.end - found.start)
    good = bound.lengths.fit(found.kind, length)
    place = place[rows.table_rows(np.arange(rows.time.size))]
    for k, name in enumerate(columns):
        own = np.flatnonzero(good & (found.kind == k))
        low, high = rows.starts[found.partition[own]], rows.starts[found.partition[own] + 1]
        # A row lies in a situation that has begun and not ended; those of one kind and partition are disjoint.
        change = np.zeros(rows.time.size + 1, np.int64)
        np.add.at(change, rows_reaching(rows.time, found.start[own], low, high), 1)
        np.add.at(change, rows_reaching(rows.time, found.end[own], low, high), -1)
        flags = np.zeros(events.num_rows, np.bool_)
        flags[place] = np.cumsum(change[:-1]) > 0
        events = events.append_column(name, pa.array(flags))
    return events


def remember_runs(bound: IntervalMatches, events: pa.Table, before: Carry = NO_CARRY) -> Carry:
    """What is to be kept of these events, which all have a time; those that come later are not before any of them.

    Returns:
        `partitions`: keys, the runs that go on, and since when. `last`: where conditions look back, the rows of each
        partition's last step. Neither where there is nothing to keep.
    """
    partitions = _number_partitions(bound, events, before)
    derive_situations(partitions.rows, partitions.bits, partitions.since)
    return partitions.remember(partitions.bits != 0, bound.plan.looks_back)


def _number_partitions(bound: IntervalMatches, events: pa.Table, before: Carry) -> Partitions:
    # Events of any type may lie in situations.
    table, _ = prepare_rows(replace(bound.needs, type=None), events)
    return number_partitions(bound, table, before, makes=_of_type(bound, events))


def _of_type(bound: IntervalMatches, events: pa.Table) -> np.ndarray | None:
    """Which rows make situations: events, which have a type, or those of one type where FROM names it. Others may still
    lie in them. None where all rows do."""
    if bound.type is None:
        return None
    column = events.column(bound.type)
    if bound.plan.source is None:
        return np.asarray(pc.is_valid(column)) if column.null_count else None
    return np.asarray(pc.fill_null(pc.equal(column, pa.scalar(bound.plan.source, pa.string())), False))
