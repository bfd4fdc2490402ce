"""CET's own model of costs, and its search space, looked through as a whole: what the optimiser is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from trendweave.programs.trends.lists.graphlet_plan import Costs, Cuts


def table_2(sizes: Sequence[int], edges_inside: Sequence[Sequence[int]]) -> Costs:
    """CET, Table 2: the worst case of 3^(n/3) trends of n events, in events stored and steps taken. What is the same
    for all plans, the graph and one trend, is left out."""
    total = sum(sizes)
    count = len(sizes)
    memory = [[0.0] * (count + 1) for _ in range(count)]
    work = [[0.0] * (count + 1) for _ in range(count)]
    for i in range(count):
        for j in range(i + 1, count + 1):
            events = sum(sizes[i:j])
            memory[i][j] = 3 ** (events / 3) * events
            work[i][j] = edges_inside[i][j] + 3 ** (events / 3)
    return Costs(tuple(sizes), memory, work, 2 * 3 ** (total / 3))


def atomic_cuts(ticks: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Vertices before which the graph can be cut (CET, Definition 6): edges across lead from vertices that nothing
    leaves before the cut to vertices that nothing reaches behind it."""
    cuts = []
    for v in range(1, len(ticks)):
        if ticks[v] == ticks[v - 1]:
            continue
        leaving = {a for a, b in edges if b < v}
        reached = {b for a, b in edges if a >= v}
        if not any(a < v <= b and (a in leaving or b in reached) for a, b in edges):
            cuts.append(v)
    return cuts


def all_plans(atoms: int) -> Iterator[Cuts]:
    """The whole search space (CET, Figure 8), by number of graphlets."""
    for inner in range(atoms):
        for cuts in combinations(range(1, atoms), inner):
            yield (0, *cuts, atoms)


def exhaustive(costs: Costs, limit: float) -> Cuts | None:
    """The plan of least work within the limit, by looking at all of them."""
    fitting = [plan for plan in all_plans(costs.atoms) if costs.memory_of(plan) <= limit]
    return min(fitting, key=costs.work_of, default=None)
