"""Which trend plans can be computed in one automaton with others: aggregates without edge predicates."""

from __future__ import annotations

from trendweave.planning.plan import NEVER, AggregateColumn, Guard, Plan, SlidingWindow, WholeInput
from trendweave.planning.situated_plan import QueryPlan
from trendweave.sharing.merged import Reading

#: Windows that hold one event. Merged queries have a number per window, and add it up for each; alone, a query queues
#: events once, however many windows hold them.
_MOST_WINDOWS = 64
_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")


def why_not_merged(plan: QueryPlan) -> str | None:
    """Say, in a few words, why a query cannot be merged with others into one automaton.

    Args:
        plan: Any plan.

    Returns:
        The reason; None where it can.
    """
    if not isinstance(plan, Plan):
        return "it is no query about trends"
    if plan.returns != "aggregates":
        return "it shows trends one by one"
    if plan.finds_trends:
        return "its trends are found one by one"
    if not isinstance(plan.window, SlidingWindow | WholeInput):
        return "its windows depend on the events"
    if plan.strategy != "skip-till-any-match":
        return f"its strategy is {plan.strategy}"
    if isinstance(plan.window, SlidingWindow) and plan.window.length > _MOST_WINDOWS * plan.window.slide:
        return f"an event lies in more than {_MOST_WINDOWS} of its windows"
    if plan.is_conjunction:
        return "it has AND between patterns"
    if plan.bound_keys:
        return "it has a key of one variable"
    if plan.anchors or plan.match_conditions:
        return "it compares events with earlier ones"
    if any(not _is_supported(column) for column in plan.aggregates):
        return "it asks for DISTINCT, LENGTH or a spread"
    return _why_not_its_template(plan)


def _is_supported(column: AggregateColumn) -> bool:
    return column.function in _FUNCTIONS and not column.distinct and not column.is_length


def _why_not_its_template(plan: Plan) -> str | None:
    template = plan.template
    pairs = template.neighbours()
    edges = [start.guard for start in template.starts] + [end.guard for end in template.ends]
    if plan.window_apart or any(not guard.always_open for guard in edges):
        return "it has NOT at the beginning or the end"
    steps = template.transitions
    if any(step.closed != NEVER for step in steps) or not all(_is_plain(plan, step.guard) for step in steps):
        return "it has NOT of more than one event"
    if any((edge.comparisons or edge.general) and (edge.earlier, edge.later) in pairs for edge in plan.edges):
        return "it compares neighbouring events"
    return None


def _is_plain(plan: Plan, guard: Guard) -> bool:
    """Is a gap free, or free of one kind of event?"""
    return guard.always_open or blocker_of(plan, guard) is not None


def blocker_of(plan: Plan, guard: Guard) -> Reading | None:
    """Find the events that a gap must be free of.

    Args:
        plan: The plan.
        guard: Guards the gap.

    Returns:
        What they are read as; None where there are none, or it is more than one kind of single events.
    """
    if guard.always_open or len(guard.alternatives) != 1 or len(guard.alternatives[0]) != 1:
        return None
    negated = plan.negations[guard.alternatives[0][0]].template
    if len(negated.states) != 1:
        return None
    return reading_of(plan, negated.states[0].variable)


def reading_of(plan: Plan, variable: str) -> Reading:
    """What events read as a variable are."""
    found = plan.variable(variable)
    return Reading(found.type, found.local)
