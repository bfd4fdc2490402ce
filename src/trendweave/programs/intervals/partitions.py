"""Partitions of an interval query: those that earlier pieces have left, and those of new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.kernels.intervals.situations import Situations, derive_situations
from trendweave.programs.intervals.rows import BITS, IntervalRows, add_conditions_that_look_back, sort_partitions
from trendweave.programs.program import Carry
from trendweave.rows.codes import first_of_each, key_codes

if TYPE_CHECKING:
    from trendweave.programs.intervals.program import IntervalMatches


@dataclass(frozen=True, slots=True)
class Remembered:
    """`partitions` holds keys, open runs and since when they run; `situations` those that a later match can have, with
    what their events told so far; `last` the rows of each partition's last step, where conditions look back; `counts`
    the matches of windows that are still open.

    Everything but one row per partition is bounded by the window.
    """

    last: pa.Table | None = None
    partitions: pa.Table | None = None
    situations: pa.Table | None = None
    counts: pa.Table | None = None

    def to_carry(self) -> Carry:
        """Without what is empty and need not be told."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        return {name: part for name, part in parts.items() if part is not None and part.num_rows}


NOTHING = Remembered()


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
        count: How many partitions there are.
    """

    keys: dict[str, pa.Array]
    rows: IntervalRows
    sources: IntervalRows
    every: IntervalRows
    bits: np.ndarray
    since: np.ndarray
    count: int

    def derive(self) -> Situations:
        """Situations of any length; what holds is moved on to the last step."""
        rows = self.rows
        return derive_situations(rows.bits, rows.time, rows.starts, self.since.shape[1], self.bits, self.since)

    def remember(self, kept: np.ndarray) -> pa.Table:
        """Keys and open runs of some partitions."""
        columns = {BITS: pa.array(self.bits[kept])}
        columns |= {f"since_{k}": pa.array(self.since[kept, k]) for k in range(self.since.shape[1])}
        return pa.table(columns | {name: key.take(pa.array(kept)) for name, key in self.keys.items()})

    def last_steps(self) -> pa.Table:
        """The rows of each partition's last step."""
        rows = self.sources
        newest = np.repeat(rows.time[rows.starts[1:] - 1], np.diff(rows.starts)) if rows.time.size else rows.time
        of_last = rows.table_rows(np.flatnonzero(rows.time == newest))
        return rows.table.take(pa.array(of_last)).combine_chunks()


def number_partitions(
    program: IntervalMatches,
    table: pa.Table,
    before: Remembered = NOTHING,
    names: tuple[str, ...] | None = None,
    makes: np.ndarray | None = None,
) -> Partitions:
    """Bring rows that have become final together with what is remembered of those before them.

    Args:
        program: The query.
        table: Prepared rows.
        before: What is remembered.
        names: The columns that tell partitions apart; None: those of the query.
        makes: Which rows make situations; None: all.
    """
    names = program.preparation.keys if names is None else names
    kinds = len(program.plan.situations)
    known, last = before.partitions, before.last
    old = 0 if known is None else known.num_rows
    held = 0 if last is None else last.num_rows
    parts = [part for part in (known, last, table) if part is not None]
    columns = [
        pa.chunked_array([chunk for part in parts for chunk in part.column(name).chunks], table.field(name).type)
        for name in names
    ]
    codes = _number(key_codes(columns, old + held + table.num_rows), old)
    count = max(int(codes.max()) + 1 if codes.size else 0, old)
    example = pa.array(first_of_each(codes) if names else codes[:1])
    keys = {name: column.take(example).combine_chunks() for name, column in zip(names, columns, strict=True)}
    bits, since = np.zeros(count, np.int64), np.zeros((count, kinds), np.int64)
    if known is not None:
        bits[:old] = known.column(BITS).to_numpy()
        for k in range(kinds):
            since[:old, k] = known.column(f"since_{k}").to_numpy()
    own = codes[old + held :]
    every = None if makes is None else sort_partitions(table, own, count)
    if makes is not None:
        table, own = table.filter(pa.array(makes)), own[makes]
    if last is not None:
        table, own = pa.concat_tables([last, table]), np.concatenate([codes[old : old + held], own])
    rows = sources = add_conditions_that_look_back(program.preparation, sort_partitions(table, own, count))
    if last is not None:
        rows = sources.select(sources.table_rows(np.arange(sources.time.size)) >= held)
    return Partitions(keys, rows, sources, rows if every is None else every, bits, since, count)


def _number(codes: np.ndarray, old: int) -> np.ndarray:
    """Partitions that are remembered keep their numbers; new ones follow."""
    if not old:
        return codes
    numbers = np.full(int(codes.max()) + 1, -1, np.int64)
    numbers[codes[:old]] = np.arange(old)
    new = np.flatnonzero(numbers < 0)
    numbers[new] = old + np.arange(new.size)
    return numbers[codes]
