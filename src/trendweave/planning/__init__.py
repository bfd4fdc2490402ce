"""Syntax tree -> plan."""

from trendweave.planning.plan import Plan
from trendweave.planning.planner import make_plan

__all__ = ["Plan", "make_plan"]
