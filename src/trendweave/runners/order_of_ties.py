"""`order_by`: columns that order events of one time, and which queries take them where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trendweave.errors import OptionError, Problem
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import MovingWindow
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.runners.option_values import refuse

_KEPT_BY_TIME = "what AFTER MATCH or PER START takes away is kept by its time between pieces, not by order_by"


def read_order(
    plans: Mapping[str, QueryPlan] | Mapping[None, QueryPlan], in_pieces: bool, value: object
) -> tuple[str, ...]:
    """The columns that order events of one time. They are for the queries among others that look for trends.

    Args:
        plans: The plans of queries by name; None for one that is alone.
        in_pieces: Whether events come piece by piece.
        value: A name, or several; None for none.

    Raises:
        OptionError: These are no names, or a query cannot take them here, or there is none that takes them.
    """
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise refuse(f"order_by names a column, or several, not {value!r}", 'write order_by="number"')
    trends = {
        name: plan.trend if isinstance(plan, SituatedPlan) else plan
        for name, plan in plans.items()
        if not isinstance(plan, IntervalPlan)
    }
    if not trends:
        message = "order_by is for trends: situations begin and end at times, whatever their events' order"
        raise refuse(message, "leave it out, or make times finer")
    kept = [
        name for name, plan in trends.items() if plan.selection is not None and isinstance(plan.window, MovingWindow)
    ]
    if in_pieces and kept:
        hint = "run the query on all events at once, use WITHIN ... SLIDE, or make times finer"
        raise OptionError([Problem("TW408", _KEPT_BY_TIME, hint, query=name) for name in kept])
    return names
