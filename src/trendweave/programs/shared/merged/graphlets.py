"""Queries in one automaton: shared rows -> what the kernel for many queries reads, and what it found -> aggregates of
each, as its own program would have them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import Aggregate, Results
from trendweave.kernels.aggregates.entry import extremum_codes, read_extremum, read_floats, read_linear
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import ExtremumMeasure, LinearMeasure, SharedMeasures, SharedResults
from trendweave.kernels.many_queries import SharedRows as KernelRows
from trendweave.planning.plan import AggregateColumn, GroupColumn, Path
from trendweave.programs.shared.rows import RowsPlan, SharedRows, View
from trendweave.programs.shared.unit import telling_member
from trendweave.programs.trends.aggregates import sum_too_large, tick_chunks
from trendweave.programs.trends.measured_values import KernelAggregate, Measured, SumTooLargeError
from trendweave.programs.trends.measured_values import Reading as Reader
from trendweave.programs.trends.program import TrendAggregates
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import APART, CHUNK, TIME, EncodedRows, PartitionBlock, sort_partitions
from trendweave.rows.numbers import as_numbers
from trendweave.rows.windows import number_windows
from trendweave.sharing.merged import MergedMeasure, MergedQueries, Reading, reading_of

_NOWHERE = (np.empty(0, np.int64), np.empty(0, np.int64))


class PlacedUnit:
    """A unit on shared rows: where its bits and columns stand, and its template in numbers."""

    def __init__(self, merged: MergedQueries, programs: Sequence[TrendAggregates], plan: RowsPlan, first: int) -> None:
        self.merged, self.program = merged, programs[0]
        self.rows_plan = plan
        views = plan.views[first : first + len(programs)]
        self.family = views[0].family
        self.takes = tuple({bit: None for view in views for bit in view.takes or ()})
        self.bit_of, self.columns = _find_places(programs, views)
        keys = zip(self.program.plan.partition_key, self.program.preparation.partition_key, strict=True)
        self.key_columns = {key.path: views[0].shared_name(name) for key, name in keys}
        # Only the words that are asked for; bits are numbered inside them.
        used = sorted({bit // 64 for bit in self.bit_of.values()})
        self.words = [plan.words[word] for word in used]
        at = {word: place for place, word in enumerate(used)}
        self.letter_of = {reading: at[bit // 64] * 64 + bit % 64 for reading, bit in self.bit_of.items()}

    @cached_property
    def template(self) -> MergedTemplate:
        merged = self.merged
        class_of = np.zeros(len(merged.states), np.int64)
        for number, part in enumerate(merged.parts):
            class_of[list(part)] = number
        return MergedTemplate(
            state_window=_numbers(state.window for state in merged.states),
            state_variable=_numbers(self.letter_of[state.reading] for state in merged.states),
            is_start=np.array([state.starts for state in merged.states], np.bool_),
            source=_numbers(step.source for step in merged.steps),
            target=_numbers(step.target for step in merged.steps),
            blocker=_numbers(-1 if step.blocker is None else self.letter_of[step.blocker] for step in merged.steps),
            final_query=_numbers(query for _, query in merged.ends),
            final_state=_numbers(state for state, _ in merged.ends),
            class_of=class_of,
            queries=len(merged.places),
            query_window=_numbers(merged.query_windows),
        )

    def encode(self, rows: SharedRows) -> UnitRows:
        """The rows of the unit by (partition, time)."""
        rows = rows.of_family(self.family)
        names = [TIME, *(name for name in (CHUNK, APART) if name in rows.table.column_names), *self.words]
        read = [*names, *(name for name, _ in self.columns.values())]
        table = rows.table.select(list(dict.fromkeys([*read, *self.key_columns.values()])))
        kept = rows.with_any(self.takes)
        if not kept.all():
            table = table.filter(pa.array(kept))
        preparation = replace(self.program.preparation, partition_key=tuple(self.key_columns.values()))
        partitions = sort_partitions(self.program.plan, preparation, table)
        block = PartitionBlock(partitions, 0, partitions.count)
        return UnitRows(self, block, block.encode(list(dict.fromkeys(read))))


@dataclass(frozen=True)
class UnitRows:
    """Sorted rows of a unit."""

    placed: PlacedUnit
    block: PartitionBlock
    encoded: EncodedRows

    def kernel_rows(self, only: Sequence[tuple[int, int] | None], chunk: int | None) -> KernelRows:
        """The rows as kernels read them.

        Args:
            only: Per kind of windows, the range of those that are asked for.
            chunk: The length of the chunks of time whose numbers the rows carry.
        """
        encoded, chunks = self.encoded, tick_chunks(self.encoded, chunk)
        shape = (len(self.placed.merged.windows), encoded.tick.size)
        first, last = np.empty(shape, np.int64), np.empty(shape, np.int64)
        for kind, (window, windows) in enumerate(zip(self.placed.merged.windows, only, strict=True)):
            numbers = number_windows(window, encoded.time_type, encoded.tick_steps, _NOWHERE, windows, chunks)
            first[kind] = numbers.first(encoded.tick, _NOWHERE[1])
            last[kind] = numbers.last(encoded.tick, _NOWHERE[1])
        partitions = encoded.partitions
        return KernelRows(partitions.starts, encoded.tick, partitions.letters, first, last)


class UnitMeasures:
    """What the kernel is asked for beside the number of trends; equal ones are asked for once. Numbers of measures are
    places among those that are `asked` for."""

    def __init__(self, rows: UnitRows) -> None:
        self._rows = rows
        self._read: dict[Path, tuple[np.ndarray, np.ndarray | None]] = {}
        self._place: list[int] = []
        self._lookup: dict[int, np.ndarray | None] = {}
        linear: list[LinearMeasure] = []
        extrema: list[ExtremumMeasure] = []
        known: dict[tuple[object, ...], int] = {}
        merged = rows.placed.merged
        for number, measure in enumerate(merged.measures):
            states = np.zeros(len(merged.states), np.bool_)
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
        self.asked = SharedMeasures(tuple(linear), tuple(extrema))

    def _values(self, measure: MergedMeasure) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers, zero where NULL, and where they are known."""
        assert measure.path is not None, "values are measured"
        if measure.path not in self._read:
            name, aggregate = self._rows.placed.columns[measure.path]
            self._read[measure.path] = as_numbers(self._rows.encoded.table.column(name), aggregate)
        return self._read[measure.path]

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
            return "events", np.ones(self._rows.encoded.tick.size, np.int64)
        return ("known", measure.path), valid.astype(np.int64)

    def components(
        self,
        columns: Sequence[AggregateColumn],
        reads: Sequence[tuple[int, ...]],
        results: SharedResults,
        entries: np.ndarray,
    ) -> list[Component]:
        """The aggregates of some entries, each from the measures that it reads; SQL's NULL where no event has a value.

        Raises:
            SumTooLargeError: A sum of finite floats is beyond all floats.
        """
        aggregates: list[KernelAggregate] = []
        readers: list[tuple[Reader, tuple[int, ...]]] = []
        found: list[np.ndarray] = []
        valid: list[np.ndarray | None] = []

        def take(values: np.ndarray, known: np.ndarray | None = None, given: np.ndarray | None = None) -> int:
            aggregates.append(KernelAggregate("", 0, None, given, None))
            found.append(values)
            valid.append(known)
            return len(found) - 1

        for column, numbers in zip(columns, reads, strict=True):
            if not numbers:
                readers.append(("trends", ()))
                continue
            measure = self._rows.placed.merged.measures[numbers[0]]
            if measure.kind == "min" or measure.kind == "max":
                codes = results.extrema[self._place[numbers[0]]][entries]
                read = read_extremum(self._as_aggregate(measure), codes, self._lookup[numbers[0]])
                readers.append((measure.kind, (take(*read),)))
                continue
            totals, *weights = (results.linear[self._place[number]][entries] for number in numbers)
            if not weights:
                readers.append(("count", (take(totals),)))
                continue
            given, _ = self._values(measure)
            averages = column.function == "AVG" and given.dtype == np.float64
            values, _ = (read_floats if given.dtype == np.float64 else read_linear)(
                weights[0] if averages else None, totals
            )
            readers.append(("avg" if averages else "sum", (take(values, given=given), take(weights[0]))))
        own = Results(
            results.segment[entries], results.window[entries], results.count[entries], tuple(found), tuple(valid)
        )
        return Measured(aggregates, readers).components(own)


