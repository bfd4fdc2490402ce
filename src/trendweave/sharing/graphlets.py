"""Queries in one automaton: aggregates without edge predicates that have something in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from trendweave.planning.plan import (
    NEVER,
    AggregateColumn,
    End,
    Guard,
    Path,
    Plan,
    SlidingWindow,
    Start,
    State,
    Template,
    Transition,
    WholeInput,
)
from trendweave.planning.situated_plan import QueryPlan
from trendweave.sharing.merged import (
    Measures,
    MergedQueries,
    blocker_of,
    merge_plans,
    merge_templates,
    share_measures,
)

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


#: What functions are made of; sums and averages of a sum and of the number of known values.
_NUMBERS = {name: (name,) for name in ("COUNT", "MIN", "MAX")}
#: What is measured is measured for all queries of a unit. Two crowds of queries are one unit as long as that makes not
#: more numbers than so many times those of two units.
_MORE_NUMBERS = 1.5


@dataclass(frozen=True, slots=True)
class Graphlets:
    """Queries in one automaton; what they have in common is computed once, or side by side.

    Attributes:
        members: Their numbers.
        merged: The automaton.
        plan: What all of them ask of events, as one plan: its variables are how events are read, its aggregates what is
            measured. Windows may be of other kinds than its own.
        measures: What is measured, over which states.
    """

    kind: ClassVar[str] = "graphlets"
    members: tuple[int, ...]
    merged: MergedQueries
    plan: Plan
    measures: Measures


def share_graphlets(plans: Sequence[QueryPlan], left: list[int]) -> list[Graphlets]:
    """Put queries that have parts in common into units.

    Args:
        plans: All plans.
        left: Those that are in no unit yet.

    Returns:
        Units of two queries or more.
    """
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for member in left:
        plan = plans[member]
        if isinstance(plan, Plan) and why_not_merged(plan) is None:
            alike[meeting_of(plan)].append(member)
    crowds = [crowd for members in alike.values() for crowd in _by_measures(plans, members)]
    return [unit for crowd in crowds if (unit := merge_queries(plans, crowd)) is not None]


def meeting_of(plan: Plan) -> tuple[Hashable, bool]:
    """What has to be the same for one automaton: keys, and whether there are windows."""
    keys = frozenset((key.path, key.nullable) for key in plan.partition_key)
    return keys, isinstance(plan.window, WholeInput)


def merge_queries(plans: Sequence[QueryPlan], members: Sequence[int]) -> Graphlets | None:
    """Merge queries that can be merged, without those that have nothing in common with any other.

    Args:
        plans: All plans.
        members: The numbers of those to merge.

    Returns:
        The unit; None where no two queries have anything in common.
    """
    own = [plan for plan in (plans[member] for member in members) if isinstance(plan, Plan)]
    assert len(own) == len(members), "others are not merged"
    merged = merge_templates(own)
    sharing = _find_sharing(merged)
    if len(sharing) < 2:
        return None
    if len(sharing) < len(members):
        return merge_queries(plans, [members[query] for query in sorted(sharing)])
    parts = {state: number for number, part in enumerate(merged.parts) for state in part}
    measures = share_measures(own, merged.places, parts)
    return Graphlets(tuple(members), merged, _merge_plans(own, merged, measures), measures)


def _merge_plans(own: Sequence[Plan], merged: MergedQueries, measures: Measures) -> Plan:
    readings = [state.reading for state in merged.states]
    readings += [step.blocker for step in merged.steps if step.blocker is not None]
    names = {reading: f"v{number}" for number, reading in enumerate(dict.fromkeys(readings))}
    template = Template(
        tuple(State(number, names[state.reading], state.reading.type) for number, state in enumerate(merged.states)),
        tuple(Start(number) for number, state in enumerate(merged.states) if state.starts),
        tuple(Transition(*pair) for pair in dict.fromkeys((step.source, step.target) for step in merged.steps)),
        tuple(End(state) for state in dict.fromkeys(state for state, _ in merged.ends)),
    )
    return merge_plans(own, names, template, measures.columns)


def _find_sharing(merged: MergedQueries) -> set[int]:
    """Queries that have something in common with others."""
    sharing: set[int] = set()
    for state in merged.prefixes:
        sharing.update(merged.states[state].queries)
    for part in merged.common:
        queries = merged.queries_of(part)
        if len(queries) > 1:
            sharing.update(queries)
    return sharing


def measures_of(plan: Plan) -> frozenset[tuple[str, Path | None]]:
    """What is measured of the trends of a query: kinds of numbers, and what they are of."""
    measured = [column for column in plan.aggregates if column.variable is not None]
    return frozenset(
        (kind, column.path) for column in measured for kind in _NUMBERS.get(column.function, ("SUM", "COUNT"))
    )


def _by_measures(plans: Sequence[QueryPlan], members: Sequence[int]) -> list[list[int]]:
    """Put queries together that measure much the same. Nobody should pay for what only others measure."""
    alike: dict[frozenset[tuple[str, Path | None]], list[int]] = defaultdict(list)
    for member in members:
        plan = plans[member]
        assert isinstance(plan, Plan), "others are not merged"
        alike[measures_of(plan)].append(member)
    crowds: list[tuple[frozenset[tuple[str, Path | None]], list[int]]] = []
    for measured, crowd in sorted(alike.items(), key=lambda found: -len(found[1])):
        for number, (theirs, others) in enumerate(crowds):
            apart = (1 + len(theirs)) * len(others) + (1 + len(measured)) * len(crowd)
            together = (1 + len(theirs | measured)) * (len(others) + len(crowd))
            if together <= _MORE_NUMBERS * apart:
                crowds[number] = (theirs | measured, sorted(others + crowd))
                break
        else:
            crowds.append((measured, crowd))
    return [crowd for _, crowd in crowds]
