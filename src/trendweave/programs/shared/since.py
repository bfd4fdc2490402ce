"""Queries that came later: they see no events of before, and give rows only for what begins after they came.

Most kinds of queries need no more than not to see earlier events: a trend or a session then begins with an event that
was seen. Windows that are counted from time 0, and those that move with the stream, would begin too early: their rows
are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.outputs import window_names
from trendweave.planning.plan import MovingWindow, SlidingWindow
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.programs.shared.unit import MEMBER, Found
from trendweave.rows.times import TimeType, as_steps, moving_reach


@dataclass(frozen=True, slots=True)
class Beginning:
    """Result rows count from a value of a column on, in steps of the time column."""

    column: str
    first: int
    kind: TimeType


def find_beginning(plan: QueryPlan, kind: TimeType, since: int | None) -> Beginning | None:
    """Which result rows of a query that came at a time are left out.

    Args:
        plan: The plan of the query.
        kind: How the time column counts.
        since: When it came, in steps; None: it was there from the beginning.

    Returns:
        What rows count; None for all that it finds.
    """
    if since is None:
        return None
    if isinstance(plan, IntervalPlan):
        # Matches are counted per window, or begin with an event.
        return Beginning("window_start", since, kind) if plan.returns == "counts" and plan.every is not None else None
    window = plan.trend.window if isinstance(plan, SituatedPlan) else plan.window
    match window:
        case SlidingWindow():
            return Beginning(window_names(window)[0], since, kind)
        case MovingWindow(by="time"):
            reach, exact = moving_reach(window, kind)
            return Beginning(window_names(window)[0], since + reach + (not exact), kind)
    return None


def leave_out(found: Found, begins: Sequence[Beginning | None]) -> pa.Table:
    """Only the rows of what begins late enough, per member."""
    table = found.table
    if not table.num_rows:
        return table
    if found.member is not None:
        begin = begins[found.member]
        kept = None if begin is None else as_steps(table.column(begin.column), begin.kind) >= begin.first
    else:
        kept = _find_kept(table, begins)
    return table if kept is None or kept.all() else table.filter(pa.array(kept))


def _find_kept(table: pa.Table, begins: Sequence[Beginning | None]) -> np.ndarray | None:
    members = table.column(MEMBER).to_numpy()
    kept: np.ndarray | None = None
    for member in np.unique(members):
        begin = begins[member]
        if begin is not None:
            own = np.flatnonzero(members == member)
            kept = np.ones(members.size, np.bool_) if kept is None else kept
            kept[own] = as_steps(table.column(begin.column).take(pa.array(own)), begin.kind) >= begin.first
    return kept
