"""Allen's thirteen relations of two intervals with known ends, and whether constraints can hold together at all."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from fractions import Fraction

from .query import Constraint

Interval = tuple[float, float]

#: What each relation says of A's start and end and B's start and end.
DEFINITIONS = {
    "before": lambda a_start, a_end, b_start, b_end: a_end < b_start,
    "meets": lambda a_start, a_end, b_start, b_end: a_end == b_start,
    "overlaps": lambda a_start, a_end, b_start, b_end: a_start < b_start < a_end < b_end,
    "starts": lambda a_start, a_end, b_start, b_end: a_start == b_start and a_end < b_end,
    "during": lambda a_start, a_end, b_start, b_end: b_start < a_start and a_end < b_end,
    "finishes": lambda a_start, a_end, b_start, b_end: b_start < a_start and a_end == b_end,
    "equals": lambda a_start, a_end, b_start, b_end: a_start == b_start and a_end == b_end,
    "finished-by": lambda a_start, a_end, b_start, b_end: a_start < b_start and a_end == b_end,
    "contains": lambda a_start, a_end, b_start, b_end: a_start < b_start and b_end < a_end,
    "started-by": lambda a_start, a_end, b_start, b_end: a_start == b_start and b_end < a_end,
    "overlapped-by": lambda a_start, a_end, b_start, b_end: b_start < a_start < b_end < a_end,
    "met-by": lambda a_start, a_end, b_start, b_end: b_end == a_start,
    "after": lambda a_start, a_end, b_start, b_end: b_end < a_start,
}
RELATIONS = tuple(DEFINITIONS)

#: `A r B` says the same as `B INVERSE[r] A`.
INVERSE = {
    "before": "after",
    "meets": "met-by",
    "overlaps": "overlapped-by",
    "starts": "started-by",
    "during": "contains",
    "finishes": "finished-by",
    "equals": "equals",
}
INVERSE |= {inverse: relation for relation, inverse in INVERSE.items()}


def related(left: Interval, relation: str, right: Interval) -> bool:
    return DEFINITIONS[relation](*left, *right)


def relation_of(left: Interval, right: Interval) -> str:
    """The one relation that holds."""
    (relation,) = [relation for relation in RELATIONS if related(left, relation, right)]
    return relation


def satisfied(relations: Sequence[str], left: Interval, right: Interval) -> bool:
    """Does one of the relations hold?"""
    return any(related(left, relation, right) for relation in relations)


def can_hold(names: Sequence[str], constraints: Sequence[Constraint]) -> bool:
    """Are there intervals, of whatever lengths, for which all constraints hold?

    Tries every way to lay the interval of each next name among the end points already there.
    """
    return all(_can_extend({}, group, constraints) for group in groups(names, constraints))


def groups(names: Sequence[str], constraints: Sequence[Constraint]) -> list[list[str]]:
    """The names in groups that constraints hold together; in a group, each name is related to one before it."""
    left_over, result = list(names), []
    while left_over:
        group = [left_over.pop(0)]
        while linked := [name for name in left_over if any(_relates(c, name, group) for c in constraints)]:
            group.append(linked[0])
            left_over.remove(linked[0])
        result.append(group)
    return result


def _can_extend(chosen: dict[str, Interval], left_over: Sequence[str], constraints: Sequence[Constraint]) -> bool:
    if not left_over:
        return True
    name, *others = left_over
    known = [constraint for constraint in constraints if _relates(constraint, name, chosen)]
    for interval in _places(sorted({end for other in chosen.values() for end in other})):
        extended = {**chosen, name: interval}
        if all(satisfied(c.relations, extended[c.left], extended[c.right]) for c in known) and _can_extend(
            extended, others, constraints
        ):
            return True
    return False


def _relates(constraint: Constraint, name: str, others: Collection[str]) -> bool:
    return (constraint.left == name and constraint.right in others) or (
        constraint.right == name and constraint.left in others
    )


def _places(points: list[Fraction]) -> list[Interval]:
    """One interval for each way to lay its ends at these points, between them, before and after them."""
    if not points:
        return [(Fraction(0), Fraction(1))]
    edges = [points[0] - 1, *points, points[-1] + 1]
    gaps = [((2 * low + high) / 3, (low + 2 * high) / 3) for low, high in itertools.pairwise(edges)]
    starts = [*points, *(first for first, _ in gaps)]
    ends = [*points, *(second for _, second in gaps)]
    return [(start, end) for start in starts for end in ends if start < end]
