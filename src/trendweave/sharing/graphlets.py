"""Which queries are computed in one automaton: aggregates without edge predicates that have something in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from trendweave.planning.plan import Path, Plan, WholeInput, Window
from trendweave.planning.situated_plan import QueryPlan
from trendweave.sharing.eligible import why_not_merged
from trendweave.sharing.measures import find_measures, measured_kinds
from trendweave.sharing.merged import MergedQueries
from trendweave.sharing.parts import find_parts
from trendweave.sharing.prefixes import merge_prefixes

#: What is measured is measured for all queries of a unit. Two crowds of queries are one unit as long as that makes not
#: more numbers than so many times those of two units.
_MORE_NUMBERS = 1.5


@dataclass(frozen=True, slots=True)
class Graphlets:
    """Queries in one automaton; what they have in common is computed once, or side by side."""

    kind: ClassVar[str] = "graphlets"
    members: tuple[int, ...]
    merged: MergedQueries

    @property
    def windows(self) -> tuple[Window, ...]:
        """The kinds of windows."""
        return self.merged.windows

    @property
    def query_windows(self) -> tuple[int, ...]:
        """Per query, the kind of its windows."""
        return self.merged.query_windows


def share_graphlets(plans: Sequence[QueryPlan], left: list[int]) -> tuple[list[Graphlets], list[int]]:
    """Put queries that have parts in common into units.

    Args:
        plans: All plans.
        left: Those that are in no unit yet.

    Returns:
        Units, and who is still in none.
    """
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for member in left:
        plan = plans[member]
        if isinstance(plan, Plan) and why_not_merged(plan) is None:
            keys = frozenset((key.path, key.nullable) for key in plan.partition_key)
            alike[keys, isinstance(plan.window, WholeInput)].append(member)
    units = [
        unit
        for members in alike.values()
        for crowd in _by_measures(plans, members)
        if (unit := merge_queries(plans, crowd)) is not None
    ]
    taken = {member for unit in units for member in unit.members}
    return units, [member for member in left if member not in taken]


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
    merged = find_parts(merge_prefixes(own))
    sharing = _find_sharing(merged)
    if len(sharing) < 2:
        return None
    if len(sharing) < len(members):
        return merge_queries(plans, [members[query] for query in sorted(sharing)])
    return Graphlets(tuple(members), find_measures(own, merged))


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
    return frozenset((kind, column.path) for column in plan.aggregates for kind in measured_kinds(column))


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
