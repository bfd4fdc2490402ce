"""An operator and the columns of its events -> its program, as a stage of a chain."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa

from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan, OperatorPlan
from trendweave.planning.situated_plan import QueryPlan
from trendweave.programs.bind import Wishes, bind
from trendweave.programs.operators.filter import bind_filter
from trendweave.programs.operators.joins.program import bind_join
from trendweave.programs.operators.stages import Stage, keys_of
from trendweave.programs.operators.windows.program import bind_windows

#: What an operator does: queries are operators, too.
AnyPlan: TypeAlias = OperatorPlan | QueryPlan


def bind_stage(plan: AnyPlan, events: pa.Schema, time: str, type_: str | None, wishes: Wishes) -> Stage:
    """The program of an operator.

    Args:
        plan: What it does.
        events: The columns of its events, which fit it.
        time: The column that holds the time.
        type_: The column that holds the type, for queries.
        wishes: The options of the run.
    """
    match plan:
        case FilterPlan():
            return Stage(bind_filter(plan, events, time, wishes.device), None)
        case AggregatePlan():
            return Stage(bind_windows(plan, events, time, wishes.numbers, wishes.device), _pairs(plan.keys))
        case JoinPlan():
            return Stage(bind_join(plan, events, time, wishes.device), _pairs(plan.keys))
    program = bind(plan, events, time, type_, wishes)
    return Stage(program, keys_of(program))


def _pairs(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((key, key) for key in keys)
