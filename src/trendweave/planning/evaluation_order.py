"""In which order the situations of a match are looked for (thesis, Section 5.5.4).

A match is a multi-way join of situation buffers. An order is good when its intermediate results stay small; it never
joins a buffer that no constraint relates to those before, unless the pattern falls apart there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from trendweave.language.interval_tree import RELATIONS
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.relations import ANY

#: First guess of the share of pairs that have a relation (thesis, Table 5.3), in the order of RELATIONS.
_FIRST_GUESS = {"before": 0.445, "during": 0.03, "overlaps": 0.01, "equals": 0.0006}
_SELECTIVITY = tuple(
    _FIRST_GUESS.get({"after": "before", "contains": "during", "overlapped-by": "overlaps"}.get(name, name), 0.0049)
    for name in RELATIONS
)
#: Up to so many situations all orders are compared; beyond, the cheapest next step is taken.
_MOST_COMPARED = 5
SMOOTHING = 0.01
DRIFT = 0.2


def first_selectivity(mask: int) -> float:
    return sum(share for number, share in enumerate(_SELECTIVITY) if mask >> number & 1)


@dataclass(slots=True)
class Statistics:
    """Sizes of situation buffers (situations in a window) and shares of pairs that fulfil a constraint.

    Both are exponential moving averages, so that orders follow data that change.
    """

    sizes: list[float]
    shares: dict[tuple[int, int], float] = field(default_factory=dict)

    @staticmethod
    def of_plan(plan: IntervalPlan, sizes: Sequence[float] | None = None) -> Statistics:
        shares = {}
        count = len(plan.situations)
        for i in range(count):
            for j in range(i + 1, count):
                if plan.allowed[i][j] != ANY:
                    shares[i, j] = first_selectivity(plan.allowed[i][j])
        return Statistics(list(sizes) if sizes is not None else [100.0] * count, shares)

    def copy(self) -> Statistics:
        return Statistics(list(self.sizes), dict(self.shares))

    def observe_size(self, situation: int, size: float, weight: float = SMOOTHING) -> None:
        self.sizes[situation] += weight * (size - self.sizes[situation])

    def observe_share(self, pair: tuple[int, int], share: float, weight: float = SMOOTHING) -> None:
        self.shares[pair] += weight * (share - self.shares[pair])

    def drifted_from(self, other: Statistics) -> bool:
        """Has one of the numbers left the other's by more than the threshold?"""
        mine = [*self.sizes, *self.shares.values()]
        old = [*other.sizes, *other.shares.values()]
        return any(abs(a - b) > DRIFT * max(abs(b), 1e-9) for a, b in zip(mine, old, strict=True))


def step_share(statistics: Statistics, known: Sequence[int], new: int) -> float:
    share = 1.0
    for other in known:
        share *= statistics.shares.get((min(other, new), max(other, new)), 1.0)
    return share


def evaluation_order(plan: IntervalPlan, statistics: Statistics) -> tuple[int, ...]:
    """The order with the least estimated cost (equations 5.2 to 5.5)."""
    count = len(plan.situations)
    if count > _MOST_COMPARED:
        return min((_greedy(plan, statistics, start) for start in range(count)), key=lambda found: found[0])[1]
    best: dict[frozenset[int], tuple[float, float, tuple[int, ...]]] = {
        frozenset((i,)): (statistics.sizes[i], statistics.sizes[i], (i,)) for i in range(count)
    }
    for _ in range(count - 1):
        longer: dict[frozenset[int], tuple[float, float, tuple[int, ...]]] = {}
        for chosen, (cost, size, order) in best.items():
            for new in _next(plan, order):
                step, left = _step(statistics, size, order, new)
                key = chosen | {new}
                found = (cost + step, left, (*order, new))
                if key not in longer or found < longer[key]:
                    longer[key] = found
        best = longer
    return next(iter(best.values()))[2]


def order_cost(statistics: Statistics, order: tuple[int, ...]) -> float:
    """The estimated cost of an order."""
    cost = size = statistics.sizes[order[0]]
    for depth in range(1, len(order)):
        step, size = _step(statistics, size, order[:depth], order[depth])
        cost += step
    return cost


def _greedy(plan: IntervalPlan, statistics: Statistics, start: int) -> tuple[float, tuple[int, ...]]:
    order: tuple[int, ...] = (start,)
    cost = size = statistics.sizes[start]
    while len(order) < len(plan.situations):
        step, left, new = min((*_step(statistics, size, order, new), new) for new in _next(plan, order))
        cost, size, order = cost + step, left, (*order, new)
    return cost, order


def _next(plan: IntervalPlan, order: tuple[int, ...]) -> list[int]:
    """Situations that a constraint relates to those before; all others only where there is none."""
    rest = [i for i in range(len(plan.situations)) if i not in order]
    related = [i for i in rest if any(plan.allowed[i][j] != ANY for j in order)]
    return related or rest


def _step(statistics: Statistics, size: float, order: tuple[int, ...], new: int) -> tuple[float, float]:
    """(cost of the step, size of its result)"""
    buffer = max(statistics.sizes[new], 1e-9)
    left = size * buffer * step_share(statistics, order, new)
    return left + size * 4 * math.log2(2 + buffer), left
