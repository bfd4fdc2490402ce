"""Slices added up to windows, and written as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.partials import Partials
from trendweave.programs.operators.sums import count_between
from trendweave.programs.operators.windows.aggregates import SlicedColumn, write_aggregate
from trendweave.results.types import single_aggregate_type
from trendweave.rows.times import TimeType, as_times
from trendweave.store.aggregate.question import Wanted
from trendweave.store.aggregate.windows import Windows


def write_answer(
    slices: Partials, wanted: Sequence[Wanted], columns: Sequence[str], windows: Windows | None, kind: TimeType
) -> pa.Table:
    """The rows of a result: one per window that has an event; of windows of events, one per full window.

    Args:
        slices: In order, each once.
        wanted: The aggregates.
        columns: The columns of the slices.
        windows: None for one window over all.
        kind: How the time column counts.
    """
    if windows is None:
        low, high = np.zeros(min(1, slices.size), np.int64), np.full(min(1, slices.size), slices.size)
        edges = {name: pa.nulls(low.size, kind.arrow) for name in ("window_start", "window_end")}
    else:
        numbers = windows.holding(slices.number)
        if windows.of_events:
            total = int(slices.count.sum())
            numbers = numbers[(numbers >= 0) & (numbers * windows.slide + windows.length <= total)]
        low, high = windows.reach(numbers, slices.number)
        edges = _edges(slices, windows, numbers, low, high, kind)
    return pa.table({**edges, **write_aggregates(slices, wanted, columns, low, high)})


def write_aggregates(
    slices: Partials, wanted: Sequence[Wanted], columns: Sequence[str], low: np.ndarray, high: np.ndarray
) -> dict[str, pa.Array]:
    """The aggregates of windows, each of which has the slices low[i] <= place < high[i]; both ascend."""
    events = count_between(slices.count, low, high)
    made = {}
    for one in wanted:
        if one.column is None:
            made[one.name] = pa.array(events, pa.int64())
        else:
            part = slices.columns[list(columns).index(one.column)]
            result = single_aggregate_type(one.function, one.kind, "decimal")
            column = SlicedColumn(one.kind, part, low, high)
            made[one.name] = write_aggregate(one.function, result, column, one.column)
    return made


def _edges(
    slices: Partials, windows: Windows, numbers: np.ndarray, low: np.ndarray, high: np.ndarray, kind: TimeType
) -> dict[str, pa.Array]:
    start = numbers * windows.slide
    if not windows.of_events:
        return {"window_start": as_times(start, kind), "window_end": as_times(start + windows.length, kind)}
    first, last = slices.first[low], slices.last[high - 1]
    return {"first_event": pa.array(start), "first_time": as_times(first, kind), "last_time": as_times(last, kind)}
