"""How sums over predecessors are found, per transition, and which kernel goes over the events.

Whatever follows from the query alone is decided here; kernels are told, refuse what cannot be done, and choose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trendweave.planning.anchors import TemplateLanes, plan_lanes
from trendweave.planning.bindings import bind_templates
from trendweave.planning.matches.conditions import match_columns
from trendweave.planning.plan import (
    NEVER,
    EdgePlan,
    Kernel,
    MovingWindow,
    Plan,
    SlidingWindow,
    Summing,
    Template,
    Transition,
    Way,
    WholeInput,
    Window,
)

#: States and transitions that one word of bits can tell apart.
_MOST_STEPS = 63
#: Sliding sums are matrices: an event costs the square of the states, and in blocks the states times its windows. Up to
#: so few states matrices are cheap in any case; beyond the most they take too much memory.
_FEW_STATES, _MOST_STATES_IN_MATRICES = 32, 512
#: Overlapping windows are gone over one by one, up to so many per event, where lanes are summed.
_MOST_WINDOWS_ONE_BY_ONE = 16
_ANY, _NEXT, _CONTIGUOUS = "skip-till-any-match", "skip-till-next-match", "contiguous"


def choose_ways(
    template: Template, edges: tuple[EdgePlan, ...], strategy: str, lanes: TemplateLanes | None = None
) -> Template:
    """The template with a way of summing on every transition.

    Args:
        template: A template of a query's pattern.
        edges: What must hold between neighbours, for every pair of variables.
        strategy: The query's selection strategy.
        lanes: What trends remember of earlier events.

    Returns:
        The same template, its transitions decided.
    """
    by_pair = {(edge.earlier, edge.later): edge for edge in edges}
    variable = [state.variable for state in template.states]
    steps = [
        replace(
            step,
            summing=_choose(
                by_pair[variable[step.source], variable[step.target]],
                step,
                strategy,
                lanes is not None and lanes.asks(variable[step.target]),
            ),
        )
        for step in template.transitions
    ]
    if strategy == _NEXT:
        # Which event is the next one is asked of all transitions that leave a state together.
        scanned = {step.source for step in steps if step.summing.way is Way.SCAN}
        reason = "skip-till-next-match: another transition from here is scanned"
        steps = [
            replace(step, summing=Summing(Way.SCAN, Way.SCAN, reason))
            if step.source in scanned and step.summing.way is not Way.SCAN
            else step
            for step in steps
        ]
    return replace(template, transitions=tuple(steps))


def choose_negated_ways(
    template: Template, edges: tuple[EdgePlan, ...], lanes: TemplateLanes | None = None
) -> Template:
    """The same for a pattern under NOT: any match counts, and of all its matches the latest start."""
    decided = choose_ways(template, edges, _ANY, lanes)
    steps = (replace(step, summing=replace(step.summing, way=step.summing.inexact)) for step in decided.transitions)
    return replace(decided, transitions=tuple(steps))


def _choose(edge: EdgePlan, step: Transition, strategy: str, in_lanes: bool) -> Summing:
    """The cheapest way that fits what must hold between two neighbours; lanes are one more equality."""
    guard = step.guard
    without_predicate = Way.RUNNING_SUMS if guard.always_open else Way.QUEUED_SUMS
    # That a gap is not clean compares the earlier event's time with a time of the later one.
    closed = step.closed != NEVER
    conditional = bool(edge.comparisons or edge.general or closed or in_lanes)
    if strategy == _CONTIGUOUS:
        way = Way.NEIGHBOURS if conditional else without_predicate
        return Summing(way, way, "contiguous: only events at the time just before can precede")
    if edge.general:
        return Summing(Way.SCAN, Way.SCAN, "a predicate that cannot be split into one value per event")
    if strategy == _NEXT:
        if conditional:
            reason = "skip-till-next-match: the first event that can follow depends on a predicate"
            return Summing(Way.SCAN, Way.SCAN, reason)
        reason = "skip-till-next-match: each event waits for the next time that can follow it"
        return Summing(without_predicate, without_predicate, reason)
    if not conditional:
        reason = "no edge predicate" if guard.always_open else "no edge predicate; events before a NOT leave the queue"
        return Summing(without_predicate, without_predicate, reason)
    way, reason = _searched(edge, closed, in_lanes)
    if way is Way.SCAN or guard.always_open:
        return Summing(way, way, reason)
    return Summing(
        way, Way.SCAN, f"{reason}; after a NOT only integers can be subtracted from sums: floats, MIN, MAX are scanned"
    )


def _searched(edge: EdgePlan, closed: bool, in_lanes: bool) -> tuple[Way, str]:
    """The way for comparisons alone, where any later event may follow."""
    operators = [comparison.operator for comparison in edge.comparisons] + ["<"] * closed
    if in_lanes and not operators:
        return Way.SUMS_PER_VALUE, "the same lane"
    equalities = operators.count("=")
    orders = sum(operator in ("<", "<=", ">", ">=") for operator in operators)
    if equalities + orders < len(operators):
        return Way.SCAN, "!= has no order to search in"
    equalities += in_lanes
    if orders > 1:
        return Way.SCAN, f"{orders} order comparisons at once"
    if not orders:
        return Way.SUMS_PER_VALUE, "equality" if equalities == 1 else f"{equalities} equalities at once"
    if equalities:
        return Way.RANKS_PER_VALUE, "equality and one order comparison"
    return Way.SUMS_OVER_RANKS, "one order comparison"


@dataclass(frozen=True, slots=True)
class PiecePlan:
    """The trends of a template that contain all of `bound` and no other bound variable, and the kernel that counts
    and sums them."""

    bound: tuple[str, ...]
    template: Template
    kernel: Kernel
    lanes: TemplateLanes | None = None


def plan_pieces(plan: Plan, template: Template) -> tuple[PiecePlan, ...]:
    """One piece per set of bound variables that a trend of the template can contain.

    Args:
        plan: The plan that the template belongs to.
        template: One of its templates, or that of a negated pattern.

    Returns:
        The pieces; one where no key is bound to a variable.
    """
    bound = tuple(dict.fromkeys(key.variable for key in plan.bound_keys if key.variable is not None))
    lanes = plan_lanes(plan.anchors, template)
    return tuple(
        PiecePlan(part.bound, part.template, choose_kernel(plan, part.template, lanes), lanes)
        for part in bind_templates(template, bound)
    )


def choose_kernel(plan: Plan, template: Template, lanes: TemplateLanes | None = None) -> Kernel:
    """The kernel that counts and sums over the trends of a template. MIN, MAX and starts of matches are always found
    in blocks."""
    guards = (
        *(start.guard for start in template.starts),
        *(step.guard for step in template.transitions),
        *(end.guard for end in template.ends),
    )
    if steps_from_row_to_row(plan):
        return Kernel.NEIGHBOURS
    closed = any(step.closed != NEVER for step in template.transitions)
    shows_each_once = isinstance(plan.window, MovingWindow) and plan.window.by != "time"
    skips_less = plan.strategy != _ANY or closed
    if lanes is not None and _sums_lanes(plan, template, lanes):
        return Kernel.FOLD_BY_VALUE
    in_blocks = shows_each_once or skips_less or lanes is not None
    if in_blocks or not all(guard.always_open for guard in guards):
        return Kernel.PROPAGATE
    ways = [step.summing.way for step in template.transitions]
    if all(way is Way.RUNNING_SUMS for way in ways):
        if not windows_overlap(plan.window):
            return Kernel.FOLD
        if len(template.states) <= _FEW_STATES or len(template.states) <= min(
            _MOST_STATES_IN_MATRICES, _windows_per_event(plan.window)
        ):
            return Kernel.APPLY
        return Kernel.PROPAGATE
    return Kernel.PROPAGATE


def _sums_lanes(plan: Plan, template: Template, lanes: TemplateLanes) -> bool:
    """Is a number per lane enough, without copies of events? Where one earlier event is remembered, and nothing else is
    asked of neighbours."""
    guards = (
        *(start.guard for start in template.starts),
        *(step.guard for step in template.transitions),
        *(end.guard for end in template.ends),
    )
    neighbours = (plan.edge(*pair) for pair in template.neighbours())
    return (
        plan.returns == "aggregates"
        and plan.strategy == _ANY
        and not plan.finds_trends
        and not finds_extrema(plan)
        and _windows_per_event(plan.window) <= _MOST_WINDOWS_ONE_BY_ONE
        and all(guard.always_open for guard in guards)
        and all(start.closed == NEVER for start in template.starts)
        and all(step.closed == NEVER for step in template.transitions)
        and not any(edge.comparisons or edge.general for edge in neighbours)
        and [anchor.kind for anchor in lanes.anchors] == ["last"]
        and not any(condition.general for condition in lanes.conditions)
    )


def _windows_per_event(window: Window) -> float:
    match window:
        case MovingWindow():
            return float("inf")
        case SlidingWindow(length=length, slide=slide):
            return -(-length // slide)
    return 1


def steps_from_row_to_row(plan: Plan) -> bool:
    """Are trends counted and listed by steps from each row to the next, without search and graph?"""
    if (
        plan.strategy != _CONTIGUOUS
        or plan.is_conjunction
        or plan.negations
        or plan.bound_keys
        or plan.complete
        or plan.anchors
    ):
        return False
    if plan.match_conditions or plan.returns == "rows":
        return False
    if any(column.needs_all_values for column in plan.aggregates):
        return False
    if max(len(plan.template.states), len(plan.template.transitions)) > _MOST_STEPS:
        return False
    if plan.returns == "aggregates":
        only_counts = all(column.function == "COUNT" and column.variable is None for column in plan.aggregates)
        only_counts = only_counts and plan.selection is None
        return only_counts and isinstance(plan.window, WholeInput | SlidingWindow) and not windows_overlap(plan.window)
    if isinstance(plan.window, MovingWindow) and (plan.window.by != "last" or plan.window.wide or plan.selection):
        return False
    return plan.choice is None


def takes_directly(plan: Plan) -> bool:
    """Are the trends that AFTER MATCH or PER START take found without looking at the others?

    Not where something else decides about whole trends first, or where the trends of a partition are found apart.
    Conditions on whole matches are asked of the trends of a beginning in turn, unless they need all values of each.
    """
    if plan.selection is None or plan.complete or plan.bound_keys:
        return False
    if any(column.needs_all_values for column in match_columns(plan.match_conditions).values()):
        return False
    return not plan.window_apart and not plan.is_conjunction


def takes_by_folding(plan: Plan) -> bool:
    """Is one trend taken of each event, and nothing but numbers told of it?

    Such trends overlap, so that listing the events of each costs their square; numbers are carried from each event to
    the one before instead.
    """
    if not takes_directly(plan) or plan.selection is None or plan.selection.skip != "next":
        return False
    return plan.returns in ("each", "aggregates") and plan.choice is None and not isinstance(plan.window, MovingWindow)


def windows_overlap(window: Window) -> bool:
    """Can an event lie in several windows?"""
    match window:
        case MovingWindow():
            return True
        case SlidingWindow(length=length, slide=slide):
            return length > slide
    return False


def finds_extrema(plan: Plan) -> bool:
    """Is there a pass for MIN and MAX?"""
    return not plan.finds_trends and any(column.function in ("MIN", "MAX") for column in plan.aggregates)
