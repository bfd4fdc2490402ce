"""What a workload shares, as data: units of queries that are computed together, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from trendweave.planning.folding import plan_folding
from trendweave.planning.matches.certainty import settles_beginnings
from trendweave.planning.plan import Plan, SessionWindow, WholeInput
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.sharing.constants import Alike, share_constants
from trendweave.sharing.graphlets import Graphlets, measures_of, meeting_of, share_graphlets, why_not_merged
from trendweave.sharing.lanes import MOST_LANES, Lanes, serves, share_lanes


@dataclass(frozen=True, slots=True)
class Alone:
    """One query that shares the pass over events and nothing else; `reason` says why, in a few words."""

    kind: ClassVar[str] = "alone"
    member: int
    reason: str

    @property
    def members(self) -> tuple[int, ...]:
        return (self.member,)


Unit: TypeAlias = Alone | Alike | Graphlets | Lanes
#: Takes plans, and the numbers of those that no unit has yet; gives units.
Rule: TypeAlias = Callable[[Sequence[QueryPlan], list[int]], Sequence[Unit]]


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """How the queries of a workload are computed: each is in one unit. Queries of one text are one member."""

    plans: tuple[QueryPlan, ...]
    units: tuple[Unit, ...]


def plan_sharing(plans: Sequence[QueryPlan], lasting: bool = False, folded: Collection[int] = ()) -> SharingPlan:
    """Put each plan into a unit.

    Args:
        plans: Different plans, by number.
        lasting: Whether a state of the workload lives on while queries come and go: then those that carry something
            from step to step are alone with it.
        folded: The numbers of plans whose events that state has forgotten: they stay alone with what it knows instead.

    Returns:
        Units in the order of their first members.
    """
    kept = {number for number, plan in enumerate(plans) if lasting and (number in folded or _carries(plan))}
    members = left = [number for number in range(len(plans)) if number not in kept]
    units: list[Unit] = [Alone(number, _CARRIES) for number in sorted(kept)]
    for rule in RULES:
        units += rule(plans, left)
        taken = {member for unit in units for member in unit.members}
        left = [member for member in left if member not in taken]
    if left:
        looked_up = {member for unit in units if isinstance(unit, Alike) for member in unit.members}
        company = _Company([plans[member] for member in members if member not in looked_up])
        lanes = [unit for unit in units if isinstance(unit, Lanes)]
        units += [Alone(member, company.why_alone(plans[member], lanes)) for member in left]
    return SharingPlan(tuple(plans), tuple(sorted(units, key=lambda unit: unit.members[0])))


def keep_apart(plan: SharingPlan) -> SharingPlan:
    """The same plans where columns order events of one time: each alone, as what is shared knows times only."""
    return SharingPlan(plan.plans, tuple(Alone(member, _ORDERED) for member in range(len(plan.plans))))


def different_members(unit: Unit) -> tuple[int, ...]:
    """Members that stand for all of a unit in what they ask of events and of results: one of those that differ in
    constants only."""
    return unit.members[:1] if isinstance(unit, Alike) else unit.members


def checked_with_others(unit: Unit) -> Iterator[int]:
    """Members that fit events if others of the unit do."""
    if isinstance(unit, Alike):
        for members in unit.by_kinds:
            yield from members[1:]


_ANY = "skip-till-any-match"
_ORDERED = "columns order its events of one time"
_CARRIES = "what it remembers from step to step outlives changes of the workload"


def _carries(plan: QueryPlan) -> bool:
    """Does what a plan computes depend on more than rows that wait? On open sessions, or on beginnings that are
    settled."""
    return isinstance(plan, Plan) and (isinstance(plan.window, SessionWindow) or settles_beginnings(plan))


def folds_alone(unit: Unit, plans: Sequence[QueryPlan]) -> bool:
    """Are events of a unit folded on streams? Only those of one query are."""
    if not isinstance(unit, Alone):
        return False
    plan = plans[unit.member]
    trend = plan.trend if isinstance(plan, SituatedPlan) else plan
    return isinstance(trend, Plan) and plan_folding(trend).why_not is None


#: In the order in which they are tried.
RULES: tuple[Rule, ...] = (share_lanes, share_constants, share_graphlets)


class _Company:
    """Queries that could share with each other, counted by what has to be the same for that."""

    def __init__(self, plans: Sequence[QueryPlan]) -> None:
        self._in_lanes: Counter[Hashable] = Counter()
        self._merged: Counter[Hashable] = Counter()
        for plan in plans:
            if isinstance(plan, Plan) and serves(plan):
                self._in_lanes.update((None, *_lane_kinds(plan)))
            elif isinstance(plan, Plan) and why_not_merged(plan) is None:
                self._merged.update((None, *_merged_kinds(plan)))

    def why_alone(self, plan: QueryPlan, lanes: Sequence[Lanes]) -> str:
        """Say, in a few words, why a query is in no unit.

        Args:
            plan: The query.
            lanes: The units of queries side by side.
        """
        if isinstance(plan, Plan) and serves(plan):
            return self._why_no_lane(plan, lanes)
        return why_not_merged(plan) or self._why_no_automaton(plan)

    def _why_no_lane(self, plan: Plan, lanes: Sequence[Lanes]) -> str:
        strategy, window, keys, both = _lane_kinds(plan)
        if self._in_lanes[strategy] == 1 and plan.strategy != _ANY:
            return f"its strategy is {plan.strategy}"
        if self._in_lanes[None] == 1:
            return "it compares neighbouring events, and no other query could share the search for them"
        if any(len(unit.lanes) == MOST_LANES and both == _lane_kinds(unit.plan)[-1] for unit in lanes):
            return "as many queries as there are lanes are computed together without it"
        differing = [word for word, key in (("windows", window), ("keys", keys)) if self._in_lanes[key] == 1]
        if self._in_lanes[strategy] == 1:
            what = "has its strategy"
        elif self._in_lanes[both] == 1:
            what = f"has its {' or its '.join(differing) or 'windows and its keys'}"
        else:
            what = "with its windows and keys asks the same of two events"
        return f"of the queries that could share its search for neighbours, none {what}"

    def _why_no_automaton(self, plan: QueryPlan) -> str:
        assert isinstance(plan, Plan), "others are not merged"
        keys, windowed, measured = _merged_kinds(plan)
        if self._merged[None] == 1:
            return "no other query could be merged with it"
        if self._merged[keys] > self._merged[windowed] == 1:
            what = "those under its keys have " + ("windows" if isinstance(plan.window, WholeInput) else "no windows")
        elif self._merged[windowed] > self._merged[measured]:
            what = "none with such aggregates has a part of its pattern under the same keys"
        else:
            what = "none has a part of its pattern under the same keys"
        return f"of the queries that could be merged with it, {what}"


def _lane_kinds(plan: Plan) -> tuple[Hashable, ...]:
    """What has to be the same for lanes: the strategy, the windows of it, the keys of it, and both."""
    keys = ("keys", plan.strategy, plan.partition_key)
    return plan.strategy, ("window", plan.strategy, plan.window), keys, (plan.strategy, plan.window, plan.partition_key)


def _merged_kinds(plan: Plan) -> tuple[Hashable, ...]:
    """What has to be the same for one automaton: keys, whether there are windows, and much of what is measured."""
    meeting = meeting_of(plan)
    return meeting[0], meeting, (meeting, measures_of(plan))
