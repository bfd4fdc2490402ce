"""The unit of queries in one automaton: rows are sorted once, one kernel call counts and measures for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from trendweave.kernels import CountTooLargeError
from trendweave.kernels.many_queries import Sharing, SharingCounts, aggregate_shared
from trendweave.programs.program import PartialResults, Program, Scope
from trendweave.programs.shared.graphlets.inputs import PlacedUnit
from trendweave.programs.shared.graphlets.results import (
    Columns,
    MemberResults,
    UnitResults,
    results_of_members,
    sort_by_columns,
)
from trendweave.programs.shared.graphlets.steps import GraphletSteps
from trendweave.programs.shared.metrics import SharingMetrics
from trendweave.programs.shared.rows import RowsPlan, SharedRows
from trendweave.programs.shared.unit import Found, Part, telling_member
from trendweave.programs.trends.program import TrendAggregates
from trendweave.rows.closing import Closing
from trendweave.sharing.graphlets import Graphlets

#: Per kind of windows, the range that is asked for.
Ranges = Sequence[tuple[int, int] | None]


@dataclass(frozen=True)
class GraphletsUnit:
    """Queries in one automaton."""

    unit: Graphlets
    programs: tuple[TrendAggregates, ...]
    sharing: str
    first: int = 0
    _placed: list[PlacedUnit] = field(default_factory=list, compare=False, repr=False)

    @property
    def members(self) -> tuple[int, ...]:
        return self.unit.members

    @property
    def sources(self) -> tuple[Program, ...]:
        return self.programs

    def placed(self, first: int) -> GraphletsUnit:
        return replace(self, first=first, _placed=[])

    @cached_property
    def columns(self) -> tuple[Columns, ...]:
        """Queries that are written alike."""
        return sort_by_columns(self.members, self.programs)

    # All at once

    def compute(self, rows: SharedRows, scope: Scope) -> Iterator[Found]:
        for columns, found in self.aggregate(rows, self._everywhere(scope), scope.chunk):
            yield columns.write(found, scope)

    def _everywhere(self, scope: Scope) -> Ranges:
        return [scope.windows] * len(self.unit.merged.windows)

    def aggregate(
        self, rows: SharedRows, only: Ranges, chunk: int | None = None
    ) -> Iterator[tuple[Columns, MemberResults]]:
        """Aggregates of all queries, by how they are written.

        Args:
            rows: Shared rows.
            only: Per kind of windows, the range that is asked for.
            chunk: The length of the chunks of time whose numbers the rows carry.
        """
        if not rows.table.num_rows:
            return
        unit_rows = self._place(rows.plan).encode(rows)
        measures = unit_rows.measure()
        try:
            found = aggregate_shared(
                unit_rows.kernel_rows(only, chunk),
                unit_rows.placed.template,
                measures.asked,
                sharing=Sharing(self.sharing),
                numbers="float64" if self.programs[0].numbers == "float64" else "exact",
            )
        except CountTooLargeError:
            yield from self._aggregate_one_by_one(rows, only, chunk)
            return
        _add_counts(rows.metrics, found.counts)
        results = UnitResults(unit_rows, measures, found)
        for columns in self.columns:
            of_columns = results.read(columns)
            if of_columns is not None:
                yield columns, of_columns

    def _aggregate_one_by_one(
        self, rows: SharedRows, only: Ranges, chunk: int | None
    ) -> Iterator[tuple[Columns, MemberResults]]:
        """Where a number is too large for all of them: only those queries fail that have it, and say so."""
        found = []
        for query, (member, program) in enumerate(zip(self.members, self.programs, strict=True)):
            windows = only[self.unit.merged.query_windows[query]]
            with telling_member(member):
                view = program.adopt(rows.view(self.first + query))
                found.append(program.aggregate(view, Scope(windows, chunk)))
        yield from results_of_members(self.columns, found)

    def _place(self, plan: RowsPlan) -> PlacedUnit:
        if not self._placed or self._placed[0].rows_plan is not plan:
            self._placed[:] = [PlacedUnit(self.unit.merged, self.programs, plan, self.first)]
        return self._placed[0]

    # In parts

    def mergers(self) -> tuple[PartialResults | None, ...]:
        return tuple(columns.merger for columns in self.columns)

    def parts(self, rows: SharedRows, scope: Scope) -> Iterator[Part]:
        yield from self.as_parts(self.aggregate(rows, self._everywhere(scope), scope.chunk), scope)

    def as_parts(self, found: Iterator[tuple[Columns, MemberResults]], scope: Scope) -> Iterator[Part]:
        """Aggregates as parts, or as rows where nothing is left to merge."""
        number = {columns.queries: place for place, columns in enumerate(self.columns)}
        for columns, results in found:
            merger = columns.merger
            if merger is not None:
                yield Part(merger.write(results), number[columns.queries])
                continue
            written = columns.write(results, scope)
            yield Part(written.table, number[columns.queries], written)

    def merge(self, merger: int, parts: pa.Table, scope: Scope) -> Found:
        merges = self.columns[merger].merger
        assert merges is not None, "final rows are not merged"
        return merges.find(parts, scope)

    # Piece by piece

    def steps(self, in_parts: bool, early: bool = False) -> GraphletSteps | None:
        kind = self.programs[0].time_type
        found = []
        for number, window in enumerate(self.unit.merged.windows):
            member = self.members[self.unit.merged.query_windows.index(number)]
            with telling_member(member):
                found.append(Closing.of(window, kind))
        closings = tuple(closing for closing in found if closing is not None)
        # Windows over the whole input are units of their own.
        return None if len(closings) < len(found) else GraphletSteps(self, closings, in_parts)


def _add_counts(metrics: SharingMetrics, counts: SharingCounts) -> None:
    for name in counts._fields:
        setattr(metrics, name, getattr(metrics, name) + int(getattr(counts, name)))


def bind_graphlets(unit: Graphlets, programs: Sequence[Program], sharing: str) -> GraphletsUnit:
    """The unit of merged queries, bound to the programs of all members of a workload."""
    own = tuple(program for program in (programs[member] for member in unit.members))
    assert all(isinstance(program, TrendAggregates) for program in own), "only aggregates are merged"
    return GraphletsUnit(unit, own, sharing)  # type: ignore[arg-type]
