"""Rows that Spark's tasks have computed side by side, in the order that one process gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from trendweave.events import AUTO, TypeColumn
from trendweave.operators.running import bind_stages
from trendweave.queries import Query

if TYPE_CHECKING:
    from trendweave.operators.operator import Piped


def find_order(
    piped: Piped, events: Any, right: Any, options: Mapping[str, Any], time: str, type: TypeColumn = AUTO
) -> Callable[[pa.Table], pa.Table]:
    """What puts all rows of a run into order; those that one task has made stand in theirs already.

    Args:
        piped: The operators.
        events: What they ran on: a DataFrame or a store.
        right: The events of the right side of a join; None without them.
        options: Those of the run.
        time: As in `run`.
        type: As in `run`.
    """
    stages, _ = bind_stages(piped, events, right, time, type, options)

    def order(rows: pa.Table) -> pa.Table:
        from trendweave.runners.threads.putting_together import arranging

        behind = len(stages)
        while behind > 1 and stages[behind - 1].is_filter:
            behind -= 1
        # Filters behind the last other operator order rows by time, and leave those of one time as they are.
        last = [*stages[behind - 1 : behind], *stages[behind:][-1:]]
        task = piped.operators[behind - 1].task
        if isinstance(task, Query):
            rows = _by_window_and_group(rows, task)
            last = last[1:]
        for stage in last:
            arrange = arranging(stage.program, by_time=False)
            rows = rows if arrange is None else arrange(rows)
        return rows

    return order


def _by_window_and_group(rows: pa.Table, query: Query) -> pa.Table:
    """Rows of a query by the columns that tell them apart, which come first."""
    names = rows.column_names[: rows.num_columns - query.value_count]
    return rows.sort_by([(name, "ascending") for name in names]) if names else rows
