"""HAMLET's benefit model and the choice of queries that share (Section 4), as printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

Plan = frozenset[str]
"""The queries that share; the others are computed one by one. A plan shares none, or at least two."""


@dataclass(frozen=True)
class Burst:
    """The numbers of Table 2 that the model looks at."""

    events: int  # b, of the burst
    window: int  # n, events of the window so far
    graphlet: int  # g, events of the graphlet
    types: int  # t, types per query


def shared_cost(burst: Burst, queries: int, created: int, propagated: int) -> int:
    """Definition 4.2: b * n * s_p + s_c * k * g * t."""
    return burst.events * burst.window * propagated + created * queries * burst.graphlet * burst.types


def non_shared_cost(burst: Burst, queries: int) -> int:
    """Definition 4.2: k * b * n."""
    return queries * burst.events * burst.window


def benefit(burst: Burst, queries: int, created: int, propagated: int) -> int:
    """Equation 7; above zero, sharing pays."""
    return non_shared_cost(burst, queries) - shared_cost(burst, queries, created, propagated)


# ------------------------------------------------------------------------------------------------ which queries share

Cost = Callable[[Plan], int]


def plans(queries: Iterable[str]) -> list[Plan]:
    """Figure 7: every set of at least two queries that share, and the plan in which nobody does."""
    names = sorted(queries)
    groups = [frozenset(group) for size in range(2, len(names) + 1) for group in combinations(names, size)]
    return [*groups, frozenset()]


def printed_cost(burst: Burst, introduced: Mapping[str, int]) -> Cost:
    """Shared(Q_E) + NonShared(Q_N), if each query brings that many snapshots due to its predicates.

    One more comes with the graphlet, and all of them have a value for each query that shares.
    """

    def cost(plan: Plan) -> int:
        snapshots = 1 + sum(introduced[query] for query in plan)
        shared = shared_cost(burst, len(plan), snapshots, snapshots) if plan else 0
        return shared + non_shared_cost(burst, len(introduced) - len(plan))

    return cost


def added_cost(alone: int, fixed: int, prices: Mapping[str, int]) -> Cost:
    """Costs that add up: sharing has a price once, and each query that shares one of its own instead of `alone`."""

    def cost(plan: Plan) -> int:
        shared = fixed + sum(prices[query] for query in plan) if plan else 0
        return shared + alone * (len(prices) - len(plan))

    return cost


def exhaustive(queries: Iterable[str], cost: Cost) -> Plan:
    """The cheapest of all plans; of equally cheap ones that of most queries."""
    return min(plans(queries), key=lambda plan: (cost(plan), -len(plan), sorted(plan)))


def framed(introduced: Mapping[str, int]) -> list[Plan]:
    """Snapshot-driven pruning (Theorem 4.3, Example 4.4): the plans that share all queries without new snapshots."""
    free = {query for query, number in introduced.items() if number == 0}
    return [plan for plan in plans(introduced) if free <= plan]


def pruned(introduced: Mapping[str, int], cost: Cost) -> Plan:
    """Both principles (Examples 4.4 and 4.6): only levels 1 and 2 are looked at.

    A query with new snapshots shares if the plan of all queries is not dearer than the plan without it.
    """
    everybody = frozenset(introduced)
    kept = frozenset(
        query for query, number in introduced.items() if number == 0 or cost(everybody) <= cost(everybody - {query})
    )
    return kept if len(kept) > 1 else frozenset()
