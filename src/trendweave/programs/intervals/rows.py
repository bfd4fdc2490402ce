"""Events of an interval query as arrays, sorted by (partition, time), with one word of conditions per row; and what is
remembered of earlier ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import evaluate, is_true
from trendweave.planning.interval_preparation import IntervalPreparation
from trendweave.programs.program import NO_CARRY, Carry
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import TIME
from trendweave.rows.ordering import sort_by_key_and_time
from trendweave.rows.times import as_steps

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches

BITS = "bits"
#: What is remembered of partitions: keys, open runs and since when they run, a row each; and, where conditions look
#: back, the rows of the last step of each.
PARTITIONS, LAST = "partitions", "last"


@dataclass(frozen=True, slots=True)
class IntervalRows:
    """`order` are rows of the table by (partition, time), None where they are in that order already.

    `bits` and `time` are sorted; `starts[p]:starts[p + 1]` are the sorted rows of partition p.
    """

    table: pa.Table
    order: np.ndarray | None
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
        return IntervalRows(self.table, order, self.time[kept], self.bits[kept], starts)

    def first_of_steps(self) -> np.ndarray | None:
        """The rows that begin a step: rows of one partition with equal times are one. None where each row does."""
        new = np.ones(self.time.size, np.bool_)
        new[1:] = self.time[1:] != self.time[:-1]
        new[self.starts[:-1][np.diff(self.starts) > 0]] = True
        return None if new.all() else np.flatnonzero(new)

    def find_steps(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Which conditions hold in each step, which is in all of its rows; and the rows that begin a step, as
        `first_of_steps` has them."""
        first = self.first_of_steps()
        return self.bits if first is None else np.bitwise_and.reduceat(self.bits, first), first

    def rows_of_last_steps(self) -> pa.Table:
        """The rows of each partition's last step, as the table has them."""
        newest = np.repeat(self.time[self.starts[1:] - 1], np.diff(self.starts)) if self.time.size else self.time
        return self.table.take(pa.array(self.table_rows(np.flatnonzero(self.time == newest)))).combine_chunks()


def sort_partitions(program: IntervalMatches, table: pa.Table, codes: np.ndarray, count: int) -> IntervalRows:
    """Rows of a prepared table by partition, a number below `count` each, and time, with the conditions that need one
    row only, in as few bits as they need."""
    moment = as_steps(table.column(TIME), program.time_type)
    bits = table.column(BITS).to_numpy().astype(np.min_scalar_type((1 << len(program.plan.situations)) - 1))
    order, starts, moment = sort_by_key_and_time(codes, moment, count)
    if order is not None:
        bits = bits[order]
    return IntervalRows(table, order, moment, bits, starts)


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
    return replace(rows, bits=bits)


def _pairs_with_step_before(rows: IntervalRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row with each row of the step before in its partition, -1 where there is none; and pairs per row."""
    count = rows.time.size
    first = rows.first_of_steps()
    first = np.arange(count) if first is None else first
    sizes = np.diff(np.append(first, count))
    leading = np.isin(first, rows.starts)
    before_first = np.where(leading, -1, np.concatenate([[-1], first[:-1]]))
    before_size = np.where(leading, 1, np.concatenate([[1], sizes[:-1]]))
    lengths = np.repeat(before_size, sizes)
    row = np.repeat(np.arange(count), lengths)
    within = np.arange(row.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return row, np.repeat(np.repeat(before_first, sizes), lengths) + within, lengths


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions that are remembered, then those that are new.

    Attributes:
        keys: The values of each column that tells partitions apart, by name, one per partition.
        rows: The new rows that make situations, by partition and time.
        sources: The same after the last steps that are remembered, which are looked back at.
        every: All new rows.
        bits: Per partition, which conditions hold.
        since: Since when each of them does.
    """

    keys: dict[str, pa.Array]
    rows: IntervalRows
    sources: IntervalRows
    every: IntervalRows
    bits: np.ndarray
    since: np.ndarray

    def remember(self, used: np.ndarray, looks_back: bool) -> dict[str, pa.Table]:
        """Keys and open runs of partitions that are used, and the rows that conditions may look back at."""
        kept = np.flatnonzero(used)
        columns = {BITS: pa.array(self.bits[kept])}
        columns |= {f"since_{k}": pa.array(self.since[kept, k]) for k in range(self.since.shape[1])}
        columns |= {name: key.take(pa.array(kept)) for name, key in self.keys.items()}
        tables = {PARTITIONS: pa.table(columns)} if kept.size else {}
        if looks_back and self.sources.time.size:
            tables[LAST] = self.sources.rows_of_last_steps()
        return tables


def number_partitions(
    program: IntervalMatches,
    table: pa.Table,
    before: Carry = NO_CARRY,
    names: tuple[str, ...] | None = None,
    makes: np.ndarray | None = None,
) -> Partitions:
    """Bring rows that have become final together with what is remembered of those before them.

    Args:
        program: The query.
        table: Prepared rows.
        before: What is remembered of partitions.
        names: The columns that tell partitions apart; None: those of the query.
        makes: Which rows make situations; None: all.
    """
    names = program.preparation.keys if names is None else names
    known, last = before.get(PARTITIONS), before.get(LAST)
    old = 0 if known is None else known.num_rows
    held = 0 if last is None else last.num_rows
    parts = [part for part in (known, last, table) if part is not None]
    columns = [
        pa.chunked_array([chunk for part in parts for chunk in part.column(name).chunks], table.field(name).type)
        for name in names
    ]
    # Numbered by their first rows, so those that are remembered keep their numbers.
    codes = key_codes(columns, old + held + table.num_rows)
    first = first_of_each(codes)
    count = first.size
    keys = {name: column.take(pa.array(first)).combine_chunks() for name, column in zip(names, columns, strict=True)}
    bits, since = np.zeros(count, np.int64), np.zeros((count, len(program.plan.situations)), np.int64)
    if known is not None:
        bits[:old] = known.column(BITS).to_numpy()
        for k in range(since.shape[1]):
            since[:old, k] = known.column(f"since_{k}").to_numpy()
    own = codes[old + held :]
    every = None if makes is None else sort_partitions(program, table, own, count)
    if makes is not None:
        table, own = table.filter(pa.array(makes)), own[makes]
    if last is not None:
        # States of earlier releases hold conditions in fewer bits.
        table = pa.concat_tables([last, table], promote_options="permissive")
        own = np.concatenate([codes[old : old + held], own])
    rows = sources = add_conditions_that_look_back(program.preparation, sort_partitions(program, table, own, count))
    if last is not None:
        rows = sources.select(sources.table_rows(np.arange(sources.time.size)) >= held)
    return Partitions(keys, rows, sources, rows if every is None else every, bits, since)
