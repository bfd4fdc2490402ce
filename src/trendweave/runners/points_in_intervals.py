"""Events with a column for each situation that a trend query names: do they lie in one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.covered_rows import covered_rows
from trendweave.kernels.situations import RUNNING
from trendweave.runners.interval_local import BoundIntervals, bind_intervals
from trendweave.runners.interval_rows import (
    IntervalRows,
    prepared_events,
    sorted_rows,
    with_conditions_that_look_back,
)
from trendweave.runners.situation_buffers import derived
from trendweave.runners.tables import as_arrow

if TYPE_CHECKING:
    from trendweave.intervals.points import PointsQuery


def run_local_points(query: PointsQuery, events: Any, time: str, type_: str | None, options: dict[str, Any]) -> Any:
    table, give_back = as_arrow(events)
    bound = bind_intervals(query.plan, table.schema, time, type_)
    marked = marked_events(bound, query.columns, table)
    return give_back(query.trend.run(marked, time, type_, **options))


def with_columns(query: PointsQuery, events: Any) -> pa.Schema:
    schema = events if isinstance(events, pa.Schema) else as_arrow(events)[0].schema
    for name in query.columns:
        schema = schema.append(pa.field(name, pa.bool_()))
    return schema


def marked_events(bound: BoundIntervals, columns: tuple[str, ...], events: pa.Table) -> pa.Table:
    """All events, those without a time included, with one boolean column per situation."""
    known = _known_times(events.column(bound.time))
    timed = events.filter(pa.array(known))
    table, _ = prepared_events(bound.plan, bound.preparation, timed, bound.time, None)
    rows = sorted_rows(table, bound.preparation.keys)
    counted = rows if bound.plan.source is None or bound.type is None else _of_type(bound, timed, rows)
    found = derived(bound.plan, with_conditions_that_look_back(bound.preparation, counted), bound.lengths)
    found = found.kept(found.certain != RUNNING)
    low, high = found.bounds()
    for k, name in enumerate(columns):
        inside = covered_rows(rows.time, rows.starts, found.start, found.end, low[k], high[k])
        flags = np.zeros(events.num_rows, np.bool_)
        place = np.flatnonzero(known)
        flags[place[rows.table_rows(np.arange(rows.time.size))]] = inside
        events = events.append_column(name, pa.array(flags))
    return events


def _known_times(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_floating(column.type):
        return pc.fill_null(pc.is_finite(column), False).to_numpy()
    return pc.is_valid(column).to_numpy()


def _of_type(bound: BoundIntervals, events: pa.Table, rows: IntervalRows) -> IntervalRows:
    """Only events of the type that FROM names make situations; others may lie in them."""
    named = pc.fill_null(pc.equal(events.column(bound.type), pa.scalar(bound.plan.source, pa.string())), False)
    kept = np.asarray(named)[rows.table_rows(np.arange(rows.time.size))]
    starts = np.concatenate([[0], np.cumsum(kept)])[rows.starts]
    order = rows.table_rows(np.arange(rows.time.size))[kept]
    return IntervalRows(rows.table, order, rows.kind, rows.time[kept], rows.bits[kept], starts)
