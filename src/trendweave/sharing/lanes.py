"""Aggregates with edge predicates whose queries share the search for predecessors: one merged plan, a lane per query.

Queries share it where they have the same window, strategy and partition key, and some transition on which they ask the
same of two events. What they ask of single events, where trends begin and end, what is returned: all this may differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import type_text
from trendweave.planning.plan import (
    EdgePlan,
    End,
    Plan,
    SlidingWindow,
    Start,
    State,
    Template,
    Transition,
    WholeInput,
)
from trendweave.planning.situated_plan import QueryPlan
from trendweave.planning.ways import choose_negated_ways, choose_ways, steps_from_row_to_row
from trendweave.sharing.constants import LEAST, find_alike
from trendweave.sharing.merged import Measures, Reading, merge_plans, share_measures
from trendweave.sharing.overlay import Lane, Negations, Overlay, StepCondition, find_pattern

#: Queries in one vector: bits of a mask.
MOST_LANES = 64
#: So many queries that differ in constants only are too many for lanes.
_MANY_RULES = 4 * MOST_LANES
_ANY = "skip-till-any-match"


@dataclass(frozen=True, slots=True)
class Lanes:
    """Queries that are propagated side by side.

    Attributes:
        members: Their numbers.
        plan: The merged plan. The states of its template are roles, whose variables are none of the plan's own: those
            are how events are read, in any of the lanes.
        lanes: What each lane has of the merged template.
        lane_of: The lane of each member.
        measures: What is measured, over which places: role * MOST_LANES + lane.
        readings: The names of the plan's variables, by how events are read.
        shared: What is shared, in a few words per transition.
    """

    kind: ClassVar[str] = "lanes"
    members: tuple[int, ...]
    plan: Plan
    lanes: tuple[Lane, ...]
    lane_of: tuple[int, ...]
    measures: Measures
    readings: tuple[tuple[Reading, str], ...]
    shared: tuple[str, ...]


def share_lanes(plans: Sequence[QueryPlan], left: list[int]) -> list[Lanes]:
    """Find queries whose predecessors are searched once for all.

    Args:
        plans: All plans of a workload.
        left: The numbers of those that are in no unit yet.

    Returns:
        Units of two queries or more.
    """
    families: dict[object, list[tuple[int, Plan]]] = defaultdict(list)
    looked_up = _better_looked_up(plans, left)
    for number in left:
        plan = plans[number]
        if isinstance(plan, Plan) and number not in looked_up and serves(plan):
            families[plan.window, plan.strategy, plan.partition_key].append((number, plan))
    return [unit for family in families.values() if len(family) > 1 for unit in _overlay_family(family)]


def _better_looked_up(plans: Sequence[QueryPlan], left: list[int]) -> set[int]:
    """Queries that differ in constants so that few of them want an event: those that ask for a value of their own, or
    are very many. Each event is then better copied for those that want it than added up in the lanes of all."""
    found: set[int] = set()
    for group in find_alike(plans, left, LEAST):
        own_values = any(compared.test in ("=", "in") for compared in group.compared)
        if own_values or len(group.members) > _MANY_RULES:
            found.update(group.members)
    return found


def serves(plan: Plan) -> bool:
    """Can a plan be one lane of several? Its trends are aggregated, not found, and it would be searched in for
    predecessors: others are cheaper by themselves, or share more in another way."""
    return (
        plan.returns == "aggregates"
        and not plan.finds_trends
        and not plan.is_conjunction
        and not plan.bound_keys
        and not plan.anchors
        and not plan.match_conditions
        and not plan.window_apart
        and isinstance(plan.window, SlidingWindow | WholeInput)
        and not any(column.distinct or column.is_length for column in plan.aggregates)
        and not steps_from_row_to_row(plan)
        and (plan.strategy != _ANY or _compares_neighbours(plan))
    )


def _compares_neighbours(plan: Plan) -> bool:
    edges = (plan.edge(*pair) for pair in plan.template.neighbours())
    return any(edge.comparisons or edge.general for edge in edges)


def _overlay_family(family: list[tuple[int, Plan]]) -> list[Lanes]:
    """Lay patterns over each other, each over those with which it has most in common."""
    negations = Negations()
    overlays: list[Overlay] = []
    for number, plan in family:
        pattern = find_pattern(plan, negations)
        if pattern is None:
            continue
        best, best_places, most = Overlay(), tuple(range(len(pattern.readings))), 0
        for overlay in overlays:
            if len(overlay.lanes) == MOST_LANES:
                continue
            places = overlay.place(pattern)
            shared = overlay.shared_steps(pattern, places)
            common = sum(step.compares_events or plan.strategy != _ANY for step in shared)
            if common > most:
                best, best_places, most = overlay, places, common
        if not best.laid:
            overlays.append(best)
        best.add(number, plan, pattern, best_places)
    return [_make_unit(overlay, negations) for overlay in overlays if len(overlay.laid) > 1]


def _make_unit(overlay: Overlay, negations: Negations) -> Lanes:
    """The merged plan of queries that lie over each other, and what each of them has of it."""
    lanes = tuple(overlay.lanes)
    names: dict[Reading, str] = {}
    for lane in lanes:
        for _, reading in lane.readings:
            names.setdefault(reading, f"v{len(names)}")
    own = [one.plan for one in overlay.laid]
    measures = share_measures(own, [[role * MOST_LANES + one.lane for role in one.places] for one in overlay.laid])
    steps = sorted(overlay.steps.items())
    searched = [EdgePlan(role_name(a), role_name(b), step.comparisons, step.general) for (a, b), step in steps]
    edges = (*searched, *negations.edges)
    template = Template(
        tuple(State(role, role_name(role), "") for role in range(len(overlay.readings))),
        tuple(Start(state, *guards) for state, guards in sorted(overlay.starts.items())),
        tuple(Transition(*pair, step.guard, closed=step.closed) for pair, step in steps),
        tuple(End(state, guard) for state, guard in sorted(overlay.ends.items())),
    )
    merged = merge_plans(own, names, choose_ways(template, edges, own[0].strategy), measures.columns)
    plan = replace(
        merged,
        variables=(*merged.variables, *negations.variables),
        negations=tuple(
            replace(negation, template=choose_negated_ways(negation.template, tuple(negations.edges)))
            for negation in negations.patterns
        ),
        edges=edges,
    )
    shared = tuple(_describe(pair, step, lanes) for pair, step in steps if step.compares_events)
    members, lane_of = (tuple(part) for part in zip(*((one.member, one.lane) for one in overlay.laid), strict=True))
    return Lanes(members, plan, lanes, lane_of, measures, tuple(names.items()), shared)


def role_name(role: int) -> str:
    """The variable of a role in the merged template."""
    return f"role{role}"


def _describe(pair: tuple[int, int], step: StepCondition, lanes: tuple[Lane, ...]) -> str:
    """A shared transition: who reads its states, what it asks for, and in how many lanes."""
    having = [lane for lane in lanes if pair in lane.steps]
    sides = [
        sorted({type_text(reading.type) for lane in having for at, reading in lane.readings if at == role})
        for role in pair
    ]
    asked = [f"{print_expression(c.previous)} {c.operator} NEXT {print_expression(c.next)}" for c in step.comparisons]
    asked += [print_expression(expression) for expression in step.general]
    return f"{'|'.join(sides[0])} -> {'|'.join(sides[1])} where {' AND '.join(asked)}, in {len(having)} lanes"
