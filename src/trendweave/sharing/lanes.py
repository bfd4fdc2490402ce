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
    AggregateColumn,
    EdgePlan,
    End,
    NegatedPattern,
    Plan,
    SlidingWindow,
    Start,
    State,
    Template,
    Transition,
    TypeColumns,
    VariablePlan,
    WholeInput,
    Window,
)
from trendweave.planning.situated_plan import QueryPlan
from trendweave.planning.ways import choose_negated_ways, choose_ways, steps_from_row_to_row
from trendweave.sharing.constants import LEAST, find_alike
from trendweave.sharing.overlay import Lane, Overlay
from trendweave.sharing.patterns import Negations, Pattern, Reading, StepCondition, find_pattern

#: Queries in one vector: bits of a mask.
MOST_LANES = 64
#: So many queries that differ in constants only are too many for lanes.
_MANY_RULES = 4 * MOST_LANES
_ANY = "skip-till-any-match"


@dataclass(frozen=True, slots=True)
class Measured:
    """An aggregate of a member: the number of the merged plan's column that has it, and the roles that it is over;
    None for COUNT(*)."""

    column: int | None
    roles: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Lanes:
    """Queries that are propagated side by side.

    Attributes:
        members: Their numbers.
        plan: The merged plan. The states of its template are roles, whose variables are none of the plan's own: those
            are how events are read, in any of the lanes.
        lanes: What each lane has of the merged template.
        lane_of: The lane of each member.
        measured: Per member and aggregate of its plan, where it is measured.
        readings: The names of the plan's variables, by how events are read.
        shared: What is shared, in a few words per transition.
    """

    kind: ClassVar[str] = "lanes"
    members: tuple[int, ...]
    plan: Plan
    lanes: tuple[Lane, ...]
    lane_of: tuple[int, ...]
    measured: tuple[tuple[Measured, ...], ...]
    readings: tuple[tuple[Reading, str], ...]
    shared: tuple[str, ...]

    @property
    def windows(self) -> tuple[Window, ...]:
        """The kinds of windows: one, as all queries have the same."""
        return (self.plan.window,)

    @property
    def query_windows(self) -> tuple[int, ...]:
        """Per query, the kind of its windows."""
        return (0,) * len(self.members)


@dataclass(slots=True)
class _Group:
    """Members whose patterns lie over each other."""

    overlay: Overlay
    members: list[int]
    lanes: dict[Lane, int]

    def add(self, member: int, pattern: Pattern, places: tuple[int, ...]) -> None:
        self.overlay.add(pattern, places)
        self.members.append(member)
        lane = self.overlay.lane(len(self.members) - 1)
        # Roles that came later are none that an earlier lane has.
        short = Lane(_trimmed(lane.readings), lane.starts, lane.ends, lane.steps)
        self.lanes.setdefault(short, len(self.lanes))


def _trimmed(readings: tuple[Reading | None, ...]) -> tuple[Reading | None, ...]:
    end = max(place for place, reading in enumerate(readings) if reading is not None) + 1
    return readings[:end]


def share_lanes(plans: Sequence[QueryPlan], left: list[int]) -> tuple[list[Lanes], list[int]]:
    """Find queries whose predecessors are searched once for all.

    Args:
        plans: All plans of a workload.
        left: The numbers of those that are in no unit yet.

    Returns:
        Units of two queries or more, and the numbers of the others.
    """
    families: dict[object, list[int]] = defaultdict(list)
    looked_up = _better_looked_up(plans, left)
    for number in left:
        plan = plans[number]
        if isinstance(plan, Plan) and number not in looked_up and serves(plan):
            families[plan.window, plan.strategy, plan.partition_key].append(number)
    units: list[Lanes] = []
    for numbers in families.values():
        if len(numbers) > 1:
            units += _overlay_family([(number, plans[number]) for number in numbers])
    taken = {member for unit in units for member in unit.members}
    return units, [number for number in left if number not in taken]


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
        and (plan.strategy != _ANY or any(edge.comparisons or edge.general for edge in _used_edges(plan)))
    )


def _used_edges(plan: Plan) -> list[EdgePlan]:
    return [plan.edge(*pair) for pair in sorted(plan.template.neighbours())]


def _overlay_family(family: list[tuple[int, QueryPlan]]) -> list[Lanes]:
    """Lay patterns over each other, each over those with which it has most in common."""
    negations = Negations()
    groups: list[_Group] = []
    plans: dict[int, Plan] = {}
    for number, plan in family:
        assert isinstance(plan, Plan)
        pattern = find_pattern(plan, negations)
        if pattern is None:
            continue
        plans[number] = plan
        best, best_places, most = None, None, 0
        for group in groups:
            if len(group.lanes) == MOST_LANES:
                continue
            places = group.overlay.place(pattern)
            shared = group.overlay.shared_steps(pattern, places)
            common = sum(step.compares_events or plan.strategy != _ANY for step in shared)
            if common > most:
                best, best_places, most = group, places, common
        if best is None or best_places is None:
            best = _Group(Overlay(), [], {})
            groups.append(best)
            best_places = tuple(range(len(pattern.readings)))
        best.add(number, pattern, best_places)
    return [_make_unit(group, plans, negations) for group in groups if len(group.members) > 1]


