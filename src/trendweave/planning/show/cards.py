"""What notebooks show of a plan."""

from __future__ import annotations

from trendweave.pictures.cards import Card
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.show import show_plan
from trendweave.planning.show.template_picture import make_template
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan


def make_plan_card(plan: QueryPlan, what: str) -> Card:
    """The query in colours, its template, and the whole plan to unfold.

    Args:
        plan: The plan of a query of any kind.
        what: How the object is called.
    """
    kind = "trends"
    if isinstance(plan, IntervalPlan):
        kind = "intervals"
    elif isinstance(plan, SituatedPlan):
        kind = "trends in situations"
    return Card(f"{what} · {kind}", plan.text, (), (make_template(plan),), (("plan", show_plan(plan, "text")),))
