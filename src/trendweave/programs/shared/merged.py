"""The unit of merged queries: rows of the merged plan are encoded once, and aggregates of each query are as its own
program would have them. Graphlets are computed burst by burst, lanes with one search for predecessors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import CountTooLargeError, QueryLanes, Results, aggregate, sort_by_query
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import SharedRows, Sharing, aggregate_shared
from trendweave.planning.plan import Path, Plan, Window
from trendweave.planning.preparation import Preparation
from trendweave.programs.program import EVERYTHING, NO_CARRY, Carry, PartialResults, Program, Scope, Steps
from trendweave.programs.shared.rows import count_asked
from trendweave.programs.shared.steps import hull
from trendweave.programs.shared.unit import (
    Given,
    SharingMetrics,
    Unit,
    by_member,
    group_by_member,
    name_member,
    telling_member,
)
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions, of_rows, sum_too_large, tick_chunks
from trendweave.programs.trends.detection import Limits
from trendweave.programs.trends.kernel_inputs import SELECTION, KernelInputs
from trendweave.programs.trends.measured_values import SumTooLargeError, measure_values
from trendweave.programs.trends.program import TrendAggregates, too_large_counts
from trendweave.programs.trends.window_guards import guard_ends, guard_starts
from trendweave.results.partial_table import to_table
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.closing import Closing
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import EncodedRows, PartitionBlock, encode_rows, sort_partitions
from trendweave.rows.segments import take_segments
from trendweave.rows.windows import WindowNumbers, number_windows
from trendweave.sharing.graphlets import Graphlets
from trendweave.sharing.lanes import MOST_LANES, Lanes, role_name
from trendweave.sharing.merged import MergedQueries, Reading, merge_templates

#: Templates are large together that nobody wrote.
_NO_LIMITS = Limits(2**63, 2**63)
_NOWHERE = np.empty(0, np.int64)
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
        if rows.num_rows:
            yield from MergedTask(self, rows, only, chunk).run_members(metrics)

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


def bind_merged(unit: Graphlets | Lanes, programs: Sequence[Program], sharing: str) -> MergedUnit:
    """The unit of merged queries, bound to the programs of all members of a workload."""
    own = [program for program in (programs[member] for member in unit.members) if isinstance(program, TrendAggregates)]
    assert len(own) == len(unit.members), "only aggregates are merged"
    one = own[0]
    limits = one.limits if isinstance(unit, Lanes) else _NO_LIMITS
    program = TrendAggregates(unit.plan, one.events, one.time, one.type, one.numbers, limits=limits)
    return MergedUnit(unit, tuple(own), program, sharing)


class MergedTask(PartitionTask):
    """Prepared rows of a merged plan, and the steps from them to aggregates of its queries."""

    def __init__(self, unit: MergedUnit, table: pa.Table, only: Ranges, chunk: int | None) -> None:
        self.unit, self.plan, self.preparation = unit, unit.unit.plan, unit.program.preparation
        self.options = TaskOptions(unit.program.numbers != "float64", chunk=chunk)
        if isinstance(unit.unit, Lanes):
            self.rows = encode_rows(self.plan, self.preparation, table)
            first = pa.array(self.rows.partitions.starts[:-1])
            self._keys = {name: self.rows.table.column(name).take(first) for name in self.preparation.partition_key}
        else:
            # Keys are looked at in the first row of each partition only.
            partitions = sort_partitions(self.plan, self.preparation, table)
            block = PartitionBlock(partitions, 0, partitions.count)
            only_keys = {*self.preparation.partition_key} - {*self.preparation.values}
            self.rows = block.encode([name for name in table.column_names if name not in only_keys])
            self._keys = {name: pa.chunked_array([block.first_values(name)]) for name in self.preparation.partition_key}
        chunks = tick_chunks(self.rows, chunk)
        self._windows: dict[Window, WindowNumbers] = {
            window: number_windows(window, self.rows.time_type, self.rows.tick_steps, (_NOWHERE, _NOWHERE), own, chunks)
            for window, own in zip(unit.windows, only, strict=True)
        }
        shown = [tuple(group.path for group in columns.program.plan.groups[1:]) for columns in unit.columns]
        known = {keys: self._number_groups(keys) for keys in set(shown)}
        self._groupings = [known[keys] for keys in shown]

    def run_members(self, metrics: SharingMetrics) -> Iterator[tuple[Columns, TaskResult]]:
        """Aggregates of queries that show the same columns, with their members as the first group, merged per window
        and group; nothing of those without trends."""
        merged: list[list[Partials]] = [[] for _ in self.unit.columns]
        unit = self.unit.unit
        answers = self._search(unit) if isinstance(unit, Lanes) else self._count_bursts(unit, metrics)
        for query, results in answers:
            for parts, columns, (group, _) in zip(merged, self.unit.columns, self._groupings, strict=True):
                found = self._read(query, results, columns, group)
                parts[:] = [merge([*parts, *found])] if found else parts
        for parts, columns, (group, values) in zip(merged, self.unit.columns, self._groupings, strict=True):
            for whole in parts:
                place, own = np.divmod(whole.group, int(group.max(initial=0)) + 1)
                shown = [pc.take(value, pa.array(own)) for value in values]
                yield columns, TaskResult(whole, [pa.array(columns.members[place]), *shown])

    def _number_groups(self, keys: tuple[Path, ...]) -> tuple[np.ndarray, list[pa.Array]]:
        """The group of each partition, by keys that queries show, and the values of each group."""
        own = zip(self.plan.partition_key, self.preparation.partition_key, strict=True)
        names = {key.path: name for key, name in own}
        columns = [self._keys[names[path]] for path in keys]
        codes = key_codes(columns, self.rows.partitions.count)
        chosen = pa.array(first_of_each(codes))
        return codes, [column.take(chosen).combine_chunks() for column in columns]

    def _read(self, query: np.ndarray, results: Results, columns: Columns, groups: np.ndarray) -> list[Partials]:
        """What queries that show the same columns have of results; `query` says whose these are. Groups are numbered
        query by query."""
        unit = self.unit.unit
        lane_of = unit.lane_of if isinstance(unit, Lanes) else range(len(unit.members))
        starts = np.searchsorted(query, np.arange(len(lane_of) + 1))
        by_reads: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
        for place, own in enumerate(columns.queries):
            by_reads[unit.measures.reads[own]].append(place)
        parts = []
        for reads, places in by_reads.items():
            ranges = [starts[lane_of[columns.queries[place]] :][:2] for place in places]
            entries = np.concatenate([np.arange(first, end) for first, end in ranges])
            if not entries.size:
                continue
            of_entry = np.repeat(places, [end - first for first, end in ranges])
            segment, window, count = (column[entries] for column in results[:3])
            taken = tuple(column[entries] for column in results.aggregates)
            known = tuple(None if column is None else column[entries] for column in results.valid)
            readers = [("trends", ()) if column is None else self.measured.readers[column] for column in reads]
            measured = replace(self.measured, readers=readers)
            try:
                components = measured.components(Results(segment, window, count, taken, known))
            except SumTooLargeError as error:
                with telling_member(int(columns.members[of_entry[error.entry]])):
                    at = window[error.entry : error.entry + 1]
                    raise sum_too_large(columns.program.plan, self.rows.time_type, at) from error
            group = of_entry * (int(groups.max(initial=0)) + 1) + groups[segment]
            parts.append(Partials(window, group, (Component("sum", count), *components)))
        return parts

    def _measure(self, masks: list[int]) -> None:
        """Ask for what is measured; masks say of which states."""
        self.measured = measure_values(self.plan, self.preparation, self.rows.table, masks=masks)

    # Burst by burst

    def _count_bursts(self, unit: Graphlets, metrics: SharingMetrics) -> Iterator[tuple[np.ndarray, Results]]:
        """The results of queries, and whose they are. Where a number is too large for all of them, only those fail that
        have it, and say so."""
        queries = range(len(unit.members))
        try:
            yield self._run_bursts(unit, unit.merged, queries, metrics)
            return
        except CountTooLargeError:
            pass
        for query in queries:
            with telling_member(unit.members[query]), too_large_counts(floats=True):
                alone = merge_templates([self.unit.programs[query].plan])
                found = self._run_bursts(unit, alone, [query], metrics)
            yield found

    def _run_bursts(
        self, unit: Graphlets, merged: MergedQueries, queries: Sequence[int], metrics: SharingMetrics
    ) -> tuple[np.ndarray, Results]:
        """The results of an automaton of some of the queries."""
        of_unit = {
            state: place
            for query, places in zip(queries, merged.places, strict=True)
            for place, state in zip(unit.merged.places[query], places, strict=True)
        }
        states = (
            [own for own, place in of_unit.items() if place in places] for places in map(set, unit.measures.places)
        )
        self._measure([sum(1 << state for state in own) for own in states])
        partitions, tick = self.rows.partitions, self.rows.tick
        windows = [self._windows[window] for window in merged.windows]
        first = np.array([numbers.first(tick, _NOWHERE) for numbers in windows])
        last = np.array([numbers.last(tick, _NOWHERE) for numbers in windows])
        found = aggregate_shared(
            SharedRows(partitions.starts, tick, partitions.letters, first, last),
            make_template(merged, self.plan),
            self.measured.of_rows(partitions),
            Sharing(self.unit.sharing),
            "exact" if self.options.exact else "float64",
        )
        for name, count in found.counts._asdict().items():
            setattr(metrics, name, getattr(metrics, name) + int(count))
        return np.array(queries)[found.query], found.results

    # With one search for predecessors

    def _search(self, unit: Lanes) -> Iterator[tuple[np.ndarray, Results]]:
        """The results of lanes, and whose they are, of some partitions at a time."""
        names = dict(unit.readings)
        readings: dict[str, set[str]] = defaultdict(set)
        for lane in unit.lanes:
            for role, reading in lane.readings:
                readings[role_name(role)].add(names[reading])
        self.inputs = OverlaidInputs(self.plan, self.preparation, self.rows, readings)
        (piece,) = self.inputs.pieces(self.plan.template)
        (windows,) = self._windows.values()
        lanes = len(unit.lanes)
        marked = ([divmod(place, MOST_LANES) for place in places] for places in unit.measures.places)
        self._measure([sum(1 << role * lanes + lane for role, lane in places) for places in marked])
        fewest = min((groups for groups, _ in self._groupings), key=lambda groups: groups.max(initial=0))
        for start, end in pairwise(self._cut_segments(piece, fewest, windows, lanes)):
            taken = replace(piece, segments=take_segments(piece.segments, start, end))
            tick = taken.segments.take(self.rows.tick)
            of_row = of_rows(np.arange(taken.segments.count), taken.segments, windows)
            with too_large_counts(floats=True):
                found = aggregate(
                    self.inputs.kernel_rows(taken.segments, windows.first(tick, of_row), windows.last(tick, of_row)),
                    self.inputs.kernel_template(taken.template),
                    self.inputs.conditions(taken),
                    self.measured.of_rows(taken.segments),
                    selection=SELECTION[self.plan.strategy],
                    numbers="exact" if self.options.exact else "float64",
                    start_guards=guard_starts(self.inputs, taken, windows, tick, of_row),
                    final_guards=guard_ends(self.inputs, taken, windows, tick, of_row),
                    queries=self._query_lanes(unit, names),
                )
            window, of_lane = np.divmod(found.window, lanes)
            yield sort_by_query(found._replace(segment=found.segment + start), of_lane, window)

    def _query_lanes(self, unit: Lanes, names: Mapping[Reading, str]) -> QueryLanes:
        """What each lane has of the merged template, as the kernel reads it."""
        template, lanes = self.plan.template, unit.lanes
        shape = (len(template.states), len(lanes))
        variable, starts, ends = np.full(shape, -1), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        steps = [[(step.source, step.target) in lane.steps for lane in lanes] for step in template.transitions]
        for number, lane in enumerate(lanes):
            for role, reading in lane.readings:
                variable[role, number] = self.inputs.number[names[reading]]
            starts[list(lane.starts), number] = True
            ends[list(lane.ends), number] = True
        return QueryLanes(len(lanes), variable, starts, ends, np.array(steps, np.bool_).reshape(-1, len(lanes)))


def make_template(merged: MergedQueries, plan: Plan) -> MergedTemplate:
    """An automaton in numbers; letters are the variables of the merged plan."""
    letter_of = {Reading(variable.type, variable.local): number for number, variable in enumerate(plan.variables)}
    class_of = np.zeros(len(merged.states), np.int64)
    for number, part in enumerate(merged.parts):
        class_of[list(part)] = number
    return MergedTemplate(
        state_window=_numbers(state.window for state in merged.states),
        state_variable=_numbers(letter_of[state.reading] for state in merged.states),
        is_start=np.array([state.starts for state in merged.states], np.bool_),
        source=_numbers(step.source for step in merged.steps),
        target=_numbers(step.target for step in merged.steps),
        blocker=_numbers(-1 if step.blocker is None else letter_of[step.blocker] for step in merged.steps),
        final_query=_numbers(query for _, query in merged.ends),
        final_state=_numbers(state for state, _ in merged.ends),
        class_of=class_of,
        queries=len(merged.places),
        query_window=_numbers(merged.query_windows),
    )


def _numbers(values: Iterable[int]) -> np.ndarray:
    return np.array(list(values), np.int64)


class OverlaidInputs(KernelInputs):
    """Kernel inputs of a merged plan: a role of its template stands for all variables that any lane reads it as."""

    def __init__(
        self, plan: Plan, preparation: Preparation, rows: EncodedRows, readings: Mapping[str, set[str]]
    ) -> None:
        super().__init__(plan, preparation, rows)
        self._readings = readings
        self.number |= {role: min(self.number[name] for name in names) for role, names in readings.items()}

    def bits(self, names: set[str]) -> np.ndarray:
        return super().bits({own for name in names for own in self._readings.get(name, {name})})
