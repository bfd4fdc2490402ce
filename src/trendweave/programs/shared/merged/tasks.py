"""The work of one task for merged queries: rows of the merged plan are encoded once, and aggregates of each query are
as its own program would have them. Graphlets are computed burst by burst, lanes with one search for predecessors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import Aggregate, QueryLanes, Results, aggregate, split_queries
from trendweave.kernels.aggregates.entry import extremum_codes, read_extremum
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import ExtremumMeasure, LinearMeasure, SharedMeasures, SharedResults
from trendweave.kernels.many_queries import SharedRows as KernelRows
from trendweave.planning.plan import AggregateColumn, Path, Plan
from trendweave.planning.preparation import Preparation
from trendweave.programs.shared.unit import telling_member
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions, of_rows, sum_too_large, tick_chunks
from trendweave.programs.trends.kernel_inputs import SELECTION, KernelInputs, Piece
from trendweave.programs.trends.measured_values import Measured, SumTooLargeError, measure_values, read_sums
from trendweave.programs.trends.program import TrendAggregates
from trendweave.programs.trends.window_guards import guard_ends, guard_starts
from trendweave.results.partials import Component, Merging, Partials, TaskResult, merge
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import EncodedRows, PartitionBlock, encode_rows, sort_partitions
from trendweave.rows.numbers import as_numbers
from trendweave.rows.segments import take_segments
from trendweave.rows.windows import WindowNumbers, number_windows
from trendweave.sharing.lanes import Lanes, role_name
from trendweave.sharing.merged import MergedMeasure, MergedQueries, Reading

_NOWHERE = (np.empty(0, np.int64), np.empty(0, np.int64))


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


class GraphletTask:
    """Prepared rows of the merged plan, encoded once, and the steps from them to aggregates of all queries. `measures`
    are what the kernel is asked for beside the number of trends; equal ones are asked for once."""

    def __init__(self, merged: MergedQueries, plan: Plan, preparation: Preparation, table: pa.Table) -> None:
        self.merged = merged
        self._columns = {
            column.path: (name, column)
            for column, name in zip(plan.aggregates, preparation.values, strict=True)
            if name is not None
        }
        self._keys = key_names(plan, preparation)
        partitions = sort_partitions(plan, preparation, table)
        self._block = PartitionBlock(partitions, 0, partitions.count)
        # Keys are looked at in the first row of each partition only.
        only_keys = {*self._keys.values()} - {name for name, _ in self._columns.values()}
        self.rows = self._block.encode([name for name in table.column_names if name not in only_keys])
        self._values_of: dict[Path, tuple[np.ndarray, np.ndarray | None]] = {}
        self._groups: dict[tuple[str, ...], tuple[np.ndarray, list[pa.Array]]] = {}
        self._place: list[int] = []
        self._lookup: dict[int, np.ndarray | None] = {}
        self.measures = self._find_measures()

    def _find_measures(self) -> SharedMeasures:
        linear: list[LinearMeasure] = []
        extrema: list[ExtremumMeasure] = []
        known: dict[tuple[object, ...], int] = {}
        for number, measure in enumerate(self.merged.measures):
            states = np.zeros(len(self.merged.states), np.bool_)
            states[list(measure.states)] = True
            if measure.kind in ("min", "max"):
                codes, self._lookup[number] = extremum_codes(self._as_aggregate(measure))
                self._place.append(len(extrema))
                extrema.append(ExtremumMeasure(states, codes.astype(np.int64, copy=False)))
                continue
            what, column = self._column(measure)
            place = known.setdefault((what, measure.states), len(linear))
            if place == len(linear):
                linear.append(LinearMeasure(states, column))
            self._place.append(place)
        return SharedMeasures(tuple(linear), tuple(extrema))

    def kernel_rows(self, only: Sequence[tuple[int, int] | None], chunk: int | None) -> KernelRows:
        """The rows as kernels read them.

        Args:
            only: Per kind of windows, the range of those that are asked for.
            chunk: The length of the chunks of time whose numbers the rows carry.
        """
        encoded, chunks = self.rows, tick_chunks(self.rows, chunk)
        shape = (len(self.merged.windows), encoded.tick.size)
        first, last = np.empty(shape, np.int64), np.empty(shape, np.int64)
        for kind, (window, windows) in enumerate(zip(self.merged.windows, only, strict=True)):
            numbers = number_windows(window, encoded.time_type, encoded.tick_steps, _NOWHERE, windows, chunks)
            first[kind] = numbers.first(encoded.tick, _NOWHERE[1])
            last[kind] = numbers.last(encoded.tick, _NOWHERE[1])
        partitions = encoded.partitions
        return KernelRows(partitions.starts, encoded.tick, partitions.letters, first, last)

    def _values(self, measure: MergedMeasure) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers, zero where NULL, and where they are known."""
        assert measure.path is not None, "values are measured"
        if measure.path not in self._values_of:
            name, aggregate = self._columns[measure.path]
            self._values_of[measure.path] = as_numbers(self.rows.table.column(name), aggregate)
        return self._values_of[measure.path]

    def _as_aggregate(self, measure: MergedMeasure) -> Aggregate:
        return Aggregate(measure.kind, 0, *self._values(measure))

    def _column(self, measure: MergedMeasure) -> tuple[object, np.ndarray]:
        """What is added per row, with a name for it: without NULLs, known values are counted as events are."""
        valid = None
        if measure.kind != "count":
            values, valid = self._values(measure)
            if measure.kind == "sum":
                return ("sum", measure.path), values if valid is None else np.where(valid, values, 0)
        if valid is None:
            return "events", np.ones(self.rows.tick.size, np.int64)
        return ("known", measure.path), valid.astype(np.int64)

    def _component(self, column: AggregateColumn, numbers: tuple[int, ...], entries: np.ndarray) -> Component:
        """An aggregate of some entries, from the measures that it reads; SQL's NULL where no event has a value.

        Raises:
            SumTooLargeError: A sum of finite floats is beyond all floats.
        """
        if not numbers:
            return Component("sum", self._found.count[entries])
        measure = self.merged.measures[numbers[0]]
        if measure.kind == "min" or measure.kind == "max":
            codes = self._found.extrema[self._place[numbers[0]]][entries]
            return Component(measure.kind, *read_extremum(self._as_aggregate(measure), codes, self._lookup[numbers[0]]))
        totals, *weights = (self._found.linear[self._place[number]][entries] for number in numbers)
        if not weights:
            return Component("sum", totals)
        given, _ = self._values(measure)
        kind: Merging = "avg" if column.function == "AVG" and given.dtype == np.float64 else "sum"
        values = read_sums(kind, totals, weights[0], given)
        return Component(kind, values, np.asarray(weights[0] != 0, np.bool_), weights[0])

    def take(self, found: SharedResults) -> None:
        """What the kernel has found, to be read. Entries are sorted by query."""
        self._found = found
        self._starts = np.searchsorted(found.query, np.arange(len(self.merged.places) + 1))

    def read(self, queries: Sequence[int], members: np.ndarray, program: TrendAggregates) -> TaskResult | None:
        """The aggregates of some queries that show the same columns, with their members as the first group; None where
        they have no trends.

        Args:
            queries: Their numbers in the unit.
            members: Those in the workload.
            program: Says which columns these are.
        """
        names = tuple(self._keys[group.path] for group in program.plan.groups[1:])
        if names not in self._groups:
            columns = [pa.chunked_array([self._block.first_values(name)]) for name in names]
            self._groups[names] = number_groups(columns, self.rows.partitions.count)
        groups, values = self._groups[names]
        count = int(groups.max(initial=0)) + 1
        by_reads: dict[tuple[tuple[int, ...], ...], list[int]] = defaultdict(list)
        for place, query in enumerate(queries):
            by_reads[self.merged.reads[query]].append(place)
        parts = []
        for reads, places in by_reads.items():
            ranges = [self._starts[queries[place] : queries[place] + 2] for place in places]
            entries = np.concatenate([np.arange(first, end) for first, end in ranges])
            if not entries.size:
                continue
            of_entry = np.repeat(places, [end - first for first, end in ranges])
            try:
                components = [
                    self._component(column, numbers, entries)
                    for column, numbers in zip(program.plan.aggregates, reads, strict=True)
                ]
            except SumTooLargeError as error:
                window = self._found.window[entries[error.entry : error.entry + 1]]
                with telling_member(int(members[of_entry[error.entry]])):
                    raise sum_too_large(program.plan, self.rows.time_type, window) from error
            group = of_entry * count + groups[self._found.segment[entries]]
            own = Component("sum", self._found.count[entries])
            parts.append(Partials(self._found.window[entries], group, (own, *components)))
        if not parts:
            return None
        merged = merge(parts)
        taken = [pc.take(value, pa.array(merged.group % count)) for value in values]
        return TaskResult(merged, [pa.array(members[merged.group // count]), *taken])


def key_names(plan: Plan, preparation: Preparation) -> dict[Path, str]:
    """The columns of the keys of a merged plan."""
    return {key.path: name for key, name in zip(plan.partition_key, preparation.partition_key, strict=True)}


def number_groups(columns: list[pa.ChunkedArray], partitions: int) -> tuple[np.ndarray, list[pa.Array]]:
    """The group of each partition, by values of some of its keys, and the values of each group."""
    codes = key_codes(columns, partitions)
    chosen = pa.array(first_of_each(codes))
    return codes, [column.take(chosen).combine_chunks() for column in columns]


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


class SearchTask(PartitionTask):
    """Prepared rows of some partitions, and the steps from them to aggregates of all members."""

    def __init__(
        self, unit: Lanes, plans: Sequence[Plan], preparation: Preparation, table: pa.Table, options: TaskOptions
    ) -> None:
        self.unit, self.plan, self.options, self.preparation = unit, unit.plan, options, preparation
        self._plans = plans
        self._names = dict(unit.readings)
        self.rows = encode_rows(self.plan, preparation, table)
        readings: dict[str, set[str]] = defaultdict(set)
        for lane in unit.lanes:
            for role, reading in lane.readings:
                readings[role_name(role)].add(self._names[reading])
        self.inputs = OverlaidInputs(self.plan, preparation, self.rows, readings)
        self.measured = share_numbers(measure_values(self.plan, preparation, self.rows.table, apart=True), unit)
        self._find_distinct = None

    def run_members(self) -> list[TaskResult]:
        """Aggregates of all trends of each member, merged per window and group."""
        (piece,) = self.inputs.pieces(self.plan.template)
        windows = self.number_windows([piece], [np.arange(piece.segments.count)])
        groupings = self._number_groups()
        parts: list[list[Partials]] = [[] for _ in self._plans]
        fewest = min((group for group, _ in groupings), key=lambda group: group.max(initial=0))
        for first, end in pairwise(self._cut_segments(piece, fewest, windows, len(self.unit.lanes))):
            taken = replace(piece, segments=take_segments(piece.segments, first, end))
            for member, found in enumerate(self._aggregate_lanes(taken, windows)):
                parts[member].append(replace(found, group=groupings[member][0][first:end][found.group]))
                if len(parts[member]) > 1:
                    parts[member] = [merge(parts[member])]
        results = []
        for own, (_, columns) in zip(parts, groupings, strict=True):
            merged = merge(own)
            taken_columns = [pc.take(column, pa.array(merged.group)) for column in columns]
            keys = self.rows.label_windows(self.plan.window, windows.keys(merged.window))
            results.append(TaskResult(replace(merged, window=keys), taken_columns))
        return results

    def _number_groups(self) -> list[tuple[np.ndarray, list[pa.Array]]]:
        """Per member, a group number per partition, and the values of its grouping attributes per group."""
        names = key_names(self.plan, self.preparation)
        asked = [tuple(names[group.path] for group in plan.groups) for plan in self._plans]
        first, count = pa.array(self.rows.partitions.starts[:-1]), self.rows.partitions.count
        values = {name: self.rows.table.column(name).take(first) for name in set(chain.from_iterable(asked))}
        found = {columns: number_groups([values[name] for name in columns], count) for columns in set(asked)}
        return [found[columns] for columns in asked]

    # Kernels

    def _aggregate_lanes(self, piece: Piece, windows: WindowNumbers) -> list[Partials]:
        """Aggregates of each member per window and segment; the segment is the group."""
        segments = piece.segments
        tick = segments.take(self.rows.tick)
        of_row = of_rows(np.arange(segments.count), segments, windows)
        results = aggregate(
            self.inputs.kernel_rows(segments, windows.first(tick, of_row), windows.last(tick, of_row)),
            self.inputs.kernel_template(piece.template),
            self.inputs.conditions(piece),
            self.measured.of_rows(segments),
            selection=SELECTION[self.plan.strategy],
            numbers="exact" if self.options.exact else "float64",
            start_guards=guard_starts(self.inputs, piece, windows, tick, of_row),
            final_guards=guard_ends(self.inputs, piece, windows, tick, of_row),
            queries=self._query_lanes(),
        )
        of_lanes = split_queries(results, len(self.unit.lanes))
        return [self._components(member, of_lanes[lane], windows) for member, lane in enumerate(self.unit.lane_of)]

    def _query_lanes(self) -> QueryLanes:
        """What each lane has of the merged template, as the kernel reads it."""
        template, lanes = self.plan.template, self.unit.lanes
        shape = (len(template.states), len(lanes))
        variable, starts, ends = np.full(shape, -1), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        steps = [[(step.source, step.target) in lane.steps for lane in lanes] for step in template.transitions]
        for number, lane in enumerate(lanes):
            for role, reading in lane.readings:
                variable[role, number] = self.inputs.number[self._names[reading]]
            starts[list(lane.starts), number] = True
            ends[list(lane.ends), number] = True
        return QueryLanes(len(lanes), variable, starts, ends, np.array(steps, np.bool_).reshape(-1, len(lanes)))

    def _components(self, member: int, results: Results, windows: WindowNumbers) -> Partials:
        """What a member's aggregates are, of the results of its lane."""
        readers = [
            ("trends", ()) if one.column is None else self.measured.readers[one.column]
            for one in self.unit.measured[member]
        ]
        own = Measured(self.measured.aggregates, readers, self.measured.centres)
        try:
            components = own.components(results)
        except SumTooLargeError as error:
            keys = windows.keys(results.window[error.entry : error.entry + 1])
            with telling_member(self.unit.members[member]):
                raise sum_too_large(self.plan, self.rows.time_type, keys) from error
        return Partials(results.window, results.segment, (Component("sum", results.count), *components))


def share_numbers(measured: Measured, unit: Lanes) -> Measured:
    """What all lanes ask for, with masks of roles and lanes. Aggregates that ask for the same number of one column, in
    different lanes or of the same roles, ask for it together: it is then propagated once."""
    asked: list[dict[int, frozenset[int]]] = [{} for _ in measured.aggregates]
    for lane, columns in zip(unit.lane_of, unit.measured, strict=True):
        for column in columns:
            for place in () if column.column is None else measured.readers[column.column][1]:
                asked[place][lane] = column.roles
    known: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    number: list[int] = []
    aggregates: list[Aggregate] = []
    together: list[dict[int, frozenset[int]]] = []
    for one, by_lane in zip(measured.aggregates, asked, strict=True):
        fitting = known[one.kind, id(one.values), id(one.valid)]
        for other in fitting:
            if all(together[other].get(lane, roles) == roles for lane, roles in by_lane.items()):
                together[other] |= by_lane
                break
        else:
            other = len(aggregates)
            fitting.append(other)
            aggregates.append(one)
            together.append(by_lane)
        number.append(other)
    lanes = len(unit.lanes)
    masks = [sum(1 << role * lanes + lane for lane, roles in one.items() for role in roles) for one in together]
    aggregates = [one._replace(variables=mask) for one, mask in zip(aggregates, masks, strict=True)]
    readers = [(kind, tuple(number[place] for place in places)) for kind, places in measured.readers]
    return Measured(aggregates, readers, {number[place]: centre for place, centre in measured.centres.items()})
