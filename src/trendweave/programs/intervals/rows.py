"""Events of an interval query as arrays, sorted by (partition, time), with one word of conditions per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of, evaluate, is_true
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.interval_preparation import IntervalPreparation
from trendweave.rows.dropped import Dropped
from trendweave.rows.ordering import sort_by_key_and_time
from trendweave.rows.times import TimeType, as_steps, keep_rows_with_time, time_type

TIME = "time"
BITS = "bits"
CHUNK = "chunk"


def prepare_events(
    plan: IntervalPlan, preparation: IntervalPreparation, events: pa.Table, time: str, type_: str | None
) -> tuple[pa.Table, Dropped]:
    """The events as a table of the time, the conditions that need one row only, and the columns that travel along."""
    rows = events.num_rows
    events, null_time = keep_rows_with_time(events, time)
    null_type = other_type = 0
    if type_ is not None:
        column = events.column(type_)
        null_type = column.null_count
        of_type = pc.fill_null(pc.equal(column, pa.scalar(plan.source, pa.string())), False)
        kept = pc.sum(of_type).as_py() or 0
        other_type = events.num_rows - null_type - kept
        events = events.filter(of_type) if kept < events.num_rows else events
    columns = {TIME: events.column(time), BITS: pa.array(_bits(preparation, events))}
    columns |= {name: column_of(events, path) for name, path in preparation.columns}
    return pa.table(columns), Dropped(rows, null_time, null_type, other_type)


def _bits(preparation: IntervalPreparation, events: pa.Table) -> np.ndarray:
    sizes = (np.uint8, np.uint16, np.uint32, np.int64)
    kind: Any = next(size for size in sizes if len(preparation.now) <= size().itemsize * 8)
    word = np.zeros(events.num_rows, kind)
    for number, condition in enumerate(preparation.now):
        if condition is not None:
            holds = is_true(condition, events).view(np.uint8)
            word |= holds.astype(kind, copy=False) << kind(number)
    return word


@dataclass(frozen=True, slots=True)
class IntervalRows:
    """`order` are rows of the table by (partition, time), None where they are in that order already.

    `bits` and `time` are sorted; `starts[p]:starts[p + 1]` are the sorted rows of partition p.
    """

    table: pa.Table
    order: np.ndarray | None
    kind: TimeType
    time: np.ndarray
    bits: np.ndarray
    starts: np.ndarray

    @property
    def partitions(self) -> int:
        return self.starts.size - 1

    def table_rows(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.order is None else self.order[rows]

    def take(self, name: str, rows: np.ndarray) -> pa.Array:
        """Values of a column in sorted rows."""
        column = self.table.column(name).take(pa.array(self.table_rows(rows)))
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def select(self, kept: np.ndarray) -> IntervalRows:
        """Some of the sorted rows."""
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        order = self.table_rows(np.flatnonzero(kept))
        return IntervalRows(self.table, order, self.kind, self.time[kept], self.bits[kept], starts)


def sort_partitions(table: pa.Table, codes: np.ndarray, count: int) -> IntervalRows:
    """Rows of a prepared table by partition, a number below `count` each, and time, with the conditions that need one
    row only."""
    kind = time_type(table.schema.field(TIME).type)
    moment = as_steps(table.column(TIME), kind)
    bits = table.column(BITS).to_numpy()
    order, starts, moment = sort_by_key_and_time(codes, moment, count)
    if order is not None:
        bits = bits[order]
    return IntervalRows(table, order, kind, moment, bits, starts)


def add_conditions_that_look_back(preparation: IntervalPreparation, rows: IntervalRows) -> IntervalRows:
    """Adds the conditions that compare a row with the step before.

    A step may have several events, and their order has no meaning: the condition holds for a row iff it holds with each
    event of the step before. Without a step before, PREV is NULL.
    """
    if not rows.time.size or all(condition is None for condition in preparation.later):
        return rows
    row, before, lengths = _pairs_with_step_before(rows)
    every = np.arange(rows.time.size)
    here = pa.table({name: rows.take(name, every) for name in preparation.looked_back_at} | {TIME: pa.array(every)})
    previous = pa.array(before, mask=before < 0)
    columns = {name: evaluate(expression, here).take(previous) for name, expression in preparation.back}
    own = here if row.size == every.size else here.take(pa.array(row))
    table = pa.table(columns | {name: own.column(name) for name in own.column_names})
    bits = rows.bits.astype(np.int64)
    first = np.cumsum(lengths) - lengths
    for number, condition in enumerate(preparation.later):
        if condition is not None:
            holds = is_true(condition, table)
            if row.size != every.size:
                holds = np.logical_and.reduceat(holds, first)
            bits |= holds.astype(np.int64) << number
    return IntervalRows(rows.table, rows.order, rows.kind, rows.time, bits, rows.starts)


def _pairs_with_step_before(rows: IntervalRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row with each row of the step before in its partition, -1 where there is none; and pairs per row."""
    count = rows.time.size
    new = np.ones(count, np.bool_)
    new[1:] = rows.time[1:] != rows.time[:-1]
    begins = rows.starts[:-1][np.diff(rows.starts) > 0]
    new[begins] = True
    step = np.cumsum(new) - 1
    first = np.append(np.flatnonzero(new), count)
    sizes = np.diff(first)
    leading = np.zeros(sizes.size, np.bool_)
    leading[step[begins]] = True
    before_first = np.where(leading, -1, np.concatenate([[-1], first[:-2]])[: sizes.size])
    before_size = np.where(leading, 1, np.concatenate([[1], sizes[:-1]])[: sizes.size])
    lengths = before_size[step]
    row = np.repeat(np.arange(count), lengths)
    within = np.arange(row.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return row, before_first[step][row] + within, lengths
