"""The unit of merged queries: rows are sorted once, and one kernel call counts and measures for all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.kernels import CountTooLargeError
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import Sharing, SharingCounts, aggregate_shared
from trendweave.planning.plan import Plan, Window
from trendweave.programs.program import EVERYTHING, NO_CARRY, Carry, PartialResults, Program, Scope, Steps
from trendweave.programs.shared.merged.tasks import GraphletTask, SearchTask, make_template
from trendweave.programs.shared.metrics import SharingMetrics
from trendweave.programs.shared.rows import count_asked
from trendweave.programs.shared.steps import hull
from trendweave.programs.shared.unit import (
    Given,
    Unit,
    by_member,
    group_by_member,
    name_member,
    telling_member,
)
from trendweave.programs.trends.aggregates import TaskOptions
from trendweave.programs.trends.detection import Limits
from trendweave.programs.trends.program import TrendAggregates, too_large_counts
from trendweave.results.partial_table import to_table
from trendweave.results.partials import TaskResult
from trendweave.rows.closing import Closing
from trendweave.sharing.graphlets import Graphlets
from trendweave.sharing.lanes import Lanes
from trendweave.sharing.merged import merge_templates

#: Templates are large together that nobody wrote.
_NO_LIMITS = Limits(2**63, 2**63)
#: Per kind of windows, the range that is asked for.
Ranges = Sequence[tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class MergedTiming(Steps):
    """A closing per kind of windows. Rows wait as long as a window of any kind that holds them may come out; nothing
    outlives them."""

    closings: tuple[Closing, ...]
    metrics: SharingMetrics

    @property
    def pane(self) -> int:
        return min(closing.pane for closing in self.closings)

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        if waiting is None:
            return None
        known = []
        for closing in self.closings:
            first = waiting[0] if watermark is None else max(waiting[0], _keeps_from(closing, watermark))
            if first <= waiting[1]:
                known.append(closing.due(first, waiting[1], watermark))
        return min(known, default=None)

    def windows(self, before: int | None, watermark: int | None) -> list[tuple[int, int]]:
        """Per kind, the windows that close when the watermark moves."""
        return [closing.windows(before, watermark) for closing in self.closings]

    def touched(self, changed: tuple[int, int], before: int | None) -> list[tuple[int, int]]:
        """Per kind, the open windows whose rows change with events between these times."""
        return [closing.touched(*changed, before) for closing in self.closings]

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self._times(self.windows(before, watermark))

    def _times(self, windows: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The times of the rows that lie in one of these windows."""
        return hull(closing.times(own) for closing, own in zip(self.closings, windows, strict=True))

    def keeps_from(self, watermark: int) -> int:
        return min(_keeps_from(closing, watermark) for closing in self.closings)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return self._times(self.touched(changed, before))


def _keeps_from(closing: Closing, watermark: int) -> int:
    return closing.first_kept_pane(watermark) * closing.pane


@dataclass(frozen=True)
class Columns:
    """Queries of a unit that show the same columns, by their numbers inside it, and how these are written.

    `members` are the numbers of the queries in the workload; `program` is that of the first, with them as a group.
    """

    queries: tuple[int, ...]
    members: np.ndarray
    program: TrendAggregates

    @property
    def merger(self) -> PartialResults | None:
        return self.program.partials()

    def write(self, found: TaskResult, scope: Scope) -> pa.Table:
        """Result rows; where one of them cannot be written, the error says whose it is."""

        def take(own: np.ndarray) -> TaskResult:
            return TaskResult(found.partials.take(own), [group.filter(pa.array(own)) for group in found.groups])

        numbers = found.groups[0].to_numpy()
        return by_member(name_member(found, numbers, take, lambda one: self.program.write(one, scope)))


