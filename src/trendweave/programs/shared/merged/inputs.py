"""Shared rows and merged templates -> what the kernel for many queries reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.kernels import Aggregate
from trendweave.kernels.aggregates.entry import extremum_codes
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import ExtremumMeasure, LinearMeasure, SharedMeasures
from trendweave.kernels.many_queries import SharedRows as KernelRows
from trendweave.planning.plan import AggregateColumn, Path
from trendweave.programs.shared.rows import RowsPlan, SharedRows, View
from trendweave.programs.trends.program import TrendAggregates
from trendweave.rows.encoded import APART, CHUNK, TIME, EncodedRows, PartitionBlock, sort_partitions
from trendweave.rows.numbers import as_numbers
from trendweave.rows.windows import Chunks, number_windows
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
        encoded, chunks = self.encoded, self._chunks(chunk)
        shape = (len(self.placed.merged.windows), encoded.tick.size)
        first, last = np.empty(shape, np.int64), np.empty(shape, np.int64)
        for kind, (window, windows) in enumerate(zip(self.placed.merged.windows, only, strict=True)):
            numbers = number_windows(window, encoded.time_type, encoded.tick_steps, _NOWHERE, windows, chunks)
            first[kind] = numbers.first(encoded.tick, _NOWHERE[1])
            last[kind] = numbers.last(encoded.tick, _NOWHERE[1])
        partitions = encoded.partitions
        return KernelRows(partitions.starts, encoded.tick, partitions.letters, first, last)

    def _chunks(self, length: int | None) -> Chunks | None:
        """The chunk of each tick; a chunk is part of the partition key, so a tick lies in one."""
        if length is None:
            return None
        of_tick = np.empty(self.encoded.tick_steps.size, np.int64)
        of_tick[self.encoded.tick] = self.encoded.table.column(CHUNK).to_numpy()
        return Chunks(of_tick, length)

    def measure(self) -> UnitMeasures:
        """What the kernel is asked for beside the number of trends."""
        return UnitMeasures(self)


class UnitMeasures:
    """Measures for the kernel; equal ones are asked for once. `place` says where each measure of the unit is."""

    def __init__(self, rows: UnitRows) -> None:
        self._rows = rows
        self._read: dict[Path, tuple[np.ndarray, np.ndarray | None]] = {}
        self.place: list[int] = []
        self.extremum: dict[int, tuple[Aggregate, np.ndarray | None]] = {}
        linear: list[LinearMeasure] = []
        extrema: list[ExtremumMeasure] = []
        known: dict[tuple[object, ...], int] = {}
        merged = rows.placed.merged
        for number, measure in enumerate(merged.measures):
            states = np.zeros(len(merged.states), np.bool_)
            states[list(measure.states)] = True
            if measure.kind in ("min", "max"):
                values, valid = self.values(measure)
                asked = Aggregate(measure.kind, 0, values, valid)
                codes, lookup = extremum_codes(asked)
                self.place.append(len(extrema))
                self.extremum[number] = (asked, lookup)
                extrema.append(ExtremumMeasure(states, codes.astype(np.int64, copy=False)))
                continue
            what, column = self._column(measure)
            place = known.setdefault((what, measure.states), len(linear))
            if place == len(linear):
                linear.append(LinearMeasure(states, column))
            self.place.append(place)
        self.asked = SharedMeasures(tuple(linear), tuple(extrema))

    def values(self, measure: MergedMeasure) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers, zero where NULL, and where they are known."""
        assert measure.path is not None, "values are measured"
        if measure.path not in self._read:
            name, aggregate = self._rows.placed.columns[measure.path]
            self._read[measure.path] = as_numbers(self._rows.encoded.table.column(name), aggregate)
        return self._read[measure.path]

    def _column(self, measure: MergedMeasure) -> tuple[object, np.ndarray]:
        """What is added per row, with a name for it: without NULLs, known values are counted as events are."""
        valid = None
        if measure.kind != "count":
            values, valid = self.values(measure)
            if measure.kind == "sum":
                return ("sum", measure.path), values if valid is None else np.where(valid, values, 0)
        if valid is None:
            return "events", np.ones(self._rows.encoded.tick.size, np.int64)
        return ("known", measure.path), valid.astype(np.int64)


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


def _numbers(values) -> np.ndarray:  # type: ignore[no-untyped-def]
    return np.array(list(values), np.int64)
