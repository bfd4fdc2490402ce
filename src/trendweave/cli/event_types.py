"""Which column tells the types of events, where the user has not said."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave import IntervalPlan, Query


def type_column(query: Query, type_: str | None, columns: Sequence[str]) -> str | None:
    """Interval queries need none, and take the default one only where both have it."""
    plan = query.plan
    if isinstance(plan, IntervalPlan) and type_ == "type" and (type_ not in columns or plan.source is None):
        return None
    return type_
