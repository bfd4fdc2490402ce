"""Trend queries whose events lie in situations (S DURING X): a program around the one of the trends.

Whether an event lies in a situation may turn out later: when the situation has become long enough, or too long. So rows
are events as they came, and what they lie in is told when they are computed. Piece by piece that is settled after the
longest length that a definition names, so windows close so much later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import Problem
from trendweave.kernels.aggregates.blocks import find_first
from trendweave.kernels.intervals import RUNNING
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.bound import WholeEvents
from trendweave.programs.carry import carry_of, name_carry
from trendweave.programs.intervals.program import IntervalMatches
from trendweave.programs.intervals.situations import Partitions, derive_situations, number_partitions
from trendweave.programs.preparing import keep_events, prepare_rows
from trendweave.programs.program import (
    EVERYTHING,
    NO_CARRY,
    Arrange,
    Carry,
    Needs,
    Output,
    PartialResults,
    Program,
    Scope,
    Step,
    Steps,
    TieKeys,
)
from trendweave.programs.steps import select_rows
from trendweave.programs.trends.program import TrendAggregates, TrendLists
from trendweave.results.types import ResultColumn
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps

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
        runs: Carry = {name: table for name, table in carry.items() if not name.startswith(_INNER)}
        within = carry_of(carry, _INNER)
        if needed.any() or within:
            marked = self.program.mark(rows, runs)
            prepared = self.program.inner.prepare(select_rows(marked, needed))[0]
            step = self.inner.step(prepared, within, self._settled(before), settled)
            batches, within = step.batches, step.carry
        if watermark is None:
            return Step(batches, NO_CARRY)
        gone = steps < self.keeps_from(watermark)
        if gone.any():
            runs = self.program.remember(rows.filter(pa.array(np.asarray(gone))), runs)
        return Step(batches, {**runs, **name_carry(within, _INNER)})


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
        """Kept rows as the events that they were, with one boolean column per situation: do they lie in one? `runs` are
        those of earlier rows."""
        events = self.kept.restore(rows)
        partitions = self._number_partitions(events, runs)
        ordered, found = partitions.every, derive_situations(partitions.rows, partitions.bits, partitions.since)
        # One that has not ended goes on: it is as long as any AT LEAST asks for.
        length = np.where(found.end == RUNNING, RUNNING, found.end - found.start)
        good = self.situations.lengths.fit(found.kind, length)
        place = ordered.table_rows(np.arange(ordered.time.size))
        for k, name in enumerate(self.plan.columns):
            own = found.take(good & (found.kind == k))
            low, high = ordered.starts[own.partition], ordered.starts[own.partition + 1]
            # A row lies in a situation that has begun and not ended; those of one kind and partition are disjoint.
            change = np.zeros(ordered.time.size + 1, np.int64)
            np.add.at(change, find_first(ordered.time, low, high, own.start), 1)
            np.add.at(change, find_first(ordered.time, low, high, own.end), -1)
            flags = np.zeros(events.num_rows, np.bool_)
            flags[place] = np.cumsum(change[:-1]) > 0
            events = events.append_column(name, pa.array(flags))
        return events

    def remember(self, rows: pa.Table, runs: Carry) -> Carry:
        """The runs that go on after these rows; those that come later are not before any of them."""
        partitions = self._number_partitions(self.kept.restore(rows), runs)
        derive_situations(partitions.rows, partitions.bits, partitions.since)
        return partitions.remember(partitions.bits != 0, self.situations.plan.looks_back)

    def _number_partitions(self, events: pa.Table, runs: Carry) -> Partitions:
        """Events make situations, or those of one type where FROM names it. Others may still lie in them."""
        bound, makes = self.situations, None
        if bound.type is not None and bound.plan.source is not None:
            makes = np.asarray(pc.equal(events.column(bound.type), pa.scalar(bound.plan.source, pa.string())))
        table, _ = prepare_rows(replace(bound.needs, type=None), events)
        return number_partitions(bound, table, runs, makes=makes)

    def prepare_marked(self, rows: pa.Table) -> pa.Table:
        return self.inner.prepare(self.mark(rows))[0]

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        return self.inner.compute(self.prepare_marked(rows), scope)

    def why_whole(self) -> str | None:
        return self.inner.why_whole()

    def for_part(self, parts: int) -> Self:
        return replace(self, inner=self.inner.for_part(parts))

    def arranging(self, by_time: bool = False) -> Arrange | None:
        return self.inner.arranging(by_time)

    def check_number(self, batches: Iterator[pa.RecordBatch], trends: int | None) -> Iterator[pa.RecordBatch]:
        return self.inner.check_number(batches, trends)

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
