"""Trend queries whose events lie in situations (S DURING X): a program around the one of the trends.

Whether an event lies in a situation may turn out later: when the situation has become long enough, or too long. So rows
are events as they came, and what they lie in is told when they are computed. Piece by piece that is settled after the
longest length that a definition names, so windows close so much later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import Problem
from trendweave.kernels.intervals import RUNNING
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.bound import WholeEvents
from trendweave.programs.carry import carry_of, name_carry
from trendweave.programs.intervals.program import IntervalMatches
from trendweave.programs.intervals.situations import Partitions, derive_situations, number_partitions, rows_reaching
from trendweave.programs.preparing import keep_events, prepare_rows
from trendweave.programs.program import (
    EVERYTHING,
    NO_CARRY,
    Carry,
    Needs,
    Output,
    PartialResults,
    Program,
    Scope,
    Step,
    Steps,
    TieKeys,
    Work,
)
from trendweave.programs.trends.program import TrendAggregates, TrendLists
from trendweave.results.types import ResultColumn
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, has_time


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


#: What the inner program carries stands under longer names.
_INNER = "inner "


@dataclass(frozen=True)
class SituatedSteps(Steps):
    """What an event lies in may turn out later, so nothing is shown early, and rows are let go when the inner program
    lets them go and what they lie in is settled; the runs that go on after them are carried."""

    program: InSituations
    inner: Steps
    carries = True

    @property
    def pane(self) -> int | None:
        return self.inner.pane

    @property
    def folds(self) -> bool:
        return self.inner.folds

    @cached_property
    def delay(self) -> int:
        """So long after an event, in steps of the time column, it is settled in which situations it lies.

        What has been running for longer than this is long enough, or too long, whenever it ends.
        """
        lengths = self.program.situations.lengths
        return max(low if high is None else high for low, high in zip(lengths.low, lengths.high, strict=True))

    def _settled(self, watermark: int | None) -> int | None:
        return None if watermark is None else watermark - self.delay

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        due = self.inner.due(waiting, carry_of(carry, _INNER), self._settled(watermark))
        return None if due is None else due + self.delay

    def keeps_from(self, watermark: int) -> int:
        return self.inner.keeps_from(watermark - self.delay)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        steps = as_steps(rows.column(TIME), self.program.inner.time_type)
        settled = self._settled(watermark)
        low, high = self.inner.reads(self._settled(before), settled)
        needed = (steps >= low) & (steps < high)
        batches: Iterable[pa.RecordBatch] = ()
        runs = {name: table for name, table in carry.items() if not name.startswith(_INNER)}
        within = carry_of(carry, _INNER)
        if needed.any() or within:
            marked = self.program.mark(rows, runs)
            prepared = self.program.inner.prepare(marked if needed.all() else marked.filter(pa.array(needed)))[0]
            step = self.inner.step(prepared, within, self._settled(before), settled)
            batches, within = step.batches, step.carry
        if watermark is None:
            return Step(batches, NO_CARRY)
        gone = steps < self.keeps_from(watermark)
        if gone.any():
            events = self.program.kept.restore(rows.filter(pa.array(np.asarray(gone))))
            runs = dict(remember_runs(self.program.situations, events, runs))
        return Step(batches, runs | name_carry(within, _INNER))


@dataclass(frozen=True)
class InSituations(Program):
    """The columns of the plan tell the trends of `inner` which situations an event lies in; `read` are the columns of
    events that both read. A situation that began long ago may still hold, so time is not cut.

    Kept rows have the time as TIME and the others under longer names.
    """

    inner: TrendAggregates | TrendLists
    situations: IntervalMatches
    plan: SituatedPlan
    read: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.plan.text

    @cached_property
    def events(self) -> pa.Schema:
        return self.situations.events

    @property
    def work(self) -> Work:
        return self.inner.work

    @property
    def result(self) -> tuple[ResultColumn, ...]:
        return self.inner.result

    @property
    def moment(self) -> pa.DataType:
        return self.inner.moment

    @property
    def facts(self) -> tuple[str, ...]:
        return (self.text, *self.inner.facts[1:])

    @property
    def tie_keys(self) -> TieKeys | None:
        ties = self.inner.tie_keys
        return None if ties is None else TieKeys(self._kept_paths(ties.keys), self._kept_paths(ties.known))

    def _kept_paths(self, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        """Where kept rows have what rows of the trends have under plain names."""
        columns = self.inner.needs.columns
        names = {name: expression.names for name, expression in columns if isinstance(expression, st.Attribute)}
        return tuple(self.kept.path(names[name]) for name, *_ in paths)

    @cached_property
    def needs(self) -> Needs:
        inner = self.inner.needs
        return Needs(
            time=inner.time,
            type=inner.type,
            read=self.read,
            named_types=inner.named_types,
            kept_types=self._kept_types(),
            columns=tuple((self.kept.name(name), st.Attribute((name,))) for name in self.read),
            together=self._kept_paths(inner.together),
            rule=inner.rule,
        )

    def _kept_types(self) -> frozenset[str] | None:
        """None for all: where any event makes situations, or stands between two others."""
        source, named = self.situations.plan.source, self.inner.needs.named_types
        if self.inner.type is None or source is None or named is None or self.inner.plan.needs_every_event:
            return None
        return named | {source}

    @cached_property
    def kept(self) -> WholeEvents:
        """The events that are kept, as rows."""
        return WholeEvents(pa.schema([self.events.field(name) for name in self.read]), self.inner.time)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        """Events that can play a part, as they are kept."""
        kept, dropped = keep_events(self.needs, events)
        return self.kept.keep(kept), dropped

    def adopt(self, rows: pa.Table) -> pa.Table:
        return self.kept.adopt(rows)

    def mark(self, rows: pa.Table, runs: Carry = NO_CARRY) -> pa.Table:
        """Kept rows as the events that they were, with what they lie in; `runs` are those of earlier rows."""
        return mark_events(self.situations, self.plan.columns, self.kept.restore(rows), runs)

    def prepare_marked(self, rows: pa.Table) -> pa.Table:
        return self.inner.prepare(self.mark(rows))[0]

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return self.inner.compute(self.prepare_marked(rows), scope)

    def partials(self) -> PartialResults | None:
        parts = self.inner.partials()
        if parts is None:
            return None
        compute = parts.compute
        return replace(parts, compute=lambda rows, scope: compute(self.prepare_marked(rows), scope))

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        inner = self.inner.steps(in_parts, early)
        return None if inner is None else SituatedSteps(self, inner)

    def problems_of_early_rows(self) -> list[Problem]:
        message = "whether an event lies in a situation may be known only later, so there are no early results"
        hint = "remove early=, and use the rows when their windows close"
        return [*self.inner.problems_of_early_rows(), Problem("TW409", message, hint)]

    @property
    def shown_keys(self) -> Mapping[Path, str]:
        return {path: self.kept.shown(path) for path in self.needs.together}
