"""The work of one task, the same on every runner: prepared rows of some partitions in, aggregates per window and
group out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import NO_MATCH, Aggregate, Results, Rows, aggregate, match_starts
from trendweave.kernels.loops.by_value import aggregate_by_value
from trendweave.planning.plan import NEVER, Kernel, MovingWindow, Plan, SessionWindow
from trendweave.planning.preparation import Preparation
from trendweave.programs.trends.kernel_inputs import SELECTION, KernelInputs, Piece
from trendweave.programs.trends.measured_values import NOTHING, SumTooLargeError, measure_values
from trendweave.programs.trends.window_guards import guard_ends, guard_starts
from trendweave.progress import count_parts_to_tell, follow
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.apart import copy_into_windows, keep_apart
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import ASKED, CHUNK, EncodedRows, encode_rows
from trendweave.rows.segments import Segments, take_segments
from trendweave.rows.times import TimeType, moving_reach
from trendweave.rows.windows import (
    Chunks,
    MovingNumbers,
    TrendNumbers,
    WindowNumbers,
    number_trend_windows,
    number_windows,
    window_columns,
)

#: Results of segments and windows, from which on they are merged: their arrays fit a cache and take used memory again.
_AT_ONCE = 1 << 18
#: Segments of a group, from which on merging leaves much less.
_MANY = 4


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """`exact`: whole numbers, or floats. `only` keeps a range of windows.
    `only_counts`: trends are counted, and nothing is measured.

    `chunk` is the length of the chunks of time whose numbers the rows carry, in steps of the time column.
    `device` is what computes.
    """

    exact: bool = True
    only: tuple[int, int] | None = None
    chunk: int | None = None
    only_counts: bool = False
    device: str = "cpu"


#: Finds the distinct values of a piece that a plan counts, per number of an aggregate.
FindDistinct: TypeAlias = Callable[["PartitionTask", Piece, np.ndarray, WindowNumbers, Partials], dict[int, Component]]


class PartitionTask:
    """Prepared rows of some partitions, encoded once, and the steps from them to aggregates per window and group."""

    def __init__(
        self,
        plan: Plan,
        preparation: Preparation,
        table: pa.Table,
        options: TaskOptions,
        find_distinct: FindDistinct | None = None,
    ) -> None:
        self.plan, self.options = plan, options
        if plan.window_apart:
            table = copy_into_windows(plan, preparation, table, options.only, options.chunk)
        self._find_distinct = find_distinct
        self.rows = encode_rows(plan, preparation, table)
        self.inputs = KernelInputs(plan, preparation, self.rows)
        self.measured = NOTHING if options.only_counts else measure_values(plan, preparation, self.rows.table)
        self.preparation = preparation

    def run(self) -> TaskResult:
        """Aggregates of all trends, merged per window and group."""
        of_templates = [self.inputs.pieces(template, in_lanes=False) for template in self.plan.templates]
        pieces = [piece for of_template in of_templates for piece in of_template]
        groups, columns = self.number_groups([piece.segments for piece in pieces])
        windows = self.number_windows(pieces, groups)
        if self.plan.is_conjunction:
            merged = self._pair_pieces(of_templates, groups, windows)
        else:
            merged = self._merge_pieces(pieces, groups, windows, groups)
        if isinstance(windows, MovingNumbers):
            merged = self.keep_where_trends_end(merged, pieces, groups, windows)
        taken = [pc.take(column, pa.array(merged.group)) for column in columns]
        keys = self.rows.label_windows(self.plan.window, windows.keys(merged.window))
        return TaskResult(replace(merged, window=keys), taken)

    def _pair_pieces(
        self, of_templates: list[list[Piece]], groups: list[np.ndarray], windows: WindowNumbers
    ) -> Partials:
        """Pairs of trends per window and group. Pairs are of one partition, so its trends are counted first."""
        sides: list[Partials] = []
        of_partition = np.zeros(self.rows.partitions.count, np.int64)
        first = 0
        for pieces in of_templates:
            of_pieces = groups[first : first + len(pieces)]
            partitions = [piece.segments.partition for piece in pieces]
            sides.append(self._merge_pieces(pieces, of_pieces, windows, partitions))
            for partition, group in zip(partitions, of_pieces, strict=True):
                of_partition[partition] = group
            first += len(pieces)
        pairs = pair_trends(sides[0], sides[1], sides[2], outputs=len(self.plan.aggregates))
        return merge([replace(pairs, group=of_partition[pairs.group])])

    def _merge_pieces(
        self, pieces: list[Piece], groups: list[np.ndarray], windows: WindowNumbers, into: list[np.ndarray]
    ) -> Partials:
        """Aggregates of all pieces, merged by window and a number of each segment: its group, or its partition. They
        are merged while they are made: many segments and windows of one group are never there at the same time."""
        parts: list[Partials] = []
        waiting = 0
        for piece, group, place in zip(pieces, groups, into, strict=True):
            cuts = self._cut_segments(piece, group, windows)
            if len(cuts) == 2:
                cuts = _cut_to_tell(piece.segments, place)
            for first, end in follow(pairwise(cuts), len(cuts) - 1):
                whole = len(cuts) == 2
                taken = piece if whole else replace(piece, segments=take_segments(piece.segments, first, end))
                found = self.aggregate_piece(taken, group[first:end], windows)
                parts.append(replace(found, group=place[first:end][found.group]))
                waiting += parts[-1].window.size
                if len(parts) > 1 and waiting > max(_AT_ONCE, parts[0].window.size):
                    parts, waiting = [merge(parts)], 0
        return merge(parts)

    def _cut_segments(self, piece: Piece, group: np.ndarray, windows: WindowNumbers, queries: int = 1) -> list[int]:
        """Where to cut the segments of a piece so that each part has not too many results, of so many queries. No cuts
        where all fit, or where merging leaves about as many."""
        segments = piece.segments
        if not segments.row.size or segments.count < _MANY * (int(group.max()) + 1):
            return [0, segments.count]
        occupied = np.diff(segments.starts) > 0
        first = self.rows.tick[segments.row[segments.starts[:-1][occupied]]]
        last = self.rows.tick[segments.row[segments.starts[1:][occupied] - 1]]
        spans = np.zeros(segments.count, np.int64)
        spans[occupied] = windows.last(last, group[occupied]) - windows.first(first, group[occupied]) + 1
        total = np.cumsum(np.maximum(spans, 0)) * queries
        wanted = np.arange(_AT_ONCE, int(total[-1]), _AT_ONCE)
        return np.unique(np.concatenate([[0], np.searchsorted(total, wanted) + 1, [segments.count]])).tolist()

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
        codes = key_codes([*columns, *self._apart(pieces)], total)
        first = first_of_each(codes)
        cuts = np.cumsum([segments.count for segments in pieces])[:-1]
        return np.split(codes, cuts), [pc.take(column, pa.array(first)).combine_chunks() for column in columns]

    def _apart(self, pieces: list[Segments]) -> list[pa.ChunkedArray]:
        """What groups of equal values must not be one for. A moving window is told by group and time; chunks must not
        add copied rows to the windows of others. A session belongs to its partition."""
        if isinstance(self.plan.window, SessionWindow):
            return [pa.chunked_array([np.concatenate([segments.partition for segments in pieces])])] if pieces else []
        if self.options.chunk is None or not isinstance(self.plan.window, MovingWindow):
            return []
        rows = np.concatenate([self.rows.partitions.starts[:-1][segments.partition] for segments in pieces])
        return [pa.chunked_array([self.rows.table.column(CHUNK).to_numpy()[rows]])]

    # Windows

    def number_windows(self, pieces: list[Piece], groups: list[np.ndarray]) -> WindowNumbers:
        """How the windows of all rows are numbered; moving windows stand where trends may end, per group."""
        ticks, of_group = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        if isinstance(self.plan.window, SessionWindow):
            return self.rows.number_sessions(self.plan.window)
        if isinstance(self.plan.window, MovingWindow) and self.plan.window.by != "time":
            return self._number_trend_windows(self.plan.window, pieces)
        if isinstance(self.plan.window, MovingWindow):
            for piece, group in zip(pieces, groups, strict=True):
                at = np.flatnonzero(self._may_end(piece))
                ticks.append(self.rows.tick[piece.segments.row[at]])
                of_group.append(group[piece.segments.of_rows()[at]])
        ends = (np.concatenate(ticks), np.concatenate(of_group))
        numbers = number_windows(
            self.plan.window,
            self.rows.time_type,
            self.rows.tick_steps,
            ends,
            self.options.only,
            tick_chunks(self.rows, self.options.chunk),
        )
        return keep_apart(numbers, self.rows)

    def _number_trend_windows(self, window: MovingWindow, pieces: list[Piece]) -> TrendNumbers:
        """One window where a trend may end, or begin."""
        stands = self._may_begin if window.by == "first" else self._may_end
        ticks = [self.rows.tick[piece.segments.row[stands(piece)]] for piece in pieces]
        return number_trend_windows(
            window,
            self.rows.time_type,
            self.rows.tick_steps,
            self.rows.tick[self.rows.partitions.starts[:-1]],
            np.concatenate([np.empty(0, np.int64), *ticks]),
            self.options.only,
            tick_chunks(self.rows, self.options.chunk),
            self._asked_ticks(),
        )

    def _asked_ticks(self) -> np.ndarray | None:
        """Where rows say whether trends that stand at them are asked for: the ticks with one that says so."""
        if ASKED not in self.rows.table.column_names:
            return None
        asked = np.zeros(self.rows.tick_steps.size, np.bool_)
        asked[self.rows.tick[self.rows.table.column(ASKED).to_numpy()]] = True
        return asked

    def _may_end(self, piece: Piece) -> np.ndarray:
        ends = {piece.template.states[end.state].variable for end in piece.template.ends}
        return (piece.segments.letters & self.inputs.bits(ends)).any(axis=1)

    def _may_begin(self, piece: Piece) -> np.ndarray:
        begins = {piece.template.states[start.state].variable for start in piece.template.starts}
        return (piece.segments.letters & self.inputs.bits(begins)).any(axis=1)

    def keep_where_trends_end(
        self,
        merged: Partials,
        pieces: list[Piece],
        groups: list[np.ndarray],
        windows: MovingNumbers,
    ) -> Partials:
        """Keep the moving windows at whose own time some trend ends that began inside the window."""
        ended = np.zeros(windows.starts.size, np.bool_)
        assert isinstance(self.plan.window, MovingWindow), "only those have a time of their own"
        reach, exact = moving_reach(self.plan.window, self.rows.time_type)
        for piece, group in zip(pieces, groups, strict=True):
            tick = piece.segments.take(self.rows.tick)
            of_row = of_rows(group, piece.segments, windows)
            own = windows.own(tick, of_row)
            if any(not start.guard.always_open or start.closed != NEVER for start in piece.template.starts):
                found = self.aggregate_piece(piece, group, windows, only_ending_at=own)
                ended[found.window] = True
                continue
            nowhere = np.zeros(tick.size, np.int64)
            began = match_starts(
                self.inputs.kernel_rows(piece.segments, nowhere, nowhere),
                self.inputs.kernel_template(piece.template),
                self.inputs.conditions(piece),
                SELECTION[self.plan.strategy],
                start_guards=self.inputs.lane_starts(piece),
            )
            at = np.flatnonzero(began != NO_MATCH)
            steps = self.rows.tick_steps
            # Never negative, and unsigned, as it may need all of 64 bits.
            age = steps[tick[at]].view(np.uint64) - steps[began[at]].view(np.uint64)
            ends_inside = own[at[age < reach if exact else age <= reach]]
            ended[ends_inside[ends_inside >= 0]] = True
        return merged.take(ended[merged.window])

    # Kernels

    def aggregate_piece(
        self, piece: Piece, group: np.ndarray, windows: WindowNumbers, only_ending_at: np.ndarray | None = None
    ) -> Partials:
        """Aggregates of one piece per window and segment.

        Args:
            piece: Trends, where they are looked for, and the kernel for it.
            group: The group of each segment.
            windows: How windows are numbered.
            only_ending_at: Per row, the last window in which a trend may end with it; nothing is measured then.

        Returns:
            The number of trends and, unless `only_ending_at` is given, what the plan measures. Groups are segments.

        Raises:
            ExecutionError: A sum of finite floats is beyond all floats.
        """
        segments = piece.segments
        tick, of_row = segments.take(self.rows.tick), of_rows(group, segments, windows)
        rows = self.inputs.kernel_rows(segments, windows.first(tick, of_row), windows.last(tick, of_row))
        measured = self.measured if only_ending_at is None else NOTHING
        asked, distinct = measured.of_rows(segments), any(kind == "distinct" for kind, _ in measured.readers)
        if piece.kernel is Kernel.FOLD_BY_VALUE:
            found = None
            # Distinct values are looked for among copies, and a card knows nothing else.
            if not distinct and self.options.device != "gpu":
                template, anchor = self.inputs.kernel_template(piece.template), self.inputs.anchor_values(piece)
                found = aggregate_by_value(rows, template, anchor, asked, self._numbers)
            if found is None:
                return self.aggregate_piece(self.inputs.copy_into_lanes(piece), group, windows, only_ending_at)
            results = found
        else:
            starts = guard_starts(self.inputs, piece, windows, tick, of_row)
            ends = guard_ends(self.inputs, piece, windows, tick, of_row, only_ending_at)
            results = self._aggregate_rows(piece, rows, asked, starts, ends)
        try:
            components = [Component("sum", results.count), *measured.components(results)]
        except SumTooLargeError as error:
            keys = windows.keys(results.window[error.entry : error.entry + 1])
            labels = self.rows.label_windows(self.plan.window, keys)
            raise sum_too_large(self.plan, self.rows.time_type, labels) from error
        partials = Partials(results.window, results.segment, tuple(components))
        if not distinct:
            return partials
        assert self._find_distinct is not None, "whoever counts distinct values says how"
        for place, sets in self._find_distinct(self, piece, group, windows, partials).items():
            components[1 + place] = sets
        return replace(partials, components=tuple(components))

    def _aggregate_rows(
        self,
        piece: Piece,
        rows: Rows,
        measured: list[Aggregate],
        start_guards: dict[int, np.ndarray],
        final_guards: dict[int, np.ndarray],
    ) -> Results:
        """Ask the kernels of the device for what is measured of a piece."""
        template, conditions = self.inputs.kernel_template(piece.template), self.inputs.conditions(piece)
        selection = SELECTION[self.plan.strategy]
        asked = (rows, template, conditions, measured, selection, self._numbers)
        if self.options.device == "gpu":
            from trendweave.gpu.card import find_card
            from trendweave.gpu.trends.entry import aggregate as aggregate_on_card

            guards = (start_guards, final_guards)
            return aggregate_on_card(find_card(), *asked, *guards, counted=self._counts_trends())
        return aggregate(
            *asked,
            start_guards=start_guards,
            final_guards=final_guards,
            folds=piece.kernel in (Kernel.FOLD, Kernel.APPLY),
            counted=self._counts_trends(),
        )

    @property
    def _numbers(self) -> str:
        return "exact" if self.options.exact or self.plan.is_conjunction else "float64"

    def _counts_trends(self) -> bool:
        """Whether the number of trends is asked for, and not only which windows have some."""
        return self.plan.is_conjunction or any(kind == "trends" for kind, _ in self.measured.readers)


def pair_trends(one: Partials, other: Partials, both: Partials, outputs: int) -> Partials:
    """The number of pairs of different trends, one of each pattern, per window and partition (GRETA, Section 9).

    Args:
        one: Trends of the first pattern, whose groups are partitions.
        other: Those of the second.
        both: Those of both.
        outputs: How many columns of the result are this number.

    Returns:
        Pairs, whose groups are partitions.
    """
    sides = []
    for place, part in enumerate((one, other, both)):
        counts = [
            part.components[0].values if side == place else np.zeros(part.window.size, np.int64) for side in range(3)
        ]
        sides.append(Partials(part.window, part.group, tuple(Component("sum", side) for side in counts)))
    merged = merge(sides)
    first, second, shared = (component.values.astype(object) for component in merged.components)
    first, second = first - shared, second - shared
    pairs = first * second + (first + second) * shared + shared * (shared - 1) // 2
    # Every output of a conjunction is COUNT(*).
    return replace(merged, components=(Component("sum", pairs),) * (1 + outputs)).take(np.asarray(pairs != 0, np.bool_))


def tick_chunks(rows: EncodedRows, length: int | None) -> Chunks | None:
    """The chunk of each tick; a chunk is part of the partition key, so a tick lies in one."""
    if length is None:
        return None
    of_tick = np.empty(rows.tick_steps.size, np.int64)
    of_tick[rows.tick] = rows.table.column(CHUNK).to_numpy()
    return Chunks(of_tick, length)


def sum_too_large(plan: Plan, kind: TimeType, labels: np.ndarray) -> ExecutionError:
    """That a sum of finite floats is beyond all floats, in a window that is shown by these labels."""
    edges = window_columns(plan.window, kind, labels)
    shown = [f"{name} {column[0]}" for name, column in edges.items() if column[0].is_valid]
    message = f"a SUM exceeds the range of floats at {', '.join(shown) or 'the whole input'}"
    return ExecutionError([Problem("TW402", message, "use AVG, smaller windows, or CAST the column to BIGINT")])


def of_rows(group: np.ndarray, segments: Segments, windows: WindowNumbers) -> np.ndarray:
    """The group of each row, where windows depend on it."""
    return group[segments.of_rows()] if isinstance(windows, MovingNumbers) else group


def _cut_to_tell(segments: Segments, into: np.ndarray) -> list[int]:
    """Where to cut segments of which nothing is merged, so that a run of many rows tells how far it is. The rows of a
    result are the same, to the last bit: no number of one segment meets one of another."""
    parts = count_parts_to_tell(segments.row.size)
    if parts < 2 or np.unique(into).size < into.size:
        return [0, segments.count]
    wanted = np.searchsorted(segments.starts, np.linspace(0, segments.row.size, parts + 1))
    return np.unique(np.concatenate([[0], wanted, [segments.count]])).tolist()
