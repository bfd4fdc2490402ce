"""The work of one task, the same on every runner: prepared rows of some partitions in, aggregates per window and
group out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import aggregate, match_starts
from trendweave.planning.plan import MovingWindow, Plan
from trendweave.planning.preparation import Preparation
from trendweave.programs.trends.kernel_inputs import ALWAYS, KERNELS, NEVER, KernelInputs, Piece
from trendweave.programs.trends.measured_values import NOTHING, SumTooLargeError, measured_values
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import CHUNK, encode_rows
from trendweave.rows.segments import Segments
from trendweave.rows.times import moving_reach
from trendweave.rows.windows import Chunks, MovingNumbers, WindowNumbers, number_windows, window_columns

SELECTION = {"skip-till-any-match": "any", "skip-till-next-match": "next", "contiguous": "contiguous"}


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """`exact`: whole numbers, or floats. `way` forces a way of summing. `only` keeps a range of windows.
    `only_counts`: trends are counted, and nothing is measured.

    `chunk` is the length of the chunks of time whose numbers the rows carry, in steps of the time column.
    """

    exact: bool = True
    way: str | None = None
    only: tuple[int, int] | None = None
    chunk: int | None = None
    only_counts: bool = False


class PartitionTask:
    def __init__(self, plan: Plan, preparation: Preparation, table: pa.Table, options: TaskOptions) -> None:
        self.plan, self.options = plan, options
        self.rows = encode_rows(plan, preparation, table)
        self.inputs = KernelInputs(plan, preparation, self.rows)
        self.measured = NOTHING if options.only_counts else measured_values(plan, preparation, self.rows.table)
        self.preparation = preparation

    def run(self) -> TaskResult:
        pieces = [piece for template in self.plan.templates for piece in self.inputs.pieces(template)]
        groups, columns = self.number_groups([piece.segments for piece in pieces])
        windows = self.number_windows(pieces, groups)
        parts = [self.aggregate_piece(piece, group, windows) for piece, group in zip(pieces, groups, strict=True)]
        if self.plan.is_conjunction:
            one, other, both = parts
            parts = [_pairs_of_trends(one, other, both, outputs=len(self.plan.aggregates))]
        merged = merge([part.of_groups(group) for part, group in zip(parts, groups, strict=False)])
        if isinstance(windows, MovingNumbers):
            merged = self.keep_where_trends_end(merged, pieces, groups, windows)
        taken = [pc.take(column, pa.array(merged.group)) for column in columns]
        return TaskResult(replace(merged, window=windows.keys(merged.window)), taken)

    # Groups

    def number_groups(self, pieces: list[Segments]) -> tuple[list[np.ndarray], list[pa.Array]]:
        """A group number per segment of each piece, and the values of each grouping attribute per group."""
        names = dict(
            zip(((k.variable, k.path) for k in self.plan.partition_key), self.preparation.partition_key, strict=True)
        )
        names |= dict(
            zip(((k.variable, k.path) for k in self.plan.bound_keys), self.preparation.bound_keys, strict=True)
        )
        first_row = self.rows.partitions.starts[:-1]
        columns = []
        for group in self.plan.groups:
            rows = [
                first_row[segments.partition]
                if group.variable is None
                else segments.keys.get(group.variable, np.full(segments.count, -1))
                for segments in pieces
            ]
            index = np.concatenate(rows) if rows else np.empty(0, np.int64)
            values = self.rows.table.column(names[group.variable, group.path])
            taken = pc.take(values, pa.array(index, mask=index < 0))
            columns.append(taken if isinstance(taken, pa.ChunkedArray) else pa.chunked_array([taken]))
        total = sum(segments.count for segments in pieces)
        codes = key_codes([*columns, *self._chunks_of(pieces)], total)
        first = first_of_each(codes)
        cuts = np.cumsum([segments.count for segments in pieces])[:-1]
        return np.split(codes, cuts), [pc.take(column, pa.array(first)).combine_chunks() for column in columns]

    def _chunks_of(self, pieces: list[Segments]) -> list[pa.ChunkedArray]:
        """A moving window is told by group and time; chunks must not add copied rows to the windows of others."""
        if self.options.chunk is None or not isinstance(self.plan.window, MovingWindow):
            return []
        rows = np.concatenate([self.rows.partitions.starts[:-1][segments.partition] for segments in pieces])
        return [pa.chunked_array([self.rows.table.column(CHUNK).to_numpy()[rows]])]

    # Windows

    def number_windows(self, pieces: list[Piece], groups: list[np.ndarray]) -> WindowNumbers:
        ticks, of_group = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        if isinstance(self.plan.window, MovingWindow):
            for piece, group in zip(pieces, groups, strict=True):
                at = np.flatnonzero(self._may_end(piece))
                ticks.append(self.rows.tick[piece.segments.row[at]])
                of_group.append(group[piece.segments.of_rows()[at]])
        ends = (np.concatenate(ticks), np.concatenate(of_group))
        return number_windows(
            self.plan.window, self.rows.time_type, self.rows.tick_steps, ends, self.options.only, self._tick_chunks()
        )

    def _tick_chunks(self) -> Chunks | None:
        """The chunk of each tick; a chunk is part of the partition key, so a tick lies in one."""
        if self.options.chunk is None:
            return None
        numbers = self.rows.table.column(CHUNK).to_numpy()
        of_tick = np.empty(self.rows.tick_steps.size, np.int64)
        of_tick[self.rows.tick] = numbers
        return Chunks(of_tick, self.options.chunk)

    def _may_end(self, piece: Piece) -> np.ndarray:
        ends = {piece.template.states[end.state].variable for end in piece.template.ends}
        return (piece.segments.letters & self.inputs.bits(ends)).any(axis=1)

    def keep_where_trends_end(
        self,
        merged: Partials,
        pieces: list[Piece],
        groups: list[np.ndarray],
        windows: MovingNumbers,
    ) -> Partials:
        """Keep the moving windows at whose own time some trend ends that began inside the window."""
        ended = np.zeros(windows.starts.size, np.bool_)
        reach, exact = moving_reach(self.plan.window, self.rows.time_type)  # type: ignore[arg-type]
        for piece, group in zip(pieces, groups, strict=True):
            tick = piece.segments.take(self.rows.tick)
            of_row = of_rows(group, piece.segments, windows)
            own = windows.own(tick, of_row)
            if any(not start.guard.always_open for start in piece.template.starts):
                found = self.aggregate_piece(piece, group, windows, only_ending_at=own)
                ended[found.partials.window] = True
                continue
            nowhere = np.zeros(tick.size, np.int64)
            began = match_starts(
                self.inputs.kernel_rows(piece.segments, nowhere, nowhere),
                self.inputs.kernel_template(piece.template),
                self.inputs.conditions(piece.template, piece.segments),
                SELECTION[self.plan.strategy],
            )
            at = np.flatnonzero(began != NEVER)
            steps = self.rows.tick_steps
            # Never negative, and unsigned, as it may need all of 64 bits.
            age = steps[tick[at]].view(np.uint64) - steps[began[at]].view(np.uint64)
            ends_inside = own[at[age < reach if exact else age <= reach]]
            ended[ends_inside[ends_inside >= 0]] = True
        return merged.take(ended[merged.window])

    # Kernels

    def aggregate_piece(
        self, piece: Piece, group: np.ndarray, windows: WindowNumbers, only_ending_at: np.ndarray | None = None
    ) -> SegmentPartials:
        segments = piece.segments
        tick, of_row = segments.take(self.rows.tick), of_rows(group, segments, windows)
        first, last = windows.first(tick, of_row), windows.last(tick, of_row)
        results = aggregate(
            self.inputs.kernel_rows(segments, first, last),
            self.inputs.kernel_template(piece.template),
            self.inputs.conditions(piece.template, segments),
            [] if only_ending_at is not None else self.measured.of_rows(segments),
            selection=SELECTION[self.plan.strategy],
            numbers="exact" if self.options.exact or self.plan.is_conjunction else "float64",
            force_way=self.options.way,
            start_guards=self.start_guards(piece, windows, tick, of_row),
            final_guards=self.end_guards(piece, windows, tick, of_row, only_ending_at),
            kernel=KERNELS[piece.kernel],
        )
        components = [Component("sum", results.count)]
        if only_ending_at is None:
            try:
                components += self.measured.components(results)
            except SumTooLargeError as error:
                keys = windows.keys(results.window[error.entry : error.entry + 1])
                raise self._sum_too_large(keys) from error
        return SegmentPartials(results.segment, Partials(results.window, results.segment, tuple(components)))

    def _sum_too_large(self, window: np.ndarray) -> ExecutionError:
        edges = window_columns(self.plan.window, self.rows.time_type, window)
        shown = [f"{name} {column[0]}" for name, column in edges.items() if column[0].is_valid]
        message = f"a SUM is beyond all floats at {', '.join(shown) or 'the whole input'}"
        return ExecutionError([Problem("TW402", message, "use AVG, smaller windows, or CAST the column to BIGINT")])

    def start_guards(
        self, piece: Piece, windows: WindowNumbers, tick: np.ndarray, group: np.ndarray
    ) -> dict[int, np.ndarray]:
        """Leading NOT: a trend begins only in windows that begin after the last match that ended before its first
        event."""
        guards = {}
        for start in piece.template.starts:
            threshold = self.inputs.latest_start(start.guard)
            if threshold is not None:
                latest = threshold[tick]
                holding = windows.last(np.maximum(latest, 0), group)
                guards[start.state] = np.where(latest == NEVER, windows.first(tick, group), holding + 1)
        return guards

    def end_guards(
        self,
        piece: Piece,
        windows: WindowNumbers,
        tick: np.ndarray,
        group: np.ndarray,
        only_ending_at: np.ndarray | None,
    ) -> dict[int, np.ndarray]:
        """Trailing NOT: a trend ends only in windows that end before the first match that begins after its last
        event."""
        guards = {}
        for end in piece.template.ends:
            threshold = self.inputs.earliest_end(end.guard)
            if threshold is not None:
                earliest = threshold[tick]
                holding = windows.first(np.where(earliest == ALWAYS, 0, earliest), group)
                guards[end.state] = np.where(earliest == ALWAYS, windows.last(tick, group), holding - 1)
            if only_ending_at is not None:
                guards[end.state] = np.minimum(guards.get(end.state, only_ending_at), only_ending_at)
        return guards


def of_rows(group: np.ndarray, segments: Segments, windows: WindowNumbers) -> np.ndarray:
    """The group of each row, where windows depend on it."""
    return group[segments.of_rows()] if isinstance(windows, MovingNumbers) else group


@dataclass(frozen=True, slots=True)
class SegmentPartials:
    """Aggregates per window and segment."""

    segment: np.ndarray
    partials: Partials

    def of_groups(self, group: np.ndarray) -> Partials:
        return Partials(self.partials.window, group[self.segment], self.partials.components)


def _pairs_of_trends(
    one: SegmentPartials, other: SegmentPartials, both: SegmentPartials, outputs: int
) -> SegmentPartials:
    """The number of pairs of different trends, one of each pattern, per window and partition (GRETA, Section 9)."""
    keys = [np.stack([part.partials.window, part.segment], axis=1) for part in (one, other, both)]
    places, inverse = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    counts = np.zeros((3, len(places)), object)
    for index, (part, at) in enumerate(
        zip((one, other, both), np.split(inverse, np.cumsum([len(key) for key in keys])[:-1]), strict=True)
    ):
        counts[index, at] = part.partials.components[0].values.astype(object)
    shared = counts[2]
    only_one, only_other = counts[0] - shared, counts[1] - shared
    pairs = only_one * only_other + (only_one + only_other) * shared + shared * (shared - 1) // 2
    some = np.flatnonzero(pairs != 0)
    window, segment = places[some, 0], places[some, 1]
    # Every output of a conjunction is COUNT(*).
    return SegmentPartials(segment, Partials(window, segment, (Component("sum", pairs[some]),) * (1 + outputs)))
