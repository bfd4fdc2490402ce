"""Partitions of an interval query that runs piece by piece: those that are remembered, and those of new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

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

    @staticmethod
    def from_carry(carry: Carry) -> Remembered:
        return Remembered(**carry)


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions that are remembered, then those that are new. Rows are sorted by (partition, time).

    Attributes:
        names: The prepared columns that tell partitions apart.
        keys: The values of each of these columns, one per partition.
        rows: The new rows.
        bits: Per partition, which conditions hold.
        since: Since when each of them does.
        count: How many partitions there are.
    """

    names: tuple[str, ...]
    keys: list[pa.Array]
    rows: IntervalRows
    bits: np.ndarray
    since: np.ndarray
    count: int

    def find_last_steps(self, before: Remembered) -> tuple[pa.Table, np.ndarray]:
        """The rows of each partition's last step, and their partitions."""
        rows = self.rows
        partition = np.repeat(np.arange(self.count), np.diff(rows.starts))
        has_rows = np.diff(rows.starts) > 0
        newest = np.where(has_rows, rows.time[np.maximum(rows.starts[1:] - 1, 0)] if rows.time.size else 0, 0)
        of_last = rows.time == newest[partition]
        table = rows.table.take(pa.array(rows.table_rows(np.flatnonzero(of_last))))
        members = partition[of_last]
        if before.last is not None:
            # Partitions without a new step keep the old one.
            old = self._number_last_steps(before)
            silent = ~has_rows[old]
            table = pa.concat_tables([before.last.filter(pa.array(silent)), table])
            members = np.concatenate([old[silent], members])
        return table.combine_chunks(), members

    def _number_last_steps(self, before: Remembered) -> np.ndarray:
        """The partitions of the last steps that are remembered."""
        known, last = before.partitions, before.last
        assert known is not None
        assert last is not None
        columns = [
            pa.chunked_array([*known.column(name).chunks, *last.column(name).chunks], last.schema.field(name).type)
            for name in self.names
        ]
        codes = key_codes(columns, known.num_rows + last.num_rows)
        return _number(codes, known.num_rows)[known.num_rows :]


def number_partitions(program: IntervalMatches, before: Remembered, ready: pa.Table, begin: int) -> Partitions:
    """Bring rows that have become final together with what is remembered of those before them.

    Args:
        program: The query.
        before: What is remembered.
        ready: Prepared rows.
        begin: The time from which on rows are new.
    """
    names, kinds = program.preparation.keys, len(program.plan.situations)
    old = 0 if before.partitions is None else before.partitions.num_rows
    ready = ready if before.last is None else pa.concat_tables([before.last, ready])
    columns = []
    for name in names:
        known = [] if before.partitions is None else before.partitions.column(name).chunks
        columns.append(pa.chunked_array([*known, *ready.column(name).chunks], ready.schema.field(name).type))
    codes = _number(key_codes(columns, old + ready.num_rows), old)
    count = max(int(codes.max()) + 1 if codes.size else 0, old)
    example = pa.array(first_of_each(codes))
    keys = [column.take(example).combine_chunks() for column in columns]
    bits, since = np.zeros(count, np.int64), np.zeros((count, kinds), np.int64)
    if before.partitions is not None:
        bits[:old] = before.partitions.column(BITS).to_numpy()
        for k in range(kinds):
            since[:old, k] = before.partitions.column(f"since_{k}").to_numpy()
    return Partitions(names, keys, _sort(program, ready, codes[old:], count, begin), bits, since, count)


def _number(codes: np.ndarray, old: int) -> np.ndarray:
    """Partitions that are remembered keep their numbers; new ones follow."""
    if not codes.size:
        return codes
    numbers = np.full(int(codes.max()) + 1, -1, np.int64)
    numbers[codes[:old]] = np.arange(old)
    new = np.flatnonzero(numbers < 0)
    numbers[new] = old + np.arange(new.size)
    return numbers[codes]


def _sort(program: IntervalMatches, ready: pa.Table, codes: np.ndarray, count: int, begin: int) -> IntervalRows:
    rows = sort_partitions(ready, codes, count)
    if not program.plan.looks_back:
        return rows
    rows = add_conditions_that_look_back(program.preparation, rows)
    # The last steps of earlier pieces were there to be looked back at.
    fresh = rows.time >= begin
    order = rows.table_rows(np.flatnonzero(fresh))
    starts = np.concatenate([[0], np.cumsum(fresh)])[rows.starts]
    return IntervalRows(ready, order, rows.kind, rows.time[fresh], rows.bits[fresh], starts)
