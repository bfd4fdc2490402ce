"""Which lists of trends can be found from links that are found first."""

from __future__ import annotations

from trendweave.planning.plan import Plan

#: States of a pattern; each pair of neighbouring ones is linked by itself.
MOST_STATES = 16


def why_not_linked(plan: Plan) -> str | None:
    """Say what of a query is in the way, or None where nothing is.

    Args:
        plan: A plan that finds trends one by one.

    Returns:
        The reason as a part of a sentence.
    """
    if plan.is_conjunction:
        return "a conjunction of patterns"
    if plan.negations:
        return "a pattern with NOT"
    if plan.complete:
        return "a choice of complete trends"
    if plan.anchors:
        return "a condition on events of a trend that are no neighbours"
    if plan.strategy == "contiguous":
        return "a contiguous match"
    if len(plan.template.states) > MOST_STATES:
        return f"a pattern of more than {MOST_STATES} symbols"
    return None
