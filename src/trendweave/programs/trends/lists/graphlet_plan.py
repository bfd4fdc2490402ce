"""Where to cut the graph of a segment into graphlets: least work within a memory limit (CET, Sections 5 and 6).

A plan is the list of its cuts between atomic graphlets. Costs of a graphlet add up to costs of a plan, and each
graphlet adds the same amount of work for joining, so bounds of what is left of a plan can be computed beforehand,
exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

Cuts = tuple[int, ...]

#: Atomic graphlets that branch and bound looks at, at most; more of them are cut greedily.
MAX_ATOMS = 24


@dataclass(frozen=True, slots=True)
class Costs:
    """`memory[i][j]` and `work[i][j]` are of a graphlet of atomic graphlets i to j - 1; `sizes` are their events."""

    sizes: tuple[int, ...]
    memory: Sequence[Sequence[float]]
    work: Sequence[Sequence[float]]
    work_per_graphlet: float

    @property
    def atoms(self) -> int:
        return len(self.sizes)

    def memory_of(self, plan: Cuts) -> float:
        return sum(self.memory[i][j] for i, j in _stretches(plan))

    def work_of(self, plan: Cuts) -> float:
        return sum(self.work[i][j] for i, j in _stretches(plan)) + self.work_per_graphlet * (len(plan) - 1)


def branch_and_bound(costs: Costs, limit: float, nodes: list[int] | None = None) -> Cuts | None:
    """The plan of least work within the limit (CET, Algorithm 2), level by level from few graphlets to many.

    Three prunings: levels on which even the plan of least memory does not fit; nodes whose beginning leaves no room for
    the rest (the paper calls them unbalanced, and compares sizes; here what the rest needs at least is known); branches
    that cost more than a plan that was found. `nodes` counts the nodes that were looked at.
    """
    least_memory = _least(costs.memory, costs.atoms)
    least_work = _least(costs.work, costs.atoms)
    best: Cuts | None = None
    best_work = math.inf
    for level in range(1, costs.atoms + 1):
        if least_memory[level][0] > limit:
            continue
        joining = costs.work_per_graphlet * level
        if least_work[level][0] + joining >= best_work:
            continue
        waiting: list[tuple[Cuts, float, float]] = [((0,), 0.0, joining)]
        while waiting:
            cuts, memory, work = waiting.pop()
            if nodes is not None:
                nodes[0] += 1
            at, left = cuts[-1], level - len(cuts) + 1
            if left == 0:
                if at == costs.atoms and work < best_work:
                    best, best_work = cuts, work
                continue
            last = costs.atoms - left + 1
            for cut in range(last, at, -1) if left > 1 else (costs.atoms,):
                more = memory + costs.memory[at][cut]
                harder = work + costs.work[at][cut]
                if more + least_memory[left - 1][cut] > limit or harder + least_work[left - 1][cut] >= best_work:
                    continue
                waiting.append(((*cuts, cut), more, harder))
    return best


def greedy(costs: Costs, limit: float) -> Cuts | None:
    """One nearly balanced plan per level, from the first level that may fit, until one does (CET, Section 6.2)."""
    least_memory = _least(costs.memory, costs.atoms)
    for level in range(1, costs.atoms + 1):
        if least_memory[level][0] > limit:
            continue
        plan = _nearly_balanced(costs.sizes, level)
        if costs.memory_of(plan) <= limit:
            return plan
    return None


def _nearly_balanced(sizes: Sequence[int], level: int) -> Cuts:
    """Graphlets are filled up to their share of the events one after the other."""
    cuts, total, count = [0], sum(sizes), len(sizes)
    filled = 0
    for atom in range(count):
        left = level - len(cuts)
        if left == 0:
            break
        filled += sizes[atom]
        must = count - atom - 1 == left
        if must or filled >= total * len(cuts) / level:
            cuts.append(atom + 1)
    return (*cuts, count)


def _least(costs: Sequence[Sequence[float]], atoms: int) -> list[list[float]]:
    """`[graphlets][atom]`: the least that the atoms from there on cost in so many graphlets."""
    table = [[math.inf] * (atoms + 1) for _ in range(atoms + 1)]
    table[0][atoms] = 0.0
    for graphlets in range(1, atoms + 1):
        for i in range(atoms - graphlets, -1, -1):
            table[graphlets][i] = min(
                costs[i][j] + table[graphlets - 1][j] for j in range(i + 1, atoms - graphlets + 2)
            )
    return table


def _stretches(plan: Cuts) -> Iterator[tuple[int, int]]:
    return pairwise(plan)
