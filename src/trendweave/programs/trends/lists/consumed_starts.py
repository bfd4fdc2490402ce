"""Consumed starts: which beginnings are taken away by trends that have come out, and lists under WITHIN alone piece by
piece, which carry that on.

Beginnings are settled in order of time, and what trends take away from later ones, or that they have come out, outlives
their rows. Where only some trends wait for what may follow, the others come out before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.programs.program import NO_CARRY, Carry, Step
from trendweave.programs.steps import WindowedSteps
from trendweave.results.shown_trends import join_chunks
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import EncodedRows
from trendweave.rows.ordering import number_finer_times

UNTIL = "trendweave_until"
_PAIR = np.dtype([("partition", np.int64), ("moment", np.int64)])


@dataclass(frozen=True, slots=True)
class ConsumedStarts:
    """Times, in steps, of partitions that are told by their `keys`: no trend may begin up to the one of a partition or,
    where only `own` beginnings are taken away, at any of them. Where columns order events of one time, `ties`, their
    values stand beside each time."""

    keys: tuple[str, ...]
    own: bool
    ties: tuple[str, ...] = ()
    table: pa.Table | None = None

    def find_allowed(self, rows: EncodedRows) -> np.ndarray:
        """Find the rows with which trends may begin."""
        if self.table is None:
            return np.ones(rows.tick.size, np.bool_)
        known, numbers = self._number(rows)[1], self._number_moments(rows, np.arange(rows.tick.size))[1]
        size = self.table.num_rows
        taken, moments = numbers[:size], numbers[size:]
        partition = known[size:][rows.partitions.of_rows()]
        if self.own:
            return ~np.isin(_pairs(partition, moments), _pairs(known[:size], taken))
        until, some = np.zeros(int(known.max()) + 1, np.int64), np.zeros(int(known.max()) + 1, np.bool_)
        until[known[:size]], some[known[:size]] = taken, True
        return ~some[partition] | (moments > until[partition])

    def after(self, rows: EncodedRows, ticks: np.ndarray) -> ConsumedStarts:
        """The same once trends have come out.

        Args:
            rows: The rows that they are made of.
            ticks: Up to which tick of its partition each lets nothing begin.
        """
        until = np.searchsorted(rows.tick, ticks)
        partition = rows.partitions.of_rows()[until]
        values, codes = self._number(rows)
        columns, moments = self._number_moments(rows, until)
        size = codes.size - rows.partitions.count
        place = np.append(np.arange(size), size + partition)
        own = np.arange(place.size)
        if not self.own:
            # The latest of each partition.
            order = np.lexsort((moments, codes[place]))
            own = order[np.append(codes[place][order][1:] != codes[place][order][:-1], True)[: order.size]]
        found = [column.take(pa.array(place[own])) for column in values]
        found += [column.take(pa.array(own)) for column in columns]
        return replace(self, table=pa.table(found, names=[*self.keys, *self.ties, UNTIL]))

    def still(self, earliest: int) -> ConsumedStarts:
        """Without what ended before a time at which trends may yet begin."""
        if self.table is None:
            return self
        open_ = self.table.column(UNTIL).to_numpy() >= earliest
        return self if open_.all() else replace(self, table=self.table.filter(pa.array(open_)))

    def _number(self, rows: EncodedRows) -> tuple[list[pa.Array], np.ndarray]:
        """The keys of what was taken away, then those of the partitions of some rows, and their numbers."""
        first = pa.array(rows.partitions.starts[:-1])
        values = []
        for name in self.keys:
            own = join_chunks(rows.table.column(name)).take(first)
            values.append(own if self.table is None else pa.concat_arrays([join_chunks(self.table.column(name)), own]))
        total = (0 if self.table is None else self.table.num_rows) + len(first)
        return values, key_codes([pa.chunked_array([column]) for column in values], total)

    def _number_moments(self, rows: EncodedRows, chosen: np.ndarray) -> tuple[list[pa.Array], np.ndarray]:
        """What orders events, and the time, of what was taken away and then of some rows; and numbers in that order."""
        columns = [join_chunks(rows.table.column(name)).take(pa.array(chosen)) for name in self.ties]
        columns.append(pa.array(rows.tick_steps[rows.tick[chosen]]))
        if self.table is not None:
            names = zip((*self.ties, UNTIL), columns, strict=True)
            columns = [pa.concat_arrays([join_chunks(self.table.column(name)), own]) for name, own in names]
        steps = columns[-1].to_numpy()
        if not self.ties:
            return columns, steps
        return columns, number_finer_times(steps, [pa.chunked_array([column]) for column in columns[:-1]])


def _pairs(partition: np.ndarray, moment: np.ndarray) -> np.ndarray:
    pairs = np.empty(partition.size, _PAIR)
    pairs["partition"], pairs["moment"] = partition, moment
    return pairs


_TAKEN = "taken"
#: Gives the rows of trends that have become certain since the watermark was somewhere, and what is taken away then.
Select: TypeAlias = Callable[
    [pa.Table, ConsumedStarts, int | None, int | None], tuple[list[pa.RecordBatch], ConsumedStarts]
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSteps(WindowedSteps):
    """`span`: the events of a trend are less than so many steps apart. `nothing`: as long as no trend has come out.
    Which trends are taken depends on earlier beginnings, so nothing is shown early."""

    span: int
    nothing: ConsumedStarts
    select: Select

    @property
    def carries(self) -> bool:
        return True

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        due = []
        if waiting is not None:
            due.append(self.closing.due(*waiting, watermark))
            if watermark is not None:
                # A beginning is decided at the latest when nothing can go on from it any more.
                earliest, latest = max(waiting[0], watermark - self.span + 1), min(waiting[1], watermark - 1)
                due += [earliest + self.span] if earliest <= latest else []
        if _TAKEN in carry:
            # Then nothing of it is needed any longer.
            due.append(int(carry[_TAKEN].column(UNTIL).to_numpy().max()) + self.span)
        return min(due, default=None)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        taken = replace(self.nothing, table=carry.get(_TAKEN))
        needed = self.select_rows(rows, self.closing.windows(before, watermark))
        batches: list[pa.RecordBatch] = []
        if needed.num_rows:
            batches, taken = self.select(needed, taken, before, watermark)
        if watermark is None:
            return Step(batches, NO_CARRY)
        table = taken.still(watermark - self.span + 1).table
        return Step(batches, NO_CARRY if table is None or not table.num_rows else {_TAKEN: table.combine_chunks()})


@dataclass(frozen=True, slots=True, kw_only=True)
class EitherSteps(WindowedSteps):
    """Trends that wait for what may follow their last event, and the `others`: of the rows that the first wait for, the
    second need the later ones. Later events may take rows back, so nothing is shown early."""

    others: WindowedSteps

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        if waiting is None:
            return None
        # Rows are let go with those that wait.
        due = [self.closing.due(*waiting, watermark)]
        if watermark is None or waiting[1] >= watermark:
            due.append(self.others.closing.due(*waiting, watermark))
        return min(due)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        ranges = [WindowedSteps.reads(self, before, watermark), self.others.reads(before, watermark)]
        some = [(first, end) for first, end in ranges if first < end]
        return min((first for first, _ in some), default=0), max((end for _, end in some), default=0)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        def batches() -> Iterator[pa.RecordBatch]:
            yield from self.others.step(rows, carry, before, watermark).batches
            yield from WindowedSteps.step(self, rows, carry, before, watermark).batches

        return Step(batches(), NO_CARRY)
