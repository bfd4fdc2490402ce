"""Trend queries whose events lie in situations (S DURING X): a program around the one of the trends.

Whether an event lies in a situation may turn out later: when the situation has become long enough, or too long. So rows
are events as they came, and what they lie in is told when they are computed. Piece by piece that is settled after the
longest length that a definition names, so windows close so much later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.programs.bound import WholeEvents, describe_key
from trendweave.programs.intervals.program import IntervalMatches
from trendweave.programs.preparing import keep_events
from trendweave.programs.program import (
    EVERYTHING,
    NO_CARRY,
    Carry,
    Needs,
    Output,
    PartialResults,
    Scope,
    Steps,
    TieKeys,
    TimeCut,
    Work,
)
from trendweave.programs.situated.marking import mark_events
from trendweave.programs.situated.steps import SituatedSteps
from trendweave.programs.trends.program import TrendAggregates, TrendLists
from trendweave.results.types import ResultColumn
from trendweave.rows.dropped import Dropped


@dataclass(frozen=True)
class InSituations:
    """`columns` are those that tell the trends of `inner` which situations an event lies in; `read` are the columns of
    events that both read. Kept rows have the time as TIME and the others under longer names."""

    inner: TrendAggregates | TrendLists
    situations: IntervalMatches
    columns: tuple[str, ...]
    read: tuple[str, ...]
    text: str

    @property
    def events(self) -> pa.Schema:
        return self.situations.events

    @property
    def work(self) -> Work:
        return self.inner.work

    @property
    def result(self) -> tuple[ResultColumn, ...]:
        return self.inner.result

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

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
        return mark_events(self.situations, self.columns, self.kept.restore(rows), runs)

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

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """A situation that began long ago may still hold, so time is not cut."""
        return None

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        inner = self.inner.steps(in_parts, early)
        return None if inner is None else SituatedSteps(self, inner)

    def problems_of_early_rows(self) -> list[Problem]:
        message = "whether an event lies in a situation may be known only later, so there are no early results"
        hint = "remove early=, and use the rows when their windows close"
        return [*self.inner.problems_of_early_rows(), Problem("TW409", message, hint)]

    def describe_key(self, rows: pa.Table, row: int) -> str:
        return describe_key(rows, row, {path: self.kept.shown(path) for path in self.needs.together})
