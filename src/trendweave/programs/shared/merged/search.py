"""The work of one task for queries that lie side by side: rows are encoded once, predecessors are searched once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import Aggregate, QueryLanes, Results, aggregate, split_queries
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.programs.shared.merged.graphlets import key_names, number_groups
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions, of_rows, sum_too_large
from trendweave.programs.trends.kernel_inputs import SELECTION, KernelInputs, Piece
from trendweave.programs.trends.measured_values import Measured, SumTooLargeError, measure_values
from trendweave.programs.trends.window_guards import guard_ends, guard_starts
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.encoded import EncodedRows, encode_rows
from trendweave.rows.segments import Segments, take_segments
from trendweave.rows.windows import WindowNumbers
from trendweave.sharing.lanes import Lanes, role_name


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
        self.measured = measure_values(self.plan, preparation, self.rows.table)
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
        found = {columns: number_groups(self.rows, columns) for columns in set(asked)}
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
            self._asked(segments),
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

    def _asked(self, segments: Segments) -> list[Aggregate]:
        """What the kernel measures, and over which roles of which lanes."""
        asked: list[dict[int, frozenset[int]]] = [{} for _ in self.measured.aggregates]
        for lane, measured in zip(self.unit.lane_of, self.unit.measured, strict=True):
            for one in measured:
                for place in () if one.column is None else self.measured.readers[one.column][1]:
                    asked[place][lane] = one.roles
        share_numbers(self.measured, asked)
        lanes = len(self.unit.lanes)
        masks = [sum(1 << role * lanes + lane for lane, roles in one.items() for role in roles) for one in asked]
        return [
            part._replace(variables=mask) for part, mask in zip(self.measured.of_rows(segments), masks, strict=True)
        ]

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
            raise sum_too_large(self.plan, self.rows.time_type, keys) from error
        return Partials(results.window, results.segment, (Component("sum", results.count), *components))


def share_numbers(measured: Measured, asked: list[dict[int, frozenset[int]]]) -> None:
    """Let aggregates that ask for the same number of one column, in different lanes or of the same roles, ask for it
    together: it is then propagated once.

    Args:
        measured: What is asked for.
        asked: Per aggregate and lane, the roles that it is over; changed in place.
    """
    known: dict[tuple[str, str | None], list[dict[int, frozenset[int]]]] = {}
    for place, aggregate_ in enumerate(measured.aggregates):
        column = None if aggregate_.kind == "count" and aggregate_.valid is None else aggregate_.column
        fitting = known.setdefault((aggregate_.kind, column), [])
        for other in fitting:
            if all(other.get(lane, roles) == roles for lane, roles in asked[place].items()):
                other |= asked[place]
                asked[place] = other
                break
        else:
            fitting.append(asked[place])
