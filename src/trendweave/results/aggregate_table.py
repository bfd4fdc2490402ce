"""Aggregates -> a table with the columns that the query promises."""

from __future__ import annotations

import pyarrow as pa

from trendweave.planning.plan import Plan
from trendweave.results.numbers import write_aggregate
from trendweave.results.partials import TaskResult
from trendweave.results.types import Numbers
from trendweave.rows.times import time_type
from trendweave.rows.windows import window_columns


def result_table(plan: Plan, result: TaskResult, schema: pa.Schema, events: pa.Schema, numbers: Numbers) -> pa.Table:
    """Write aggregates as the table that the query promises.

    Args:
        plan: The plan of the query.
        result: Aggregates per window and group.
        schema: The columns of the table.
        events: The columns of the events.
        numbers: How whole numbers are written.

    Returns:
        One row per window and group.

    Raises:
        ExecutionError: A number does not fit its column.
    """
    windows = window_columns(plan.window, time_type(schema.field(0).type), result.partials.window)
    columns: list[pa.Array] = [*windows.values()]
    columns += [group.cast(schema.field(len(columns) + index).type) for index, group in enumerate(result.groups)]
    offset = len(columns)
    shown = ((group, values) for group, values in zip(plan.groups, result.groups, strict=True) if not group.apart)
    places = windows | {group.name: values for group, values in shown}
    grouped = {group.path for group in plan.groups}
    over = tuple(".".join(key.path) for key in plan.partition_key if key.path not in grouped)
    for index, column in enumerate(plan.aggregates):
        component = result.partials.components[1 + index]
        kind = schema.field(offset + index).type
        columns.append(write_aggregate(column, kind, events, numbers, component, places, over))
    return pa.table(columns, schema=schema)
