"""Pictures of a result: lines over windows, trends on their events, situations on a time line."""

from __future__ import annotations

import pyarrow as pa

from trendweave import IntervalPlan, Query
from trendweave.errors import TrendweaveError
from trendweave.pictures import TimeLine, draw_time_line, draw_trends, draw_trends_per_window
from trendweave.serve.worker.cells import kind_of

_MOST_PICTURES, _MOST_ROWS = 6, 5_000


def draw_rows(query: Query, rows: pa.Table) -> list[dict[str, str]]:
    """Pictures with their names; none where there is nothing to draw."""
    if not rows.num_rows:
        return []
    few = rows.slice(0, _MOST_ROWS)
    plan = query.plan
    if isinstance(plan, IntervalPlan):
        keys = plan.key_names
        if plan.returns != "situations":
            keys = tuple(output.name for output in plan.outputs if output.function is None)
        return [{"name": "time line", "drawing": draw_time_line(TimeLine("", plan.returns, plan.names, keys), few)}]
    if query.lists_trends:
        return [{"name": "trends", "drawing": draw_trends(few, "")}]
    return _draw_values(query, few)


def _draw_values(query: Query, rows: pa.Table) -> list[dict[str, str]]:
    """A chart per number, along the windows; lines are told apart by the first grouping column."""
    names = rows.column_names
    values = [name for name in names[-query.value_count :] if kind_of(rows.schema.field(name).type) == "number"]
    groups = [name for name in names[: -query.value_count] if name not in ("window_start", "window_end", "time")]
    drawn: list[dict[str, str]] = []
    for value in values[:_MOST_PICTURES]:
        group = groups[0] if groups else None
        title = f"{value} per {group}" if group else value
        try:
            drawn.append({"name": value, "drawing": draw_trends_per_window(rows, value, group, title)})
        except TrendweaveError:  # rows without windows have nothing to be drawn along
            return drawn
    return drawn
