"""A plan as people and other programs read it: text, drawings (Mermaid, Graphviz) and JSON."""

from __future__ import annotations

from typing import Literal, TypeAlias

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.show import drawing, explain, intervals, situated
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan

ExplainFormat: TypeAlias = Literal["text", "mermaid", "dot", "json"]


def show_plan(plan: QueryPlan, format: ExplainFormat) -> str:
    """The plan of a query of any kind, in one of the formats."""
    if format == "mermaid":
        return drawing.mermaid(plan)
    if format == "dot":
        return drawing.dot(plan)
    as_text = format == "text"
    match plan:
        case IntervalPlan():
            return intervals.explain_text(plan) if as_text else intervals.as_json(plan)
        case SituatedPlan():
            return situated.explain_text(plan) if as_text else situated.as_json(plan)
        case _:
            return explain.explain_text(plan) if as_text else drawing.as_json(plan)
