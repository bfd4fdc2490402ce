"""Matches and situations -> result tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.intervals.situations import RUNNING, rows_reaching
from trendweave.planning.interval_plan import IntervalPlan, OutputColumn
from trendweave.planning.plan import Path
from trendweave.programs.intervals.matching import FoundMatches
from trendweave.programs.intervals.rows import IntervalRows
from trendweave.programs.intervals.situations import SituationBuffers
from trendweave.programs.intervals.values import Stretches, result_type, told, written
from trendweave.rows.codes import key_codes
from trendweave.rows.times import TimeType, as_times, steps_of, time_type


def column_type(schema: pa.Schema, path: Path) -> pa.DataType:
    kind = schema.field(path[0]).type
    for name in path[1:]:
        kind = kind.field(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def length_type(moment: pa.DataType) -> pa.DataType:
    """The type of a difference of two times: a duration, or a number of seconds."""
    if pa.types.is_timestamp(moment):
        return pa.duration(moment.unit)
    return pa.float64() if pa.types.is_floating(moment) else pa.int64()


def interval_result_schema(plan: IntervalPlan, events: pa.Schema, moment: pa.DataType) -> pa.Schema:
    """The columns of the result, in order; `moment` is the type of the times."""
    keys = [
        pa.field(name, column_type(events, path)) for name, path in zip(plan.key_names, plan.partition_by, strict=True)
    ]
    if plan.returns == "situations":
        own = [pa.field("name", pa.string()), pa.field("start", moment), pa.field("end", moment)]
        return pa.schema([*keys, *own])
    if plan.returns == "counts":
        fields = [pa.field("window_start", moment), pa.field("window_end", moment)]
    else:
        fields = [pa.field("time", moment)]
        fields += [pa.field(f"{name}_{end}", moment) for name in plan.names for end in ("start", "end")]
    return pa.schema([*fields, *(_output_field(output, events, moment) for output in plan.outputs)])


def _output_field(output: OutputColumn, events: pa.Schema, moment: pa.DataType) -> pa.Field:
    if output.function == "DURATION":
        return pa.field(output.name, length_type(moment))
    kind = None if output.path is None else column_type(events, output.path)
    return pa.field(output.name, kind if output.function is None else result_type(output, kind))


@dataclass(frozen=True, slots=True)
class IntervalResults:
    """Writes result tables. `keys` are the attributes of each partition, in the order of PARTITION BY."""

    plan: IntervalPlan
    schema: pa.Schema
    kind: TimeType
    keys: list[pa.Array]
    partitions: int = 1

    def times(self, steps: np.ndarray) -> pa.Array:
        """As times of the input's type; RUNNING is NULL."""
        running = steps == RUNNING
        times = as_times(np.where(running, 0, steps), self.kind)
        return pc.if_else(pa.array(~running), times, pa.scalar(None, times.type)) if running.any() else times

    def key(self, path: Path, partition: np.ndarray) -> pa.Array:
        column = self.keys[self.plan.partition_by.index(path)]
        return column.take(pa.array(partition))

    def situations(self, situations: SituationBuffers) -> pa.Table:
        """Those of a good length; one that still runs has no end."""
        order = np.lexsort((situations.kind, situations.start, situations.partition))
        names = pa.array(self.plan.names, pa.string()).take(pa.array(situations.kind[order]))
        keys = [self.key(path, situations.partition[order]) for path in self.plan.partition_by]
        columns = [*keys, names, self.times(situations.start[order]), self.times(situations.end[order])]
        return self.table(columns)

    def matches(self, situations: SituationBuffers, found: FoundMatches, values: dict[int, pa.Array]) -> pa.Table:
        """`values` holds the columns that aggregates fill, by the number of the output."""
        ends = np.where(
            situations.end[found.situation] <= found.moment[:, None], situations.end[found.situation], RUNNING
        )
        starts = situations.start[found.situation]
        columns = [self.times(found.moment)]
        for k in range(len(self.plan.situations)):
            columns += [self.times(starts[:, k]), self.times(ends[:, k])]
        partition = situations.partition[found.situation[:, 0]]
        for number, output in enumerate(self.plan.outputs):
            if output.function is None:
                columns.append(self.key(output.path or (), partition))
            elif output.function == "DURATION":
                # So far, while it still runs.
                until = np.minimum(situations.end[found.situation[:, output.situation]], found.moment)
                columns.append(self._length(until - starts[:, output.situation]))
            else:
                columns.append(values[number])
        return self.table(columns)

    def _length(self, steps: np.ndarray) -> pa.Array:
        numbers = pa.array(steps / 1e6 if self.kind.is_float else steps)
        return numbers.cast(length_type(self.kind.arrow))

    def counts(self, situations: SituationBuffers, found: FoundMatches) -> pa.Table:
        """Matches per window and group; a match counts in each window that holds it, from its first start to its
        detection."""
        grouped = [output.path for output in self.plan.outputs if output.function is None]
        group = self._groups([path for path in grouped if path is not None])
        first = situations.start[found.situation].min(axis=1) if found.moment.size else found.moment
        of = group[situations.partition[found.situation[:, 0]]]
        windows, groups, numbers = counted(*self.window_range(first, found.moment), of)
        return self.count_table(windows, self._first_of(group)[groups], numbers)

    def window_range(self, first: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        length, slide = self.window_lengths()
        return np.floor_divide(moment - length, slide) + 1, np.floor_divide(first, slide)

    def count_table(self, windows: np.ndarray, partition: np.ndarray, numbers: np.ndarray) -> pa.Table:
        length, slide = self.window_lengths()
        columns = [self.times(windows * slide), self.times(windows * slide + length)]
        for output in self.plan.outputs:
            columns.append(pa.array(numbers) if output.function else self.key(output.path or (), partition))
        return self.table(columns)

    def window_lengths(self) -> tuple[int, int]:
        assert self.plan.within is not None
        assert self.plan.every is not None
        return steps_of(self.plan.within, self.kind, "WITHIN"), steps_of(self.plan.every, self.kind, "EVERY")

    def _groups(self, paths: list[Path]) -> np.ndarray:
        """The number of each partition's group."""
        columns = [pa.chunked_array([self.keys[self.plan.partition_by.index(path)]]) for path in paths]
        return key_codes(columns, self.partitions)

    @staticmethod
    def _first_of(group: np.ndarray) -> np.ndarray:
        return np.unique(group, return_index=True)[1]

    def table(self, columns: list[pa.Array]) -> pa.Table:
        cast = [column.cast(field.type) for column, field in zip(columns, self.schema, strict=True)]
        return pa.table(cast, schema=self.schema)


def counted(first: np.ndarray, last: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many ranges `first .. last` (both included) of a group hold each number; only numbers that some range
    holds."""
    real = first <= last
    first, last, group = first[real], last[real], group[real]
    at = np.concatenate([first, last + 1])
    of = np.concatenate([group, group])
    change = np.repeat(np.array([1, -1]), first.size)
    order = np.lexsort((at, of))
    at, of = at[order], of[order]
    level = np.cumsum(change[order])
    # Between two changes the number stays the same; at the end of a group it is 0.
    here = np.flatnonzero(level[:-1] > 0) if level.size else np.empty(0, np.int64)
    lengths = at[here + 1] - at[here]
    windows = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths - at[here], lengths)
    return windows, np.repeat(of[here], lengths), np.repeat(level[here], lengths)


def match_values(
    plan: IntervalPlan,
    names: tuple[str | None, ...],
    events: pa.Schema,
    rows: IntervalRows,
    situations: SituationBuffers,
    found: FoundMatches,
) -> dict[int, pa.Array]:
    """The aggregate columns of matches: what each situation had before the match was certain."""
    stretches: dict[int, Stretches] = {}
    values = {}
    for number, output in enumerate(plan.outputs):
        if output.function in (None, "DURATION") or output.situation is None:
            continue
        if output.situation not in stretches:
            stretches[output.situation] = seen_before(plan, rows, situations, found, output.situation)
        asked = stretches[output.situation]
        parts = told(output, names[number], rows, asked)
        kind = None if output.path is None else column_type(events, output.path)
        values[number] = written(output, parts, kind, asked.of)
    return values


def seen_before(
    plan: IntervalPlan, rows: IntervalRows, situations: SituationBuffers, found: FoundMatches, kind: int
) -> Stretches:
    """The rows of a situation before the moment of the match; of a given interval, its one row."""
    place = found.situation[:, kind]
    first, last = situations.first_row[place], situations.end_row[place]
    cut = last if plan.intervals is not None else rows_reaching(rows.time, found.moment, first, last)
    return Stretches.distinct(place, first, cut)


def times_type(plan: IntervalPlan, events: pa.Schema, time: str) -> pa.DataType:
    """The type of all times of the result."""
    if plan.intervals is None:
        return events.field(time).type
    start, end = (events.field(name).type for name in (plan.intervals.start, plan.intervals.end))
    if pa.types.is_null(end):
        return start
    if pa.types.is_floating(end) and not pa.types.is_timestamp(start):
        return end if not pa.types.is_floating(start) or end.bit_width > start.bit_width else start
    return start if time_type(start).step <= time_type(end).step else pa.timestamp(end.unit, start.tz)
