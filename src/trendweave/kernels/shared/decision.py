"""When sharing pays: HAMLET's model (Section 4) and ours, and the choice of the queries that share.

HAMLET counts the events that each event looks back at. Here nothing looks back: in the query basis a row costs some
work per lane (query and window), in the shared basis some work per pair of registers and positions, and every lane
some work once per burst, when what came in is multiplied by the burst's factors. Both are sums over tracks (queries
that read the same rows of the burst), so what is best for each track is best for all.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from trendweave.kernels.compiling import inner

# Manners of bursts: of a single state that only counts, whose rows all members read, or not all; any other.
ANY, PLAIN, PARTED = 0, 1, 2

# Nanoseconds, measured on one core with 10 and 50 queries and bursts of 1 to 400 rows.
BEGIN_PLAIN, BEGIN = 90.0, 180.0  # to begin a track and to end it
ROW_SHARED_PLAIN, ROW_SHARED_PARTED, ROW_SHARED = 2.0, 45.0, 20.0
FACTOR_PER_ROW = 3.0
FLUSH = 20.0
FACTOR_PER_NUMBER = 0.2
PIECE = 3.0
ROW_ALONE_PLAIN, ROW_ALONE_PARTED, ROW_ALONE = 4.5, 20.0, 40.0
NUMBER_PER_ROW_PLAIN, NUMBER_PER_ROW_PARTED, NUMBER_PER_ROW = 0.1, 0.2, 0.3
ROWS_PER_FLUSH = 30.0  # of exact numbers: factors that double with each row stay below 2**32


@inner
def cost_shared(rows, registers, positions, parts, numbers, pieces, manner, flushes):
    """Of a burst's rows for a track with so many numbers (lanes times limbs) in so many pieces."""
    factors = registers * (registers + positions) * (2 * parts - 1)
    once = flushes * (FLUSH + PIECE * pieces * factors + FACTOR_PER_NUMBER * factors * numbers)
    if manner == PLAIN:
        return once + BEGIN_PLAIN + rows * ROW_SHARED_PLAIN
    if manner == PARTED:
        return once + BEGIN + rows * ROW_SHARED_PARTED
    return once + BEGIN + rows * (ROW_SHARED + FACTOR_PER_ROW * factors)


@inner
def cost_alone(rows, registers, positions, parts, numbers, pieces, manner):
    """Of the same rows in the query basis."""
    if manner == PLAIN:
        return rows * (ROW_ALONE_PLAIN + NUMBER_PER_ROW_PLAIN * numbers)
    if manner == PARTED:
        return rows * (ROW_ALONE_PARTED + PIECE * pieces + NUMBER_PER_ROW_PARTED * numbers)
    vectors = (2 * parts - 1) * (1 + registers / positions) / 2
    return rows * (ROW_ALONE + vectors * (PIECE * pieces + NUMBER_PER_ROW * numbers))


@inner
def sharing_pays(rows, registers, positions, parts, numbers, pieces, manner, exact):
    """The decision for one track of one burst."""
    flushes = 1.0 + rows // ROWS_PER_FLUSH if exact else 1.0
    shared = cost_shared(rows, registers, positions, parts, numbers, pieces, manner, flushes)
    return shared < cost_alone(rows, registers, positions, parts, numbers, pieces, manner)


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


def choose_tracks(tracks: Sequence[frozenset], shared: Cost, alone: Callable[[object], float]) -> Plan:
    """The choice that the kernel makes: queries on one track bring no snapshots to each other and go together, and
    costs are sums over tracks, so that each track decides for itself."""
    chosen = [track for track in tracks if shared(track) < sum(alone(query) for query in track)]
    together = frozenset().union(*chosen)
    return together, frozenset().union(*tracks) - together


def unions(tracks: Sequence[frozenset]) -> list[frozenset]:
    """All sets of queries that share: whole tracks."""
    found: list[frozenset] = [frozenset()]
    for track in tracks:
        found += [shared | track for shared in found]
    return found
