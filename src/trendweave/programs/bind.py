"""A plan and the columns of some events -> the program that runs wherever the events are."""

from __future__ import annotations

import pyarrow as pa

from trendweave.gpu.card import refuse_work
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.programs.program import Program
from trendweave.programs.trends.detection import Wishes
from trendweave.programs.trends.program import bind_trends


def bind(plan: QueryPlan, events: pa.Schema, time: str, type_: str | None, wishes: Wishes) -> Program:
    """The program of a plan.

    Args:
        plan: Of any kind of query.
        events: The columns of the events, which fit the plan.
        time: The column that holds the time.
        type_: The column that holds the type, if any.
        wishes: The options of the run.

    Raises:
        ExecutionError: The device that is asked for does not compute such plans.
    """
    match plan:
        case Plan():
            return bind_trends(plan, events, time, type_, wishes)
        case IntervalPlan():
            if wishes.device == "gpu":
                refuse_work("queries over intervals are not computed on a GPU", "threads")
            from trendweave.programs.intervals.program import bind_intervals

            return bind_intervals(plan, events, time, type_)
        case SituatedPlan():
            from trendweave.programs.intervals.program import bind_intervals
            from trendweave.programs.situated import InSituations

            marked = events
            for name in plan.columns:
                marked = marked.append(pa.field(name, pa.bool_()))
            inner = bind_trends(plan.trend, marked, time, type_, wishes)
            situations = bind_intervals(plan.situations, events, time, type_)
            read = {*inner.needs.read, *(path[0] for path in plan.situations.needed_columns)} - set(plan.columns)
            return InSituations(inner, situations, plan, tuple(sorted(read)))
