"""Conditions on single events that no event meets, and what a template cannot do without."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Expression
from trendweave.planning.plan import Plan, Template, VariablePlan

#: So many events are looked at first; mostly one of them meets what is asked for.
_FIRST_EVENTS = 1_024


def find_unmet(plan: Plan, events: pa.Table, type_: str | None, with_rows: bool) -> str:
    """Tell of conditions that no event of the type of their variable meets; empty where there are none.

    Args:
        plan: The plan of the query.
        events: All events that it ran on.
        type_: The column that holds the type; None where there is none.
        with_rows: Whether there is a result: then variables that all trends have are not looked at, as events meet
            their conditions. Else these alone explain why there is none.
    """
    told = []
    for variable in plan.variables:
        if variable.negated or not variable.local or _is_needed(plan, variable.name) == with_rows:
            continue
        for condition in variable.local:
            own = _count_unless_met(condition, variable, events, type_)
            if own:
                of_type = "" if variable.type is None else f" of type {variable.type}"
                what = f"none of {own:,} events{of_type}" if type_ else "no event"
                told.append(f"{what} meets {print_expression(condition)}, as {variable.name} has to")
                break
    return "; ".join(told)


def find_shortest(plan: Plan) -> int:
    """How many events the shortest trends of a pattern have, NOT and conditions aside."""
    # Trends of a conjunction match both of its sides.
    return max(_find_length(template) for template in plan.templates[:2])


def _is_needed(plan: Plan, variable: str) -> bool:
    return any(_find_length(template, without=variable) == 0 for template in plan.templates[:2])


def _find_length(template: Template, without: str | None = None) -> int:
    """The events of a shortest trend that has none of a variable; 0 where there is no such trend."""
    allowed = {state.number for state in template.states if state.variable != without}
    ends = {end.state for end in template.ends}
    following: dict[int, list[int]] = {}
    for step in template.transitions:
        if step.target in allowed:
            following.setdefault(step.source, []).append(step.target)
    reached = {start.state for start in template.starts} & allowed
    seen, length = set(reached), 1
    while reached:
        if reached & ends:
            return length
        reached = {target for state in reached for target in following.get(state, ())} - seen
        seen |= reached
        length += 1
    return 0


def _count_unless_met(condition: Expression, variable: VariablePlan, events: pa.Table, type_: str | None) -> int:
    """How many events of its type there are, if none meets a condition; 0 as soon as one does."""
    begin, size, count = 0, _FIRST_EVENTS, 0
    while begin < events.num_rows:
        own = events.slice(begin, size)
        if type_ is not None and variable.type is not None:
            own = own.filter(pc.equal(_plain(own.column(type_)), variable.type))
        if own.num_rows and np.any(is_true(condition, own)):
            return 0
        begin, size, count = begin + size, size * 8, count + own.num_rows
    return count


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