def _make_unit(group: _Group, plans: dict[int, Plan], negations: Negations) -> Lanes:
    """The merged plan of a group, and what each member has of it."""
    overlay, members = group.overlay, tuple(group.members)
    all_lanes = [overlay.lane(number) for number in range(len(members))]
    lanes = tuple(dict.fromkeys(all_lanes))
    names: dict[Reading, str] = {}
    for lane in lanes:
        for reading in lane.readings:
            if reading is not None:
                names.setdefault(reading, f"v{len(names)}")
    number = {lane: place for place, lane in enumerate(lanes)}
    lane_of = tuple(number[lane] for lane in all_lanes)
    columns = _Columns(next(iter(names.values())))
    measured = tuple(
        _place_aggregates(plans[member], overlay.patterns[place], overlay.places[place], lane_of[place], columns)
        for place, member in enumerate(members)
    )
    first = plans[members[0]]
    edges = (*(_edge(pair, step) for pair, step in sorted(overlay.steps.items())), *negations.edges)
    template = Template(
        tuple(State(role, role_name(role), "") for role in range(len(overlay.readings))),
        tuple(Start(state, *guards) for state, guards in sorted(overlay.starts.items())),
        tuple(Transition(*pair, step.guard, closed=step.closed) for pair, step in sorted(overlay.steps.items())),
        tuple(End(state, guard) for state, guard in sorted(overlay.ends.items())),
    )
    common = [group for group in first.groups if all(_groups_by(plans[member], group.path) for member in members)]
    plan = Plan(
        text=" | ".join(plans[member].text for member in members),
        returns="aggregates",
        strategy=first.strategy,
        window=first.window,
        variables=(*(VariablePlan(name, type_, False, local) for (type_, local), name in names.items()),
                   *negations.variables),
        templates=(choose_ways(template, edges, first.strategy),),
        negations=tuple(
            _decide(negation, tuple(negations.edges)) for negation in negations.patterns
        ),
        edges=edges,
        partition_key=first.partition_key,
        bound_keys=(),
        groups=tuple(common),
        aggregates=tuple(columns.found),
        needed_columns=_needed_columns([plans[member] for member in members]),
    )  # fmt: skip
    return Lanes(
        members,
        plan,
        lanes,
        lane_of,
        measured,
        tuple(names.items()),
        tuple(_describe(pair, step, lanes) for pair, step in sorted(overlay.steps.items()) if step.compares_events),
    )


def role_name(role: int) -> str:
    """The variable of a role in the merged template."""
    return f"role{role}"


def _place_aggregates(
    plan: Plan, pattern: Pattern, places: tuple[int, ...], lane: int, columns: _Columns
) -> tuple[Measured, ...]:
    """Where a member's aggregates are measured."""
    found: list[Measured] = []
    for column in plan.aggregates:
        if column.variable is None:
            found.append(Measured(None))
            continue
        roles = frozenset(places[state] for state, name in enumerate(pattern.variables) if name == column.variable)
        found.append(Measured(columns.number(lane, column, roles), roles))
    return tuple(found)


class _Columns:
    """Aggregates of the merged plan. One serves the same function of the same attribute in all lanes; where a lane asks
    for it of several sets of roles there are several."""

    def __init__(self, placeholder: str) -> None:
        self.found: list[AggregateColumn] = []
        self._placeholder = placeholder
        self._numbers: dict[tuple[str, object, int], int] = {}
        self._asked: dict[tuple[int, str, object], list[frozenset[int]]] = defaultdict(list)

    def number(self, lane: int, column: AggregateColumn, roles: frozenset[int]) -> int:
        asked = self._asked[lane, column.function, column.path]
        if roles not in asked:
            asked.append(roles)
        key = (column.function, column.path, asked.index(roles))
        if key not in self._numbers:
            self._numbers[key] = len(self.found)
            name = f"m{len(self.found)}"
            self.found.append(AggregateColumn(name, column.function, self._placeholder, column.path))
        return self._numbers[key]


def _decide(negation: NegatedPattern, edges: tuple[EdgePlan, ...]) -> NegatedPattern:
    return replace(negation, template=choose_negated_ways(negation.template, edges))


def _edge(pair: tuple[int, int], step: StepCondition) -> EdgePlan:
    return EdgePlan(role_name(pair[0]), role_name(pair[1]), step.comparisons, step.general)


def _groups_by(plan: Plan, path: tuple[str, ...]) -> bool:
    return any(group.path == path for group in plan.groups)


def _needed_columns(plans: Sequence[Plan]) -> tuple[TypeColumns, ...]:
    paths: dict[str | None, set[tuple[str, ...]]] = defaultdict(set)
    for plan in plans:
        for columns in plan.needed_columns:
            paths[columns.type].update(columns.paths)
    return tuple(TypeColumns(type_, tuple(sorted(needed))) for type_, needed in paths.items())


def _describe(pair: tuple[int, int], step: StepCondition, lanes: tuple[Lane, ...]) -> str:
    """A shared transition: who reads its states, what it asks for, and in how many lanes."""
    having = [lane for lane in lanes if pair in lane.steps]
    sides = [sorted({type_text(lane.readings[role][0]) for lane in having if lane.readings[role]}) for role in pair]  # type: ignore[index]
    asked = [f"{print_expression(c.previous)} {c.operator} NEXT {print_expression(c.next)}" for c in step.comparisons]
    asked += [print_expression(expression) for expression in step.general]
    return f"{'|'.join(sides[0])} -> {'|'.join(sides[1])} where {' AND '.join(asked)}, in {len(having)} lanes"
