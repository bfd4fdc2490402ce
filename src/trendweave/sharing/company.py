"""Why a query of a workload is computed alone: what of it no other query has, of all that has to be the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from trendweave.planning.plan import Plan, WholeInput
from trendweave.planning.situated_plan import QueryPlan
from trendweave.sharing.eligible import why_not_merged
from trendweave.sharing.graphlets import measures_of
from trendweave.sharing.lanes import MOST_LANES, Lanes, serves

_ANY = "skip-till-any-match"


class Company:
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
        reason = why_not_merged(plan)
        if reason is None:
            assert isinstance(plan, Plan), "others are not merged"
            reason = self._why_no_automaton(plan)
        return reason

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

    def _why_no_automaton(self, plan: Plan) -> str:
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
    keys = frozenset((key.path, key.nullable) for key in plan.partition_key)
    whole = isinstance(plan.window, WholeInput)
    return keys, (keys, whole), (keys, whole, measures_of(plan))
