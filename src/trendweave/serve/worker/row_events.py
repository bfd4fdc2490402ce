"""From a row of a result to its events: those of the trend that it shows, or those of its window and group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trendweave import Plan, Query, SituatedPlan
from trendweave.serve.asking import Refused
from trendweave.serve.worker.cells import describe_column, write_cell, write_rows
from trendweave.serve.worker.events import all_rows, open_events
from trendweave.serve.worker.jobs import Job, Message

_Bounds: TypeAlias = tuple[pa.Scalar, pa.Scalar]
#: Events of a window that a page gets.
_MOST_EVENTS = 500
_CHARACTERS = 500_000
_STEPS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def describe_events(query: Query, rows: pa.Table, most_characters: int) -> Message | None:
    """What a page shows behind rows: the events of each trend, or that it may ask for those of a window.

    Args:
        query: The query.
        rows: Its rows.
        most_characters: How many characters the events of all trends may have; the last trends may have no room.

    Returns:
        None where a row has neither.
    """
    if _find_plan(query) is None:
        return None
    if not query.lists_trends:
        return {"of": "window"}
    trends, room = [], most_characters
    for events in rows.column("events").to_pylist():
        cells = [[write_cell(value) for value in event.values()] for event in events]
        room -= sum(len(cell or "") for event in cells for cell in event)
        trends.append(cells if room >= 0 else None)
    return {
        "of": "trend",
        "columns": list(map(describe_column, rows.schema.field("events").type.value_type)),
        "trends": trends,
    }


def find_events(job: Job) -> Iterator[Message]:
    """The events of the window and group of a row, of the types that the pattern names.

    Raises:
        TrendweaveError: The query has problems.
        Refused: The row is none of the query's.
    """
    query = job.queries()
    plan = _find_plan(query) if isinstance(query, Query) else None
    if plan is None:
        raise Refused("only rows of a query for trends have a window")
    events = open_events(job)
    if events.time not in events.schema.names:
        raise Refused(f"there is no time column {events.time}")
    row = job.asked.row
    bounds = _find_bounds(plan, row, events.schema.field(events.time).type)
    table = all_rows(job, events, None if bounds is None else (bounds[0].as_py(), bounds[1].as_py()))
    table = table.filter(_is_in(table.column(events.time), bounds, plan, "window_start" not in row))
    named = [variable.type for variable in plan.variables if variable.type is not None]
    if events.type is not None and len(named) == len(plan.variables):
        types = table.column(events.type).cast(pa.string())
        table = table.filter(pc.is_in(types, value_set=pa.array(sorted(set(named)))))
    for group in (*plan.groups, *_shown_keys(plan)):
        table = table.filter(_is_of_group(table, group, row, plan, events.type))
    table = table.sort_by(events.time)
    few = table.slice(0, _MOST_EVENTS)
    cells, _ = write_rows(few, _CHARACTERS)
    columns = [describe_column(field) for field in table.schema]
    yield {"event": "events", "columns": columns, "rows": cells, "total": table.num_rows}


def _find_plan(query: Query) -> Plan | None:
    plan = query.plan.trend if isinstance(query.plan, SituatedPlan) else query.plan
    return plan if isinstance(plan, Plan) else None


def _find_bounds(plan: Plan, row: Mapping[str, str | None], type_: pa.DataType) -> _Bounds | None:
    """The two ends of the window of a row; None where it is all of the input."""
    if "window_start" in row:
        if row["window_start"] is None:
            return None
        return _read(row, "window_start", type_), _read(row, "window_end", type_)
    # A window that moves with the stream ends with the time of its row.
    at = _read(row, "time", type_)
    return pc.subtract(at, _length(getattr(plan.window, "length", 0), type_)), at


def _read(row: Mapping[str, str | None], name: str, type_: pa.DataType) -> pa.Scalar:
    """A time out of a cell, in the type of the time column."""
    text = row.get(name)
    if text is None:
        raise Refused(f"the row has no {name}")
    try:
        if not pa.types.is_timestamp(type_):
            return pa.scalar(text).cast(type_)
        moment = pa.scalar(text).cast(pa.timestamp(type_.unit))
        # Cells are written as clocks show them.
        return moment if type_.tz is None else pc.assume_timezone(moment, type_.tz, ambiguous="earliest")
    except pa.ArrowInvalid:
        raise Refused(f"{name} is no time of these events") from None


def _length(nanoseconds: int, type_: pa.DataType) -> pa.Scalar:
    """A length of time as the time column counts it; numbers are seconds."""
    if pa.types.is_timestamp(type_):
        return pa.scalar(nanoseconds * _STEPS[type_.unit] // 10**9, pa.duration(type_.unit))
    seconds = nanoseconds / 10**9
    return pa.scalar(seconds if pa.types.is_floating(type_) else int(seconds), type_)


def _is_in(times: pa.ChunkedArray, bounds: _Bounds | None, plan: Plan, moves: bool) -> pa.ChunkedArray:
    if bounds is None:
        return pc.is_valid(times)
    begin, end = bounds
    if not moves:
        return pc.and_(pc.greater_equal(times, begin), pc.less(times, end))
    # A NOT at the end is certain as long after the first event as a trend may last: this event is one of the window.
    since = pc.greater_equal if getattr(plan.window, "by", "") == "first" else pc.greater
    return pc.and_(since(times, begin), pc.less_equal(times, end))


def _shown_keys(plan: Plan) -> list[Any]:
    """Columns of rows of single trends that hold what all events of a trend have in common."""
    keys = {key.path for key in plan.partition_key} if plan.returns == "each" else set()
    of_one = [column for column in plan.aggregates if column.function in ("FIRST", "LAST") and column.path in keys]
    shown = set(plan.shown_values)
    return [replace(column, variable=None) for column in of_one if column.name in shown]


def _is_of_group(
    table: pa.Table, group: Any, row: Mapping[str, str | None], plan: Plan, type_: str | None
) -> pa.ChunkedArray:
    """Whether events have the value of a group; where it is that of one variable, others may have any."""
    if group.name not in row or group.path[0] not in table.column_names:
        raise Refused(f"the row has no {group.name}")
    values = table.column(group.path[0])
    for name in group.path[1:]:
        values = pc.struct_field(values, name)
    text = row[group.name]
    known = [value for value in pc.unique(values) if write_cell(value.as_py()) == text]
    fits = pc.is_in(values, value_set=pa.array([value.as_py() for value in known], values.type))
    if group.variable is None or type_ is None:
        return fits
    own = next(variable.type for variable in plan.variables if variable.name == group.variable)
    if own is None:  # any event may be of the variable, and of another one where there is one
        return fits if len(plan.variables) == 1 else pc.or_(fits, pa.scalar(True))
    return pc.or_(fits, pc.not_equal(table.column(type_).cast(pa.string()), own))
