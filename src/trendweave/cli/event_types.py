"""Which column tells the types of events, where the user has not said."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.interval_queries import IntervalQuery
from trendweave.queries import AnyQuery


def type_column(query: AnyQuery, type_: str | None, columns: Sequence[str]) -> str | None:
    """Interval queries need none, and take the default one only where both have it."""
    if isinstance(query, IntervalQuery) and type_ == "type" and (type_ not in columns or query.plan.source is None):
        return None
    return type_
