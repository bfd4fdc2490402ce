"""Windows that close: aggregates per window and group, of what is carried alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.loops.summaries import finish
from trendweave.kernels.sorting import stable_order
from trendweave.programs.trends.folded.carried import Carried, Summed
from trendweave.programs.trends.folded.gaps import open_windows
from trendweave.programs.trends.folded.measures import Measures
from trendweave.programs.trends.folded.panes import Panes
from trendweave.programs.trends.measured_values import SumTooLargeError
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.codes import first_of_each, key_codes

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


class WindowSumTooLargeError(SumTooLargeError):
    """A sum of finite floats is beyond all floats, in the window with this number."""


def close_windows(measures: Measures, carried: Carried, windows: tuple[int, int]) -> TaskResult | None:
    """Aggregates of some windows.

    Args:
        measures: What is asked of trends.
        carried: Keys and summaries.
        windows: The first and the last window that closes.

    Returns:
        One entry per window and group that has a trend; None where there is none.

    Raises:
        WindowSumTooLargeError: A sum of finite floats is beyond all floats.
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
    return TaskResult(merged, [_one_array(pc.take(column, chosen)) for column in columns])


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


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
    row = np.repeat(held, count)
    window = np.repeat(first[held] - (np.cumsum(count) - count), count) + np.arange(row.size)
    if lowest < highest:
        order = np.argsort(window, kind="stable")
        row, window = row[order], window[order]
    key = summed.key[row]
    begins = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (window[1:] != window[:-1])))
    # Summaries of one key in one window lie side by side.
    yield Entries(window[begins], key[begins], row[begins], row[np.append(begins[1:], row.size) - 1] + 1)


def _finish(measures: Measures, summed: Summed, entries: Entries, group: np.ndarray) -> Partials:
    runs = (summed.summaries, entries.low, entries.high)
    if measures.opening is not None:
        runs = open_windows(measures.opening, *runs)
    results = finish(measures.algebra, *runs)
    entry = results.segment
    for number in measures.find_too_large(results).tolist():
        low, high = entries.low[entry[number]], entries.high[entry[number]]
        # Infinity is the sum of infinities; of finite numbers it would be wrong.
        if not summed.infinite[low:high].any():
            raise WindowSumTooLargeError(int(entries.window[entry[number]]))
    components = [Component("sum", results.count), *measures.components(results)]
    return Partials(entries.window[entry], group[entries.key[entry]], tuple(components))
