"""The unit of merged queries: rows are sorted once, and one kernel call counts and measures for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import CountTooLargeError
from trendweave.kernels.many_queries import Sharing, SharingCounts, aggregate_shared
from trendweave.planning.plan import Window
from trendweave.programs.program import EVERYTHING, Carry, PartialResults, Program, Scope
from trendweave.programs.shared.merged.inputs import PlacedUnit
from trendweave.programs.shared.merged.results import (
    Columns,
    UnitResults,
    results_of_members,
    sort_by_columns,
)
from trendweave.programs.shared.merged.search import SearchTask
from trendweave.programs.shared.merged.timing import MergedTiming
from trendweave.programs.shared.metrics import SharingMetrics
from trendweave.programs.shared.rows import RowsPlan, SharedRows
from trendweave.programs.shared.unit import Found, Given, Part, Unit, UnitStep, telling_member
from trendweave.programs.trends.aggregates import TaskOptions
from trendweave.programs.trends.program import TrendAggregates
from trendweave.results.partial_table import to_table
from trendweave.results.partials import TaskResult
from trendweave.rows.closing import Closing
from trendweave.sharing.graphlets import Graphlets
from trendweave.sharing.lanes import Lanes

#: Per kind of windows, the range that is asked for.
Ranges = Sequence[tuple[int, int] | None]


@dataclass(frozen=True)
class MergedUnit(Unit):
    """Queries in one automaton. Where they compare neighbouring events, `search` is the program of the merged plan,
    which searches for predecessors; others are computed burst by burst."""

    unit: Graphlets | Lanes
    programs: tuple[TrendAggregates, ...]
    sharing: str
    search: TrendAggregates | None = None
    _placed: list[PlacedUnit] = field(init=False, default_factory=list, compare=False, repr=False)

    @property
    def members(self) -> tuple[int, ...]:
        return self.unit.members

    @property
    def sources(self) -> tuple[Program, ...]:
        return self.programs if self.search is None else (self.search,)

    @cached_property
    def columns(self) -> tuple[Columns, ...]:
        """Queries that are written alike."""
        return sort_by_columns(self.members, self.programs)

    @cached_property
    def windows(self) -> dict[Window, int]:
        """The kinds of windows, each with a member that has it."""
        kinds: dict[Window, int] = {}
        for member, program in zip(self.members, self.programs, strict=True):
            kinds.setdefault(program.plan.window, member)
        return kinds

    # All at once

    def compute(self, rows: SharedRows, scope: Scope) -> Iterator[Found]:
        for columns, found in self.aggregate(rows, self._everywhere(scope), scope.chunk):
            yield columns.write(found, scope)

    def _everywhere(self, scope: Scope) -> Ranges:
        return [scope.windows] * len(self.windows)

    def aggregate(
        self, rows: SharedRows, only: Ranges, chunk: int | None = None
    ) -> Iterator[tuple[Columns, TaskResult]]:
        """Aggregates of all queries, by how they are written.

        Args:
            rows: Shared rows.
            only: Per kind of windows, the range that is asked for.
            chunk: The length of the chunks of time whose numbers the rows carry.
        """
        if not rows.table.num_rows:
            return
        if isinstance(self.unit, Lanes):
            yield from self._search(self.unit, rows, only, chunk)
            return
        placed = self._place(self.unit, rows.plan)
        unit_rows = placed.encode(rows)
        measures = unit_rows.measure()
        try:
            found = aggregate_shared(
                unit_rows.kernel_rows(only, chunk),
                placed.template,
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

    def _search(
        self, unit: Lanes, rows: SharedRows, only: Ranges, chunk: int | None
    ) -> Iterator[tuple[Columns, TaskResult]]:
        merged = self.search
        assert merged is not None, "there is a merged plan"
        options = TaskOptions(merged.numbers != "float64", only[0], chunk)
        plans = [program.plan for program in self.programs]
        try:
            found = SearchTask(unit, plans, merged.preparation, self.view(rows), options).run_members()
        except CountTooLargeError as error:
            hint = 'ask for numbers="float64", or use smaller windows'
            raise ExecutionError([Problem("TW403", str(error), hint)]) from error
        yield from results_of_members(self.columns, found)

    def _aggregate_one_by_one(
        self, rows: SharedRows, only: Ranges, chunk: int | None
    ) -> Iterator[tuple[Columns, TaskResult]]:
        """Where a number is too large for all of them: only those queries fail that have it, and say so."""
        found = []
        for query, (member, program) in enumerate(zip(self.members, self.programs, strict=True)):
            windows = only[list(self.windows).index(program.plan.window)]
            with telling_member(member):
                view = program.adopt(rows.view(self.first + query))
                found.append(program.aggregate(view, Scope(windows, chunk)))
        yield from results_of_members(self.columns, found)

    def _place(self, unit: Graphlets, plan: RowsPlan) -> PlacedUnit:
        if not self._placed or self._placed[0].rows_plan is not plan:
            self._placed[:] = [PlacedUnit(unit.merged, self.programs, plan, self.first)]
        return self._placed[0]

    # In parts

    def mergers(self) -> tuple[PartialResults | None, ...]:
        return tuple(columns.merger for columns in self.columns)

    def parts(self, rows: SharedRows, scope: Scope) -> Iterator[Given]:
        yield from self.as_parts(self.aggregate(rows, self._everywhere(scope), scope.chunk), scope)

    def as_parts(self, found: Iterator[tuple[Columns, TaskResult]], scope: Scope) -> Iterator[Given]:
        """Aggregates as parts, or as rows where nothing is left to merge."""
        number = {columns.queries: place for place, columns in enumerate(self.columns)}
        for columns, results in found:
            merger = columns.merger
            if merger is None:
                yield columns.write(results, scope)
            else:
                yield Part(to_table(results, merger.schema), number[columns.queries])

    # Piece by piece

    def steps(self, in_parts: bool, early: bool = False) -> MergedTiming | None:
        kind = self.programs[0].time_type
        found = []
        for window, member in self.windows.items():
            with telling_member(member):
                found.append(Closing.of(window, kind))
        closings = tuple(closing for closing in found if closing is not None)
        # Windows over the whole input are units of their own.
        return None if len(closings) < len(found) else MergedTiming(closings)

    def step(
        self, steps: Any, in_parts: bool, rows: SharedRows, carry: Carry, before: int | None, watermark: int | None
    ) -> UnitStep:
        found = self.aggregate(rows, steps.windows(before, watermark))
        if in_parts:
            return UnitStep(self.as_parts(found, EVERYTHING))
        return UnitStep(columns.write(results, EVERYTHING) for columns, results in found)

    def peek(self, steps: Any, rows: SharedRows, changed: tuple[int, int], before: int | None) -> Iterable[Found]:
        for columns, results in self.aggregate(rows, steps.touched(changed, before)):
            yield columns.write(results, EVERYTHING)


def _add_counts(metrics: SharingMetrics, counts: SharingCounts) -> None:
    for name in counts._fields:
        setattr(metrics, name, getattr(metrics, name) + int(getattr(counts, name)))


def bind_merged(unit: Graphlets | Lanes, programs: Sequence[Program], sharing: str) -> MergedUnit:
    """The unit of merged queries, bound to the programs of all members of a workload."""
    own = [program for program in (programs[member] for member in unit.members) if isinstance(program, TrendAggregates)]
    assert len(own) == len(unit.members), "only aggregates are merged"
    search = None
    if isinstance(unit, Lanes):
        one = own[0]
        search = TrendAggregates(unit.plan, one.events, one.time, one.type, one.numbers)
    return MergedUnit(unit, tuple(own), sharing, search)
