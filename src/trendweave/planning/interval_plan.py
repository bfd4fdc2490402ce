"""The plan of an interval query: everything a runner needs to know, apart from the data.

Allen's thirteen relations make a network of constraints; situations of a match are looked for in an order of
evaluation (thesis, Section 5.5.4).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from trendweave.language.interval_tree import RELATIONS, IntervalColumns
from trendweave.language.syntax_tree import Expression
from trendweave.planning.plan import Path

NUMBER: dict[str, int] = {name: number for number, name in enumerate(RELATIONS)}
ANY: int = (1 << len(RELATIONS)) - 1
#: Both intervals run, and one began earlier, both at once, or the other earlier: what can still become of them.
PREFIX_GROUPS: tuple[int, ...] = (0b0000000011100, 0b0000011100000, 0b0011100000000)


def mask_of(names: Iterable[str]) -> int:
    mask = 0
    for name in names:
        mask |= 1 << NUMBER[name]
    return mask


def names_of(mask: int) -> tuple[str, ...]:
    return tuple(name for number, name in enumerate(RELATIONS) if mask >> number & 1)


def inverse(mask: int) -> int:
    """What B is to A when A is one of these to B."""
    turned = 0
    for number in range(len(RELATIONS)):
        if mask >> number & 1:
            turned |= 1 << (len(RELATIONS) - 1 - number)
    return turned


def relation_between(a_start: int, a_end: int, b_start: int, b_end: int) -> int:
    """The number of the one relation that holds between two intervals."""
    if a_end <= b_start:
        return 0 if a_end < b_start else 1
    if b_end <= a_start:
        return 12 if b_end < a_start else 11
    ends = (a_end > b_end) - (a_end < b_end)
    if a_start < b_start:
        return 3 + ends
    return (6 if a_start == b_start else 9) + ends


@cache
def _compositions() -> tuple[tuple[int, ...], ...]:
    """Allen's composition table, found by trying all orders of the six ends of three intervals."""
    intervals = [(start, end) for start in range(6) for end in range(start + 1, 6)]
    table = [[0] * len(RELATIONS) for _ in RELATIONS]
    for a in intervals:
        for b in intervals:
            first = relation_between(*a, *b)
            for c in intervals:
                table[first][relation_between(*b, *c)] |= 1 << relation_between(*a, *c)
    return tuple(map(tuple, table))


def compose(first: int, second: int) -> int:
    """What A can be to C when A is one of `first` to B and B is one of `second` to C."""
    table = _compositions()
    mask = 0
    for i in range(len(RELATIONS)):
        if first >> i & 1:
            for j in range(len(RELATIONS)):
                if second >> j & 1:
                    mask |= table[i][j]
    return mask


class Contradiction(Exception):
    """No relation is left between two names, because of what a third one demands."""

    def __init__(self, left: int, through: int, right: int, allowed: int, asked: int) -> None:
        super().__init__(left, through, right)
        self.left, self.through, self.right, self.allowed, self.asked = left, through, right, allowed, asked


def make_path_consistent(masks: list[list[int]]) -> list[list[int]]:
    """The network with every relation removed that no third name allows. Raises Contradiction where none is left."""
    count = len(masks)
    closed = [list(row) for row in masks]
    waiting = [(i, j) for i in range(count) for j in range(count) if i != j]
    while waiting:
        i, j = waiting.pop()
        for k in range(count):
            if k in (i, j):
                continue
            for left, through, right in ((i, j, k), (k, i, j)):
                allowed = compose(closed[left][through], closed[through][right])
                kept = closed[left][right] & allowed
                if kept == closed[left][right]:
                    continue
                if not kept:
                    raise Contradiction(left, through, right, allowed, closed[left][right])
                closed[left][right] = kept
                closed[right][left] = inverse(kept)
                waiting.append((left, right))
    return closed


Returns: TypeAlias = Literal["matches", "situations", "counts"]
#: Situations of one query; conditions are kept as the bits of one word.
MAX_SITUATIONS = 60


@dataclass(frozen=True, slots=True)
class SituationPlan:
    """`low` and `high` bound the length in nanoseconds. `looks_back` says that the condition uses PREV."""

    name: str
    condition: Expression | None
    low: int | None
    high: int | None
    looks_back: bool


@dataclass(frozen=True, slots=True)
class PairPlan:
    """Situation `left` (the smaller number) is one of `mask` to situation `right`, as the query says."""

    left: int
    right: int
    mask: int


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the result: a partition attribute (no function, no situation), or what is told of one situation.

    COUNT(A) and DURATION(A) have no path; COUNT(*) has no situation either.
    """

    name: str
    function: str | None
    situation: int | None = None
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class IntervalPlan:
    """The plan of an interval query.

    `allowed[i][j]` are the relations between situations i and j that are consistent with all others (path consistency).
    `groups` are the situations that constraints connect. If there are several groups, every combination of their
    matches is a match. Lengths are in nanoseconds.
    """

    text: str
    source: str | None
    intervals: IntervalColumns | None
    partition_by: tuple[Path, ...]
    situations: tuple[SituationPlan, ...]
    pairs: tuple[PairPlan, ...]
    allowed: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    within: int | None
    every: int | None
    at_end: bool
    returns: Returns
    outputs: tuple[OutputColumn, ...]
    needed_columns: tuple[Path, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(situation.name for situation in self.situations)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of partition attributes in a table of situations."""
        return tuple("_".join(path) for path in self.partition_by)

    @property
    def looks_back(self) -> bool:
        return any(situation.looks_back for situation in self.situations)

    def _repr_html_(self) -> str:
        from trendweave.planning.show.cards import make_plan_card

        return make_plan_card(self, "Plan").html()


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
