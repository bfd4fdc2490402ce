"""`order_by`: columns that order events of one time, and which queries take them where."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.planning.plan import MovingWindow, Plan
from trendweave.planning.situated_plan import QueryPlan
from trendweave.runners.option_values import refuse


def read_order(plan: QueryPlan, in_pieces: bool, value: object) -> tuple[str, ...]:
    """The columns that order events of one time.

    Args:
        plan: The plan of the query.
        in_pieces: Whether events come piece by piece.
        value: A name, or several; None for none.

    Raises:
        OptionError: These are no names, or the query takes none.
    """
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise refuse(f"order_by names a column, or several, not {value!r}", 'write order_by="number"')
    if not isinstance(plan, Plan):
        message = "order_by is for trend queries: situations begin and end at times, whatever their events' order"
        raise refuse(message, "leave it out, or make times finer")
    if in_pieces and plan.selection is not None and isinstance(plan.window, MovingWindow):
        message = "what AFTER MATCH or PER START takes away is kept by its time between pieces, not by order_by"
        raise refuse(message, "run the query on all events at once, use WITHIN ... SLIDE, or make times finer")
    return names
