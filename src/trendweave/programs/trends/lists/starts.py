"""Beginnings of trends on streams: which are undecided at a watermark, as an event that may still come could go on from
one of their paths; and which are consumed by trends that have come out.

An event is added at the watermark that can be read as what may come next (`plan_open_beginnings`). A beginning is
undecided where a path leads from it to that event, whatever the strategy and its predicates, NOTs and lanes are.
Beginnings are settled in order of time, and what trends take away from later ones, or that they have come out, outlives
their rows. Where only some trends end with NOT, the others come out before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.kernels.lists.graph import ALL, NO_WINDOW, NOWHERE, latest_behind
from trendweave.planning.matches.certainty import Certainty, plan_open_beginnings
from trendweave.planning.plan import Plan, Selection
from trendweave.planning.preparation import Preparation, PreparedEdge
from trendweave.programs.program import NO_CARRY, Carry, Step
from trendweave.programs.steps import WindowedSteps
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.lists.graphs import lay_out
from trendweave.results.shown_trends import join_chunks
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import LETTERS, NUMBER, TIME, EncodedRows
from trendweave.rows.segments import number_finer_times
from trendweave.rows.times import as_times, time_type


@dataclass(frozen=True, slots=True)
class OpenBeginnings:
    """The plan of what may still go on, and what its rows are prepared for."""

    plan: Plan
    preparation: Preparation

    @staticmethod
    def of(plan: Plan, preparation: Preparation) -> OpenBeginnings:
        opened = plan_open_beginnings(plan)
        more = (PreparedEdge((), ()),) * (len(opened.edges) - len(plan.edges))
        prepared = replace(
            preparation,
            readable=(*preparation.readable, None),
            edges=(*preparation.edges, *more),
            values=(),
            shown=(),
            matched=(),
        )
        return OpenBeginnings(opened, prepared)

    def find(self, rows: EncodedRows, watermark: int, memory: int) -> np.ndarray:
        """Find the rows with which a trend may have begun that goes on at the watermark or later.

        Args:
            rows: Rows before the watermark.
            watermark: In steps.
            memory: For the graph of their paths.

        Returns:
            Whether each row is such a beginning.
        """
        later = len(self.plan.variables) - 1
        task = PartitionTask(
            self.plan, self.preparation, _add_later(rows, watermark, later), TaskOptions(only_counts=True)
        )
        graphs = lay_out(task, ALL, memory)
        number, found = task.rows.table.column(NUMBER).to_numpy(), np.zeros(rows.tick.size, np.bool_)
        for part in graphs.parts():
            graph = part.graph
            begins = graph.start_from != NO_WINDOW
            if graph.is_listed:
                goes_on = np.where(part.variable == later, 0, NOWHERE)
                begins &= latest_behind(graph.edge_starts, graph.edges, goes_on)[0] != NOWHERE
            found[number[part.row[begins]]] = True
        return found


def _add_later(rows: EncodedRows, watermark: int, variable: int) -> pa.Table:
    """The rows, and one more of each partition, at the watermark, that can be read as one variable alone."""
    table, words = rows.table, rows.partitions.letters.shape[1]
    for word in range(words, variable // 64 + 1):
        table = table.append_column(f"{LETTERS}{word}", pa.array(np.zeros(table.num_rows, np.int64)))
    if rows.time_type.is_float:
        # These count microseconds, of which floats may not have all.
        steps = pa.array(rows.tick_steps[rows.tick], pa.timestamp("us"))
        table = table.set_column(table.schema.get_field_index(TIME), TIME, steps)
    last = table.take(pa.array(rows.partitions.starts[:-1]))
    kind = table.schema.field(TIME).type
    columns = {TIME: as_times(np.full(last.num_rows, watermark, np.int64), time_type(kind)).cast(kind)}
    for word in range(variable // 64 + 1):
        bits = np.uint64(1 << variable % 64 if word == variable // 64 else 0)
        columns[f"{LETTERS}{word}"] = pa.array(np.full(last.num_rows, bits).view(np.int64))
    for name, values in columns.items():
        last = last.set_column(last.schema.get_field_index(name), table.schema.field(name), values)
    table = table.append_column(NUMBER, pa.array(np.arange(table.num_rows)))
    last = last.append_column(NUMBER, pa.array(np.full(last.num_rows, -1, np.int64)))
    return pa.concat_tables([table, last])


def find_waiting(
    certainty: Certainty, selection: Selection | None, asked: np.ndarray, undecided: np.ndarray, rows: EncodedRows
) -> np.ndarray:
    """Find the rows whose trends are not looked at before beginnings are decided.

    Args:
        certainty: What trends wait for.
        selection: Which beginnings a trend takes away; None: none.
        asked: Rows that trends may begin with.
        undecided: The ticks of undecided beginnings.
        rows: The rows.

    Returns:
        Whether each row is such a beginning.
    """
    if certainty.whatever_taken:
        return _are_behind(rows.tick, undecided, rows)
    # The first trend of a beginning decides it; beginnings of one tick come out together.
    waits: np.ndarray = np.isin(rows.tick, undecided)
    if selection is not None and selection.shortest:
        waits &= np.bincount(rows.tick[asked], minlength=rows.tick_steps.size)[rows.tick] > 1
    return waits


def find_certain(
    certainty: Certainty,
    selection: Selection | None,
    first: np.ndarray,
    until: np.ndarray,
    undecided: np.ndarray,
    rows: EncodedRows,
) -> np.ndarray:
    """Find the trends that no undecided beginning can take away.

    Args:
        certainty: What trends wait for.
        selection: Which beginnings a trend takes away; None: none.
        first: The tick of each trend's first event; trends are taken one after the other.
        until: Up to which tick each takes beginnings away.
        undecided: The ticks of undecided beginnings.
        rows: The rows.

    Returns:
        Which of the trends are certain.
    """
    if not certainty.in_order or certainty.whatever_taken:
        return np.ones(first.size, np.bool_)  # others are not looked at
    if selection is not None and selection.shortest:
        undecided = np.setdiff1d(undecided, first)
    order = np.argsort(first, kind="stable")
    before = np.searchsorted(first[order], undecided) - 1
    reached = np.append(np.maximum.accumulate(until[order]), -1)
    return ~_are_behind(first, undecided[reached[before] < undecided], rows)


def _are_behind(at: np.ndarray, undecided: np.ndarray, rows: EncodedRows) -> np.ndarray:
    """Whether ticks are undecided, or an earlier one of their partition is."""
    partition = rows.partitions.of_rows()[np.searchsorted(rows.tick, np.arange(rows.tick_steps.size))]
    earlier = np.searchsorted(undecided, at, side="right") - 1
    behind: np.ndarray = np.append(partition[undecided], -1)[earlier] == partition[at]
    return behind


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
