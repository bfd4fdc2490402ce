"""Trend queries piece by piece, without events: rows that the watermark has passed are folded and forgotten.

What is kept grows with keys and panes, and not with events. Rows wait only as long as an earlier one may still come.
Whatever the cuts and the order of arrival, the rows are those of one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.values import join_chunks
from trendweave.kernels import Rows
from trendweave.kernels.loops.fold import any_between
from trendweave.kernels.loops.summaries import extend, finish
from trendweave.kernels.numbering import find_starts, list_ranges
from trendweave.kernels.sorting import stable_order
from trendweave.planning.folding import plan_folding
from trendweave.programs.program import FIRST, Carry
from trendweave.programs.trends.aggregates import sum_too_large
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.folded.carried import Carried, Panes, Summed, concat_summed
from trendweave.programs.trends.folded.measures import Measures, find_infinite, key_by_values, name_values, open_windows
from trendweave.programs.trends.measured_values import SumTooLargeError
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.closing import Closing
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import TIME, EncodedRows, encode_rows
from trendweave.rows.times import as_steps, check_edges

#: Stands for the columns of keys where a query has none.
_EVERYTHING = "everything"


def select_keys(rows: pa.Table, names: Sequence[str], chosen: np.ndarray) -> pa.Table:
    """The keys of some rows.

    Args:
        rows: Prepared rows.
        names: The columns of keys.
        chosen: The numbers of the rows.

    Returns:
        The columns of keys, with one column that is always the same where there are none.
    """
    if not names:
        return pa.table({_EVERYTHING: pa.array(np.zeros(chosen.size, np.int8))})
    return rows.select(list(names)).take(pa.array(chosen))


def number_keys(known: pa.Table | None, found: pa.Table) -> tuple[np.ndarray, pa.Table]:
    """Number keys, each as it was numbered before.

    Keys are told apart as partitions are: NULL is a value of its own, NaN equals itself, and -0.0 equals 0.0.

    Args:
        known: The keys so far; their numbers are their places.
        found: Keys, each of them once.

    Returns:
        The number of each key that was found; and all keys, the very same table where none is new.
    """
    if known is None:
        return np.arange(found.num_rows), found.combine_chunks()
    columns = [
        pa.chunked_array([*column.chunks, *found.column(name).cast(column.type).chunks], column.type)
        for name, column in zip(known.column_names, known.columns, strict=True)
    ]
    codes = key_codes(columns, known.num_rows + found.num_rows)
    place = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
    place[codes[: known.num_rows]] = np.arange(known.num_rows)
    numbers = place[codes[known.num_rows :]]
    new = numbers < 0
    if not new.any():
        return numbers, known
    numbers[new] = known.num_rows + np.arange(int(new.sum()))
    added = found.filter(pa.array(new)).cast(known.schema)
    return numbers, pa.concat_tables([known, added]).combine_chunks()


def fold_rows(measures: Measures, carried: Carried, rows: pa.Table) -> Carried:
    """Add rows to what is carried.

    Args:
        measures: What is asked of rows.
        carried: What was there before. None of its rows has the time of one of these, or a later one.
        rows: Prepared rows that lie in windows.

    Returns:
        What is carried with them.
    """
    encoded = encode_rows(measures.plan, measures.preparation, rows)
    segments = measures.find_segments(encoded)
    if not segments.row.size:
        return carried
    # Rows of one partition in one pane, one run after the other.
    panes, tick = carried.panes, segments.take(encoded.tick)
    pane, partition = encoded.tick_steps[tick] // panes.length, segments.partition[segments.of_rows()]
    starts = find_starts(pane, partition)
    pane, partition = pane[starts], partition[starts]
    key, keys = _number_keys(measures, carried, encoded, partition)
    earlier = carried.take(np.unique(pane // panes.per_table).tolist())
    both_panes, both_keys = np.concatenate([earlier.pane, pane]), np.concatenate([earlier.key, key])
    order = np.lexsort((both_keys, both_panes))
    both_panes, both_keys = both_panes[order], both_keys[order]
    # Where there are two, the run goes on from the earlier summary.
    first = np.flatnonzero((both_panes[1:] == both_panes[:-1]) & (both_keys[1:] == both_keys[:-1]))
    known, which = order[first + 1] - earlier.pane.size, np.full(pane.size, -1)
    which[known] = order[first]
    measured = measures.measure(encoded.table)
    everywhere = np.zeros(segments.row.size, np.int64)
    kernel_rows = Rows(np.append(starts, segments.row.size), tick, everywhere, everywhere, segments.letters)
    extended = extend(measures.algebra, earlier.summaries, which, kernel_rows, measured.of_rows(segments))
    infinite = np.logical_or.reduceat(segments.take(find_infinite(measured, encoded.table.num_rows)), starts)
    infinite[known] |= earlier.infinite[which[known]]
    both = concat_summed([earlier, Summed(pane, key, infinite, extended)])
    return carried.with_summaries(both.take(np.delete(order, first)), keys)


def _number_keys(
    measures: Measures, carried: Carried, encoded: EncodedRows, partition: np.ndarray
) -> tuple[np.ndarray, pa.Table]:
    """The key of each run, and all keys. A partition without a run is not one of them."""
    starts = find_starts(partition)
    rows = encoded.partitions.starts[:-1][partition[starts]]
    numbers, keys = number_keys(carried.keys, select_keys(encoded.table, measures.preparation.partition_key, rows))
    return np.repeat(numbers, np.diff(np.append(starts, partition.size))), keys


#: Summaries in windows that are looked at together, about.
_AT_ONCE = 1 << 21
#: The same where they are copied once per window.
_COPIED_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Entries:
    """Keys in windows: the summaries low:high, by key and pane, are those of a key in a window."""

    window: np.ndarray
    key: np.ndarray
    low: np.ndarray
    high: np.ndarray


def close_windows(measures: Measures, carried: Carried, windows: tuple[int, int]) -> TaskResult | None:
    """Aggregates of some windows.

    Args:
        measures: What is asked of trends.
        carried: Keys and summaries.
        windows: The first and the last window that closes.

    Returns:
        One entry per window and group that has a trend; None where there is none.

    Raises:
        SumTooLargeError: A sum of finite floats is beyond all floats, in the window with this number.
    """
    if carried.keys is None:
        return None
    names = dict(
        zip((key.path for key in measures.plan.partition_key), measures.preparation.partition_key, strict=True)
    )
    columns = [carried.keys.column(names[group.path]) for group in measures.plan.groups]
    group = key_codes(columns, carried.keys.num_rows)
    panes = carried.panes
    first, end = panes.first_pane(windows[0]), panes.first_pane(windows[1]) + panes.per_window
    summed = _by_key(carried.between(first, end))
    parts: list[Partials] = []
    at_once = _AT_ONCE if measures.opening is None else _COPIED_AT_ONCE
    for entries in _find_entries(panes, summed, windows, at_once):
        parts.append(_finish(measures, summed, entries, group))
        parts = [merge(parts)] if len(parts) > 1 else parts
    if not parts:
        return None
    merged = merge(parts)
    chosen = pa.array(first_of_each(group)[merged.group])
    return TaskResult(merged, [join_chunks(pc.take(column, chosen)) for column in columns])


def _by_key(summed: Summed) -> Summed:
    """By key and pane."""
    pane, key = summed.pane, summed.key
    if pane.size and (key[1:] >= key[:-1]).all() and pane[0] == pane[-1]:
        return summed
    order = np.argsort(pane, kind="stable")
    return summed.take(order[stable_order(key[order], int(key.max(initial=-1)) + 1)[0]])


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


def _finish(measures: Measures, summed: Summed, entries: Entries, group: np.ndarray) -> Partials:
    runs = (summed.summaries, entries.low, entries.high)
    if measures.opening is not None:
        runs = open_windows(measures.opening, *runs)
    results = finish(measures.algebra, *runs)
    entry = results.segment
    infinite = any_between(summed.infinite, entries.low[entry], entries.high[entry])
    try:
        components = measures.of_no_rows.components(results, infinite)
    except SumTooLargeError as error:
        raise SumTooLargeError(int(entries.window[entry[error.entry]])) from error
    return Partials(entries.window[entry], group[entries.key[entry]], (Component("sum", results.count), *components))


@dataclass(frozen=True, slots=True)
class TrendFold:
    """Trends without events: `write` makes result rows, or parts of them, of aggregates."""

    bound: BoundTrends
    panes: Panes
    measures: Measures
    write: Callable[[TaskResult], pa.Table]

    def _read(self, carry: Carry) -> Carried:
        return Carried.read(self.measures.algebra, self.panes, carry)

    def add(self, carry: Carry, rows: pa.Table) -> Carried:
        check_edges(as_steps(rows.column(TIME), self.bound.time_type), self.panes.closing.length)
        known = self._read(carry)
        return fold_rows(self.measures, known, self.measures.with_values(rows)) if rows.num_rows else known

    def close(self, known: Carried, windows: tuple[int, int]) -> Iterable[pa.RecordBatch]:
        try:
            found = close_windows(self.measures, known, windows)
        except SumTooLargeError as error:
            raise sum_too_large(self.bound.plan, self.bound.time_type, np.array([error.entry])) from error
        return () if found is None else self.write(found).to_batches()

    def keep(self, known: Carried, window: int) -> Carry:
        return known.without_panes_before(self.panes.first_pane(window)).write()

    def earliest(self, carry: Carry, window: int) -> int | None:
        pane = self._read(carry).first_from(max(self.panes.first_pane(window), FIRST))
        return None if pane is None else pane * self.panes.length


def make_fold(bound: BoundTrends, closing: Closing, write: Callable[[TaskResult], pa.Table]) -> TrendFold:
    """How rows of a plan that can be folded are.

    Args:
        bound: The plan, bound to the columns of some events.
        closing: Its windows.
        write: Makes result rows, or parts of them, of aggregates.
    """
    panes, values, blocking = Panes(closing), name_values(bound), plan_folding(bound.plan).blocking
    return TrendFold(bound, panes, Measures(key_by_values(bound, values), panes.overlap, values, blocking), write)
