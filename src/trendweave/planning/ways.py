"""The cheapest way to sum over predecessors that fits what must hold between neighbours, and the kernel that does
it."""

from __future__ import annotations

from trendweave.language.syntax_tree import Expression
from trendweave.planning.plan import EdgeComparison, Guard, Kernel, MovingWindow, Plan, SlidingWindow, Template, Way


def choose_way(
    comparisons: tuple[EdgeComparison, ...], general: tuple[Expression, ...], strategy: str
) -> tuple[Way, str]:
    """The way and, in a few words, why."""
    if strategy == "contiguous":
        return Way.NEIGHBOURS, "contiguous: only events at the time just before can precede"
    if general:
        return Way.SCAN, "a predicate that cannot be split into one value per event"
    if strategy == "skip-till-next-match":
        if comparisons:
            return Way.SCAN, "skip-till-next-match: the first event that can follow depends on a predicate"
        return Way.SUCCESSORS, "skip-till-next-match: each event waits for the next time that can follow it"
    equalities = sum(comparison.operator == "=" for comparison in comparisons)
    orders = sum(comparison.operator in ("<", "<=", ">", ">=") for comparison in comparisons)
    if equalities + orders < len(comparisons):
        return Way.SCAN, "!= has no order to search in"
    if orders > 1:
        return Way.SCAN, f"{orders} order comparisons at once"
    if orders:
        if equalities:
            return Way.RANKS_PER_VALUE, "equality and one order comparison"
        return Way.SUMS_OVER_RANKS, "one order comparison"
    if equalities:
        return Way.SUMS_PER_VALUE, "equality" if equalities == 1 else f"{equalities} equalities at once"
    return Way.RUNNING_SUMS, "no edge predicate"


def choose_kernel(plan: Plan) -> Kernel:
    """Where nothing has to hold between neighbours, all events of a state can be summed up in one number."""
    free = all(edge.way is Way.RUNNING_SUMS for edge in plan.edges)
    if not free or any(not guard.always_open for template in plan.templates for guard in _guards(template)):
        return Kernel.BLOCKS
    match plan.window:
        case MovingWindow():
            return Kernel.SHARED_PANES
        case SlidingWindow(length=length, slide=slide) if length > slide:
            return Kernel.SHARED_PANES
    return Kernel.STATE_SUMS


def _guards(template: Template) -> tuple[Guard, ...]:
    between = tuple(step.guard for step in template.transitions)
    return (*(start.guard for start in template.starts), *between, *(end.guard for end in template.ends))
