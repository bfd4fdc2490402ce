"""A plan as people and other programs read it: text, drawings (Mermaid, Graphviz) and JSON."""

from __future__ import annotations

from typing import Literal, TypeAlias

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.show import drawing, explain, intervals, situated
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan

ExplainFormat: TypeAlias = Literal["text", "mermaid", "dot", "json"]


def show_plan(plan: QueryPlan, format: ExplainFormat) -> str:
    """The plan of a query of any kind, in one of the formats."""
    match plan:
        case IntervalPlan():
            ways_of_intervals = {
                "text": intervals.explain_text,
                "mermaid": intervals.mermaid,
                "dot": intervals.dot,
                "json": intervals.as_json,
            }
            return ways_of_intervals[format](plan)
        case SituatedPlan():
            ways_of_both = {
                "text": situated.explain_text,
                "mermaid": situated.mermaid,
                "dot": situated.dot,
                "json": situated.as_json,
            }
            return ways_of_both[format](plan)
        case _:
            ways_of_trends = {
                "text": explain.explain_text,
                "mermaid": drawing.mermaid,
                "dot": drawing.dot,
                "json": drawing.as_json,
            }
            return ways_of_trends[format](plan)