class UnitResults:
    """Reads what the kernel found."""

    def __init__(self, rows: UnitRows, measures: UnitMeasures, results: SharedResults) -> None:
        self._rows, self._measures, self._results = rows, measures, results
        # Entries are sorted by query.
        self._starts = np.searchsorted(results.query, np.arange(len(rows.placed.merged.places) + 1))
        self._groups: dict[tuple[GroupColumn, ...], tuple[np.ndarray, list[pa.Array], int]] = {}

    def read(self, queries: Sequence[int], members: np.ndarray, program: TrendAggregates) -> TaskResult | None:
        """The aggregates of some queries that show the same columns, with their members as the first group; None where
        they have no trends.

        Args:
            queries: Their numbers in the unit.
            members: Those in the workload.
            program: Says which columns these are.
        """
        groups, values, count = self._number_groups(program.plan.groups[1:])
        by_reads: dict[tuple[tuple[int, ...], ...], list[int]] = defaultdict(list)
        for place, query in enumerate(queries):
            by_reads[self._rows.placed.merged.reads[query]].append(place)
        parts = []
        for reads, places in by_reads.items():
            ranges = [self._starts[queries[place] : queries[place] + 2] for place in places]
            entries = np.concatenate([np.arange(first, end) for first, end in ranges])
            if not entries.size:
                continue
            of_entry = np.repeat(places, [end - first for first, end in ranges])
            try:
                components = self._measures.components(program.plan.aggregates, reads, self._results, entries)
            except SumTooLargeError as error:
                window = self._results.window[entries[error.entry : error.entry + 1]]
                with telling_member(int(members[of_entry[error.entry]])):
                    raise sum_too_large(program.plan, self._rows.encoded.time_type, window) from error
            group = of_entry * count + groups[self._results.segment[entries]]
            own = Component("sum", self._results.count[entries])
            parts.append(Partials(self._results.window[entries], group, (own, *components)))
        if not parts:
            return None
        merged = merge(parts)
        taken = [pc.take(value, pa.array(merged.group % count)) for value in values]
        return TaskResult(merged, [pa.array(members[merged.group // count]), *taken])

    def _number_groups(self, groups: tuple[GroupColumn, ...]) -> tuple[np.ndarray, list[pa.Array], int]:
        """The group of each partition, the values of each group, and how many there are."""
        if groups not in self._groups:
            block, names = self._rows.block, self._rows.placed.key_columns
            columns = [block.first_values(names[group.path]) for group in groups]
            codes = key_codes([pa.chunked_array([column]) for column in columns], block.end - block.first)
            first = first_of_each(codes)
            self._groups[groups] = codes, [pc.take(column, pa.array(first)) for column in columns], max(1, first.size)
        return self._groups[groups]


def _find_places(
    programs: Sequence[TrendAggregates], views: Sequence[View]
) -> tuple[dict[Reading, int], dict[Path, tuple[str, AggregateColumn]]]:
    """The shared bit of everything that is read, and the shared column of everything that is measured."""
    bits: dict[Reading, int] = {}
    columns: dict[Path, tuple[str, AggregateColumn]] = {}
    for program, view in zip(programs, views, strict=True):
        for variable, bit in zip(program.plan.variables, view.flags, strict=False):
            assert bit is not None, "flags of trends are set by rows"
            bits[reading_of(program.plan, variable.name)] = bit
        for column, name in zip(program.plan.aggregates, program.preparation.values, strict=True):
            if name is not None and column.path is not None and column.path not in columns:
                columns[column.path] = (view.shared_name(name), column)
    return bits, columns


def _numbers(values: Iterable[int]) -> np.ndarray:
    return np.array(list(values), np.int64)
