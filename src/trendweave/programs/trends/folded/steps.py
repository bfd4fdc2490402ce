"""Trend queries piece by piece, without events: rows that the watermark has passed are folded and forgotten.

What is kept grows with keys and panes, and not with events. Rows wait only as long as an earlier one may still come.
Whatever the cuts and the order of arrival, the rows are those of one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.values import join_chunks
from trendweave.kernels import Rows
from trendweave.kernels.loops.fold import any_between
from trendweave.kernels.loops.summaries import (
    Algebra,
    Summaries,
    begin_summary,
    extend,
    finish,
    make_algebra,
)
from trendweave.kernels.sorting import find_starts, list_ranges
from trendweave.planning.folding import plan_folding
from trendweave.planning.template import Blocking
from trendweave.programs.program import FIRST, Carry
from trendweave.programs.trends.aggregates import sum_too_large
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.folded.carried import Carried, Panes, Summed, concat_summed
from trendweave.programs.trends.folded.keys_and_gaps import (
    Gaps,
    find_infinite,
    keep_unknown_apart,
    key_by_values,
    name_values,
    number_gaps,
    open_windows,
)
from trendweave.programs.trends.kernel_inputs import KernelInputs
from trendweave.programs.trends.measured_values import Measured, SumTooLargeError, measure_values
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.closing import Closing
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import TIME, EncodedRows, encode_rows
from trendweave.rows.segments import Segments, keep_readable
from trendweave.rows.times import as_steps, check_edges

#: Stands for the columns of keys where a query has none.
_EVERYTHING = "everything"
#: Summaries in windows that are looked at together, about.
_AT_ONCE = 1 << 21
#: The same where they are copied once per window.
_COPIED_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class TrendFold:
    """Trends of a plan without their events. What is asked for is found once, when it is needed.

    Attributes:
        bound: The plan, bound to the columns of some events. Values that all events of a trend have in common are keys.
        values: The columns of these.
        blocking: Names variables whose events block gaps.
        panes: What rows are summed up by.
        write: Makes result rows, or parts of them, of aggregates.
    """

    bound: BoundTrends
    values: tuple[str, ...]
    blocking: Blocking | None
    panes: Panes
    write: Callable[[TaskResult], pa.Table]

    @staticmethod
    def of(bound: BoundTrends, closing: Closing, write: Callable[[TaskResult], pa.Table]) -> TrendFold:
        """Of a plan that can be folded, and its windows."""
        values = name_values(bound)
        return TrendFold(key_by_values(bound, values), values, plan_folding(bound.plan).blocking, Panes(closing), write)

    # What is asked for

    @property
    def _opens(self) -> bool:
        return self.blocking is not None and self.blocking.leads

    @cached_property
    def _no_rows(self) -> pa.Table:
        rows, _ = self.bound.prepare(self.bound.events.empty_table())
        return keep_unknown_apart(rows, self.values, self.bound.time_type)

    def _measure(self, rows: pa.Table) -> Measured:
        """What is asked of some rows; of all of them the same."""
        return measure_values(self.bound.plan, self.bound.preparation, rows, all_rows=False)

    @cached_property
    def _measured(self) -> Measured:
        return self._measure(self._no_rows)

    @cached_property
    def _algebra(self) -> Algebra:
        """How trends are summed up."""
        plan, preparation = self.bound.plan, self.bound.preparation
        inputs = KernelInputs(plan, preparation, encode_rows(plan, preparation, self._no_rows))
        gaps: Gaps = inputs.kernel_template(plan.template), ()
        if self.blocking is not None:
            gaps = number_gaps(plan.template, self.blocking, inputs.number)
        numbers = "float64" if self.bound.numbers == "float64" else "exact"
        only_beginnings = not self.panes.overlap and not self._opens
        return make_algebra(gaps[0], self._measured.aggregates, numbers, only_beginnings, gaps[1])

    @cached_property
    def _opening(self) -> Summaries | None:
        """What stands before the summaries of a window; None where trends may begin everywhere in it."""
        return begin_summary(self._algebra, len(self.bound.plan.variables)) if self._opens else None

    # Steps

    def add(self, carry: Carry, rows: pa.Table) -> Carried:
        """What is carried with some more rows: the time of none of those before is theirs, or later."""
        check_edges(as_steps(rows.column(TIME), self.bound.time_type), self.panes.closing.length)
        carried = self._read(carry)
        rows = keep_unknown_apart(rows, self.values, self.bound.time_type)
        encoded = encode_rows(self.bound.plan, self.bound.preparation, rows)
        segments = self._find_segments(encoded)
        if not segments.row.size:
            return carried
        # Rows of one partition in one pane, one run after the other.
        tick = segments.take(encoded.tick)
        pane, partition = encoded.tick_steps[tick] // self.panes.length, segments.partition[segments.of_rows()]
        starts = find_starts(pane, partition)
        pane, partition = pane[starts], partition[starts]
        key, keys = self._number_keys(carried.keys, encoded, partition)
        earlier = carried.take(np.unique(pane // self.panes.per_table).tolist())
        both_panes, both_keys = np.concatenate([earlier.pane, pane]), np.concatenate([earlier.key, key])
        order = np.lexsort((both_keys, both_panes))
        both_panes, both_keys = both_panes[order], both_keys[order]
        # Where there are two, the run goes on from the earlier summary.
        first = np.flatnonzero((both_panes[1:] == both_panes[:-1]) & (both_keys[1:] == both_keys[:-1]))
        known, which = order[first + 1] - earlier.pane.size, np.full(pane.size, -1)
        which[known] = order[first]
        measured = self._measure(encoded.table)
        everywhere = np.zeros(segments.row.size, np.int64)
        kernel_rows = Rows(np.append(starts, segments.row.size), tick, everywhere, everywhere, segments.letters)
        extended = extend(self._algebra, earlier.summaries, which, kernel_rows, measured.of_rows(segments))
        infinite = np.logical_or.reduceat(segments.take(find_infinite(measured, encoded.table.num_rows)), starts)
        infinite[known] |= earlier.infinite[which[known]]
        both = concat_summed([earlier, Summed(pane, key, infinite, extended)])
        return carried.with_summaries(both.take(np.delete(order, first)), keys)

    def close(self, known: Carried, windows: tuple[int, int]) -> Iterable[pa.RecordBatch]:
        """Result rows, or parts of them, of the windows from the first to the last of two."""
        if known.keys is None:
            return ()
        plan, keys = self.bound.plan, self.bound.preparation.partition_key
        names = dict(zip((key.path for key in plan.partition_key), keys, strict=True))
        columns = [known.keys.column(names[group.path]) for group in plan.groups]
        group = key_codes(columns, known.keys.num_rows)
        first, end = self.panes.first_pane(windows[0]), self.panes.first_pane(windows[1]) + self.panes.per_window
        summed = _by_key(known.between(first, end))
        parts: list[Partials] = []
        for entries in _find_entries(self.panes, summed, windows, _COPIED_AT_ONCE if self._opens else _AT_ONCE):
            parts.append(self._finish(summed, entries, group))
            parts = [merge(parts)] if len(parts) > 1 else parts
        if not parts:
            return ()
        merged = merge(parts)
        chosen = pa.array(first_of_each(group)[merged.group])
        found = TaskResult(merged, [join_chunks(pc.take(column, chosen)) for column in columns])
        return self.write(found).to_batches()

    def keep(self, known: Carried, window: int) -> Carry:
        return known.without_panes_before(self.panes.first_pane(window)).write()

    def earliest(self, carry: Carry, window: int) -> int | None:
        pane = self._read(carry).first_from(max(self.panes.first_pane(window), FIRST))
        return None if pane is None else pane * self.panes.length

    def _read(self, carry: Carry) -> Carried:
        return Carried.read(self._algebra, self.panes, carry)

    def _find_segments(self, rows: EncodedRows) -> Segments:
        """The rows that trends are made of, and those that block their gaps."""
        plan = self.bound.plan
        names = {state.variable for state in plan.template.states}
        names |= self.blocking.variables if self.blocking is not None else frozenset()
        return keep_readable(rows.partitions, KernelInputs(plan, self.bound.preparation, rows).bits(names))

    def _number_keys(
        self, known: pa.Table | None, rows: EncodedRows, partition: np.ndarray
    ) -> tuple[np.ndarray, pa.Table]:
        """The key of each run, numbered as before, and all keys; the very same table where none is new. A partition
        without a run is not one of them."""
        starts = find_starts(partition)
        counts = np.diff(np.append(starts, partition.size))
        chosen = pa.array(rows.partitions.starts[:-1][partition[starts]])
        found = rows.table.select(list(self.bound.preparation.partition_key)).take(chosen)
        if not found.num_columns:
            found = pa.table({_EVERYTHING: pa.array(np.zeros(starts.size, np.int8))})
        if known is None:
            return np.repeat(np.arange(found.num_rows), counts), found.combine_chunks()
        both = pa.concat_tables([known, found.cast(known.schema)])
        numbers = key_codes(both.columns, both.num_rows)[known.num_rows :]  # by their first rows
        new = numbers >= known.num_rows
        if new.any():
            known = both.filter(pa.array(np.append(np.ones(known.num_rows, np.bool_), new))).combine_chunks()
        return np.repeat(numbers, counts), known

    def _finish(self, summed: Summed, entries: Entries, group: np.ndarray) -> Partials:
        runs = (summed.summaries, entries.low, entries.high)
        if self._opening is not None:
            runs = open_windows(self._opening, *runs)
        results = finish(self._algebra, *runs)
        window, key, low, high = (column[results.segment] for column in entries)
        try:
            components = self._measured.components(results, any_between(summed.infinite, low, high))
        except SumTooLargeError as error:
            raise sum_too_large(self.bound.plan, self.bound.time_type, window[[error.entry]]) from error
        return Partials(window, group[key], (Component("sum", results.count), *components))


class Entries(NamedTuple):
    """Keys in windows: the summaries low:high, by key and pane, are those of a key in a window."""

    window: np.ndarray
    key: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _by_key(summed: Summed) -> Summed:
    """By key and pane."""
    order = np.lexsort((summed.pane, summed.key))
    return summed if (order[1:] > order[:-1]).all() else summed.take(order)


def _find_entries(panes: Panes, summed: Summed, windows: tuple[int, int], at_once: int) -> Iterator[Entries]:
    """The keys that have summaries in windows of a range, some windows at a time."""
    first, last = panes.windows_of(summed.pane)
    first, last = np.maximum(first, windows[0]), np.minimum(last, windows[1])
    held = np.flatnonzero(first <= last)
    if not held.size:
        return
    lowest, highest = int(first[held].min()), int(last[held].max())
    if int((last[held] - first[held] + 1).sum()) > at_once and lowest < highest:
        middle = (lowest + highest) // 2
        yield from _find_entries(panes, summed, (lowest, middle), at_once)
        yield from _find_entries(panes, summed, (middle + 1, highest), at_once)
        return
    count = last[held] - first[held] + 1
    row, window = np.repeat(held, count), list_ranges(first[held], count)
    if lowest < highest:
        order = np.argsort(window, kind="stable")
        row, window = row[order], window[order]
    key = summed.key[row]
    begins = find_starts(key, window)
    # Summaries of one key in one window lie side by side.
    yield Entries(window[begins], key[begins], row[begins], row[np.append(begins[1:], row.size) - 1] + 1)
