"""Syntax tree -> plan."""

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan
from trendweave.planning.planner import make_plan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.planning.situated_planner import plan_query

__all__ = ["IntervalPlan", "Plan", "QueryPlan", "SituatedPlan", "make_plan", "plan_query"]
