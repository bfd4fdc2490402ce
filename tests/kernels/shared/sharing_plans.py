"""HAMLET's model of costs (Definition 4.2), all sharing plans of some queries, and the choice among them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Burst(NamedTuple):
    """The numbers of HAMLET's Definition 4.2."""

    events: int  # b, in the burst
    window: int  # n, in the window
    queries: int  # k
    created: int  # snapshots created from the burst
    propagated: int  # snapshots propagated through the graphlet
    graphlet: int  # g, events in the graphlet
    types: int  # t, per query


def hamlet_shared(burst: Burst) -> int:
    return burst.events * burst.window * burst.propagated + burst.created * burst.queries * burst.graphlet * burst.types


def hamlet_alone(burst: Burst) -> int:
    return burst.queries * burst.events * burst.window


def hamlet_benefit(burst: Burst) -> int:
    """HAMLET, Equation 7: positive if sharing the graphlet pays."""
    return hamlet_alone(burst) - hamlet_shared(burst)


Plan = tuple[frozenset, frozenset]  # queries that share, queries that do not
Cost = Callable[[frozenset], float]  # of the shared queries together


def plans(queries: Sequence) -> list[Plan]:
    """All sharing plans (HAMLET, Figure 7): all queries that share do it together. One query alone shares nothing."""
    everyone = frozenset(queries)
    together = unions([frozenset({query}) for query in queries])
    return [(shared, everyone - shared) for shared in together if len(shared) != 1]


def plan_cost(plan: Plan, shared: Cost, alone: Callable[[object], float]) -> float:
    together, apart = plan
    return (shared(together) if together else 0.0) + sum(alone(query) for query in apart)


def cheapest(queries: Sequence, shared: Cost, alone: Callable[[object], float]) -> Plan:
    """The best of all plans: for tests, exponential."""
    return min(plans(queries), key=lambda plan: plan_cost(plan, shared, alone))


def keep_free(candidates: Sequence[Plan], free: frozenset) -> list[Plan]:
    """The snapshot-driven rule (Theorem 4.3): plans in which every query that brings no snapshots shares."""
    return [plan for plan in candidates if free <= plan[0]]


def keep_beneficial(candidates: Sequence[Plan], beneficial: frozenset, harmful: frozenset) -> list[Plan]:
    """The benefit-driven rule (Theorem 4.5): who gains by sharing shares, who loses does not."""
    return [plan for plan in candidates if beneficial <= plan[0] and harmful <= plan[1]]


def choose(queries: Sequence, free: frozenset, shared: Cost, alone: Callable[[object], float]) -> Plan:
    """The plan that both rules leave, looking at one plan per query that brings snapshots (levels 1 and 2); the best
    of all where costs are sums over queries and those without snapshots gain by sharing."""
    everyone = frozenset(queries)
    together = shared(everyone)
    chosen = {q for q in everyone - free if together <= shared(everyone - {q}) + alone(q)}
    plan = free | chosen, everyone - free - chosen
    nobody = frozenset(), everyone
    return min(plan, nobody, key=lambda plan: plan_cost(plan, shared, alone))


def unions(tracks: Sequence[frozenset]) -> list[frozenset]:
    """All sets of queries that share: whole tracks."""
    found: list[frozenset] = [frozenset()]
    for track in tracks:
        found += [shared | track for shared in found]
    return found