@dataclass(frozen=True)
class MergedUnit(Unit):
    """Queries in one automaton; `program` is that of the merged plan. Where they compare neighbouring events,
    predecessors are searched for; others are computed burst by burst."""

    unit: Graphlets | Lanes
    programs: tuple[TrendAggregates, ...]
    program: TrendAggregates
    sharing: str

    @property
    def members(self) -> tuple[int, ...]:
        return self.unit.members

    @property
    def source(self) -> Program:
        return self.program

    @property
    def patterns(self) -> Sequence[Plan]:
        return [program.plan for program in self.programs]

    @cached_property
    def saved(self) -> int:
        return sum(map(count_asked, self.programs)) - count_asked(self.program)

    @cached_property
    def columns(self) -> tuple[Columns, ...]:
        """Queries that are written alike."""
        alike: dict[Hashable, list[int]] = defaultdict(list)
        for query, program in enumerate(self.programs):
            plan = program.plan
            shown = tuple((one.name, one.function, one.path, one.variable is None) for one in plan.aggregates)
            alike[plan.window, plan.groups, shown, plan.outputs, plan.having, plan.order_by, plan.limit].append(query)
        members = np.array(self.members, np.int32)
        return tuple(
            Columns(tuple(queries), members[queries], group_by_member(self.programs[queries[0]]))
            for queries in alike.values()
        )

    @cached_property
    def windows(self) -> dict[Window, int]:
        """The kinds of windows, each with a member that has it."""
        kinds: dict[Window, int] = {}
        for member, program in zip(self.members, self.programs, strict=True):
            kinds.setdefault(program.plan.window, member)
        return kinds

    # All at once

    def compute(self, rows: pa.Table, scope: Scope, metrics: SharingMetrics, in_parts: bool = False) -> Iterator[Given]:
        only = [scope.windows] * len(self.windows)
        yield from self._write(self.aggregate(rows, only, metrics, scope.chunk), scope, in_parts)

    def _write(self, found: Iterator[tuple[Columns, TaskResult]], scope: Scope, in_parts: bool) -> Iterator[Given]:
        """Aggregates as rows, or as parts where something is left to merge."""
        for columns, results in found:
            merger = columns.merger if in_parts else None
            if merger is None:
                yield Given(columns.write(results, scope))
            else:
                yield Given(to_table(results, merger.schema), merger=self.columns.index(columns))

    def aggregate(
        self, rows: pa.Table, only: Ranges, metrics: SharingMetrics, chunk: int | None = None
    ) -> Iterator[tuple[Columns, TaskResult]]:
        """Aggregates of all queries, by how they are written.

        Args:
            rows: Prepared rows of the merged plan.
            only: Per kind of windows, the range that is asked for.
            metrics: Counts what is shared.
            chunk: The length of the chunks of time whose numbers the rows carry.
        """
        if not rows.num_rows:
            return
        if isinstance(self.unit, Lanes):
            yield from self._search(self.unit, rows, only, chunk)
            return
        task = GraphletTask(self.unit.merged, self.unit.plan, self.program.preparation, rows)
        try:
            counts = self._run(task, self._template, only, chunk)
        except CountTooLargeError:
            yield from self._aggregate_one_by_one(self.unit.plan, rows, only, chunk)
            return
        _add_counts(metrics, counts)
        for columns in self.columns:
            found = task.read(columns.queries, columns.members, columns.program)
            if found is not None:
                yield columns, found

    @cached_property
    def _template(self) -> MergedTemplate:
        assert isinstance(self.unit, Graphlets), "others are searched in"
        return make_template(self.unit.merged, self.unit.plan)

    def _run(self, task: GraphletTask, template: MergedTemplate, only: Ranges, chunk: int | None) -> SharingCounts:
        numbers = "float64" if self.program.numbers == "float64" else "exact"
        rows, sharing = task.kernel_rows(only, chunk), Sharing(self.sharing)
        found = aggregate_shared(rows, template, task.measures, sharing=sharing, numbers=numbers)
        task.take(found)
        return found.counts

    def _search(
        self, unit: Lanes, rows: pa.Table, only: Ranges, chunk: int | None
    ) -> Iterator[tuple[Columns, TaskResult]]:
        options = TaskOptions(self.program.numbers != "float64", only[0], chunk)
        plans = [program.plan for program in self.programs]
        with too_large_counts(floats=True):
            found = SearchTask(unit, plans, self.program.preparation, rows, options).run_members()
        for columns in self.columns:
            for query, member in zip(columns.queries, columns.members, strict=True):
                numbers = pa.array(np.full(found[query].partials.window.size, member))
                yield columns, TaskResult(found[query].partials, [numbers, *found[query].groups])

    def _aggregate_one_by_one(
        self, merged: Plan, rows: pa.Table, only: Ranges, chunk: int | None
    ) -> Iterator[tuple[Columns, TaskResult]]:
        """Where a number is too large for all of them: only those queries fail that have it, and say so."""
        for columns in self.columns:
            for query, member in zip(columns.queries, columns.members, strict=True):
                plan = self.programs[query].plan
                alone = merge_templates([plan])
                task = GraphletTask(alone, merged, self.program.preparation, rows)
                own = [only[list(self.windows).index(plan.window)]]
                with telling_member(int(member)), too_large_counts(floats=True):
                    self._run(task, make_template(alone, merged), own, chunk)
                found = task.read((0,), np.array([member], np.int32), columns.program)
                if found is not None:
                    yield columns, found

    # In parts

    def mergers(self) -> tuple[PartialResults | None, ...]:
        return tuple(columns.merger for columns in self.columns)

    # Piece by piece

    def steps(self, in_parts: bool, early: bool, metrics: SharingMetrics) -> MergedTiming | None:
        kind = self.programs[0].time_type
        found = []
        for window, member in self.windows.items():
            with telling_member(member):
                found.append(Closing.of(window, kind))
        closings = tuple(closing for closing in found if closing is not None)
        # Windows over the whole input are units of their own.
        return None if len(closings) < len(found) else MergedTiming(closings, metrics)

    def step(
        self, steps: Any, in_parts: bool, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None
    ) -> tuple[Iterable[Given], Carry]:
        return self._write(
            self.aggregate(rows, steps.windows(before, watermark), steps.metrics), EVERYTHING, in_parts
        ), NO_CARRY

    def peek(self, steps: Any, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[Given]:
        return self._write(self.aggregate(rows, steps.touched(changed, before), steps.metrics), EVERYTHING, False)


def _add_counts(metrics: SharingMetrics, counts: SharingCounts) -> None:
    for name in counts._fields:
        setattr(metrics, name, getattr(metrics, name) + int(getattr(counts, name)))


def bind_merged(unit: Graphlets | Lanes, programs: Sequence[Program], sharing: str) -> MergedUnit:
    """The unit of merged queries, bound to the programs of all members of a workload."""
    own = [program for program in (programs[member] for member in unit.members) if isinstance(program, TrendAggregates)]
    assert len(own) == len(unit.members), "only aggregates are merged"
    one = own[0]
    limits = one.limits if isinstance(unit, Lanes) else _NO_LIMITS
    program = TrendAggregates(unit.plan, one.events, one.time, one.type, one.numbers, limits=limits)
    return MergedUnit(unit, tuple(own), program, sharing)
