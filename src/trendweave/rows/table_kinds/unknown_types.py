"""Columns of which nothing tells the type: of a frame or a file without rows, whose types are found by looking at
values, Arrow says that they hold NULL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import pyarrow as pa

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.rows.given_times.reading import TimeReading

#: The plan of a query, and the column that holds the type for it.
TypedQuery: TypeAlias = tuple[QueryPlan, "str | None"]


def settle_types(
    events: pa.Table, queries: Iterable[TypedQuery], times: Iterable[str], reading: TimeReading
) -> pa.Table:
    """Events with the types that queries need, where there is not a single event to tell another.

    Args:
        events: Events as they came. Those with rows stay what they are.
        queries: Plans of what is asked, each with the column that holds the type.
        times: The columns that hold times.
        reading: How these are read.
    """
    if events.num_rows or not any(pa.types.is_null(field.type) for field in events.schema):
        return events
    needed: dict[str, pa.DataType] = {}
    for plan, type_ in queries:
        if type_ is not None:
            needed[type_] = pa.string()
        needed |= dict.fromkeys(_find_numbers(plan), pa.float64())
    needed |= dict.fromkeys(times, pa.int64() if reading.written is None else pa.string())
    fields = [
        field.with_type(needed[field.name]) if pa.types.is_null(field.type) and field.name in needed else field
        for field in events.schema
    ]
    return pa.schema(fields, events.schema.metadata).empty_table()


def _find_numbers(plan: QueryPlan) -> list[str]:
    """The columns that are aggregated."""
    if isinstance(plan, IntervalPlan):
        return []
    trend = plan.trend if isinstance(plan, SituatedPlan) else plan
    return [column.path[0] for column in trend.aggregates if column.path is not None and len(column.path) == 1]
