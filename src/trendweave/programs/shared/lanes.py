"""Queries with edge predicates side by side: one encoding, one search for predecessors, rows of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import CountTooLargeError
from trendweave.programs.program import NO_CARRY, Carry, PartialResults, Program, Scope
from trendweave.programs.shared.lanes_task import LanesTask
from trendweave.programs.shared.rows import SharedRows
from trendweave.programs.shared.unit import Found, OneView, Part, UnitStep, WrappedSteps
from trendweave.programs.trends.aggregates import TaskOptions
from trendweave.programs.trends.program import PartialAggregates, TrendAggregates
from trendweave.programs.trends.steps import TrendSteps
from trendweave.results.partial_table import to_table
from trendweave.results.partials import TaskResult
from trendweave.sharing.lanes import Lanes


@dataclass(frozen=True)
class LanesUnit(OneView):
    """Members that are aggregated in one go. `merged` has the merged plan; rows are prepared for it."""

    unit: Lanes
    programs: tuple[TrendAggregates, ...]
    merged: TrendAggregates
    first: int = 0

    @property
    def members(self) -> tuple[int, ...]:
        return self.unit.members

    @property
    def source(self) -> Program:
        return self.merged

    def placed(self, first: int) -> LanesUnit:
        return replace(self, first=first)

    def aggregate(self, rows: pa.Table, scope: Scope) -> list[TaskResult]:
        """Numbers per window and group of each member."""
        options = TaskOptions(self.merged.numbers != "float64", self.merged.way, scope.windows, scope.chunk)
        plans = [program.plan for program in self.programs]
        try:
            return LanesTask(self.unit, plans, self.merged.preparation, rows, options).run_members()
        except CountTooLargeError as error:
            hint = 'ask for numbers="float64", or use smaller windows'
            raise ExecutionError([Problem("TW403", str(error), hint)]) from error

    def found(self, rows: pa.Table, scope: Scope) -> Iterator[Found]:
        """Result rows of all members, of prepared rows."""
        results = self.aggregate(rows, scope)
        for member, program, result in zip(self.members, self.programs, results, strict=True):
            yield Found(program.write(result, scope), member)

    def compute(self, rows: SharedRows, scope: Scope) -> Iterator[Found]:
        yield from self.found(self.view(rows), scope)

    def mergers(self) -> tuple[PartialResults | None, ...]:
        return tuple(program.partials() for program in self.programs)

    def parts(self, rows: SharedRows, scope: Scope) -> Iterator[Part]:
        yield from self.parts_of(self.view(rows), scope)

    def parts_of(self, rows: pa.Table, scope: Scope) -> Iterator[Part]:
        """Parts of the results of all members; rows where a member's are final."""
        results = self.aggregate(rows, scope)
        for number, (program, result, merger) in enumerate(zip(self.programs, results, self.mergers(), strict=True)):
            if isinstance(merger, PartialAggregates):
                yield Part(to_table(result, merger.schema), number)
            else:
                table = program.write(result, scope)
                yield Part(table, number, Found(table, self.members[number]))

    def merge(self, merger: int, parts: pa.Table, scope: Scope) -> Found:
        merges = self.mergers()[merger]
        assert merges is not None, "final rows are not merged"
        return Found(merges.merge(parts, scope), self.members[merger])

    def steps(self, in_parts: bool, early: bool = False) -> LanesSteps | None:
        closing = self.merged.closing()
        if closing is None:
            return None
        return LanesSteps(TrendSteps(closing, self.merged.time_type, self.merged.compute), self, in_parts)


@dataclass(frozen=True, slots=True)
class LanesSteps(WrappedSteps):
    """Rows of a window come out once, for all members, when the watermark has passed its end."""

    inner: TrendSteps
    unit: LanesUnit
    in_parts: bool

    def step(self, rows: SharedRows, carry: Carry, before: int | None, watermark: int | None) -> UnitStep:
        windows = self.inner.closing.windows(before, watermark)
        needed = self.inner.select_rows(self.unit.view(rows), windows)
        if not needed.num_rows:
            return UnitStep((), NO_CARRY)
        given = self.unit.parts_of if self.in_parts else self.unit.found
        return UnitStep(given(needed, Scope(windows)), NO_CARRY)

    def peek(self, rows: SharedRows, changed: tuple[int, int], before: int | None) -> Iterable[Found]:
        windows = self.inner.closing.touched(*changed, before)
        needed = self.inner.select_rows(self.unit.view(rows), windows)
        return self.unit.found(needed, Scope(windows)) if needed.num_rows else ()


def bind_lanes(unit: Lanes, programs: Sequence[Program]) -> LanesUnit:
    """Bind a unit to the programs of all members of a workload."""
    own = [programs[member] for member in unit.members]
    members = tuple(program for program in own if isinstance(program, TrendAggregates))
    assert len(members) == len(own), "only aggregates lie side by side"
    first = members[0]
    bound = (first.events, first.time, first.type, first.numbers)
    return LanesUnit(unit, members, TrendAggregates(unit.plan, *bound, way=first.way))
