"""A plan and the columns of some events -> the program that runs wherever the events are."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from trendweave.gpu.card import refuse_work
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.programs.program import Program
from trendweave.programs.trends.detection import Detection, Limits
from trendweave.programs.trends.program import bind_trends
from trendweave.results.types import Numbers


class Wishes(Protocol):
    """What a program is asked for besides its plan."""

    @property
    def numbers(self) -> Numbers:
        """How whole numbers are written."""

    @property
    def detection(self) -> Detection:
        """How trends are shown one by one."""

    @property
    def device(self) -> str:
        """What computes; see `trendweave.devices.names`."""

    @property
    def order_by(self) -> tuple[str, ...]:
        """The columns that order events of one time, for queries that look for trends."""

    @property
    def limits(self) -> Limits:
        """What is refused before it is computed."""


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
            asked = (wishes.numbers, wishes.detection, wishes.device, wishes.order_by, wishes.limits)
            return bind_trends(plan, events, time, type_, *asked)
        case IntervalPlan():
            if wishes.device == "gpu":
                refuse_work("queries over intervals are not computed on a GPU", "threads")
            from trendweave.programs.intervals.program import bind_intervals

            return bind_intervals(plan, events, time, type_)
        case SituatedPlan():
            return _bind_situated(plan, events, time, type_, wishes)


def _bind_situated(plan: SituatedPlan, events: pa.Schema, time: str, type_: str | None, wishes: Wishes) -> Program:
    from trendweave.programs.intervals.program import bind_intervals
    from trendweave.programs.situated.program import InSituations

    marked = events
    for name in plan.columns:
        marked = marked.append(pa.field(name, pa.bool_()))
    asked = (wishes.numbers, wishes.detection, wishes.device, wishes.order_by, wishes.limits)
    inner = bind_trends(plan.trend, marked, time, type_, *asked)
    situations = bind_intervals(plan.situations, events, time, type_)
    read = {*inner.needs.read, *(path[0] for path in plan.situations.needed_columns)} - set(plan.columns)
    return InSituations(inner, situations, plan.columns, tuple(sorted(read)), plan.text)
