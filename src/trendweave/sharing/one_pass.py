"""What all queries of a workload have in common before any pattern is looked at: one read, one shuffle, one evaluation
of each row expression."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from trendweave.language import syntax_tree as st
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Path, Plan
from trendweave.planning.preparation import prepare, prepare_intervals
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan


@dataclass(frozen=True, slots=True)
class KeyFamily:
    """Queries whose rows meet by the same keys: those that all of them have in common."""

    keys: tuple[Path, ...]
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OnePass:
    """`asked` row expressions and conditions of all queries together, of which `different` are evaluated."""

    families: tuple[KeyFamily, ...]
    asked: int
    different: int


def plan_pass(plans: Sequence[QueryPlan]) -> OnePass:
    """Find what queries share before they are computed.

    Args:
        plans: A plan per member.
    """
    keys = [frozenset(meeting_keys(plan)) for plan in plans]
    families, family_of = find_families(keys)
    members: list[list[int]] = [[] for _ in families]
    for number, family in enumerate(family_of):
        members[family].append(number)
    asked = [expression for plan in plans for expression in _row_expressions(plan)]
    known = tuple(
        KeyFamily(tuple(sorted(family)), tuple(found)) for family, found in zip(families, members, strict=True)
    )
    return OnePass(known, len(asked), len(set(asked)))


def meeting_keys(plan: QueryPlan) -> tuple[Path, ...]:
    """The attributes by which rows of a query must meet in one place.

    Args:
        plan: Of any kind of query.
    """
    match plan:
        case IntervalPlan():
            return plan.partition_by
        case SituatedPlan():
            return meeting_keys(plan.trend)
        case Plan():
            return plan.meeting_keys


def find_families(
    keys: Sequence[frozenset[Path]], known: Sequence[frozenset[Path]] = ()
) -> tuple[list[frozenset[Path]], list[int]]:
    """Keys by which rows can meet for several programs: those that all of a family have in common.

    Programs with many keys join one with fewer of the same; others join where a key is left in common.

    Args:
        keys: Per program, what its rows must meet by.
        known: Families that stay as they are, before all others.

    Returns:
        The keys of each family, and the family of each program: all its keys are among the program's.
    """
    families = list(known)
    for one in sorted(set(keys), key=lambda names: (len(names), sorted(names))):
        if any(_fits(family, one) for family in families):
            continue
        common = next((i for i in range(len(known), len(families)) if families[i] & one), None)
        if common is None or not one:
            families.append(one)
        else:
            families[common] &= one
    return families, [next(i for i, family in enumerate(families) if _fits(family, one)) for one in keys]


def _fits(family: frozenset[Path], keys: frozenset[Path]) -> bool:
    """Whether rows that meet by the keys of a family meet as a program with these keys asks."""
    return family <= keys and bool(family) == bool(keys)


def _row_expressions(plan: QueryPlan) -> Iterator[Hashable]:
    """What is evaluated per row: columns, and conditions with the type that they are about."""
    match plan:
        case Plan():
            made = prepare(plan)
            yield from (expression for _, expression in made.columns)
            yield from ((variable.type, one) for variable, one in zip(plan.variables, made.readable, strict=True))
        case IntervalPlan():
            ready = prepare_intervals(plan)
            yield from (st.Attribute(path) for _, path in ready.columns)
            yield from ((plan.source, one) for one in ready.now if one is not None)
        case SituatedPlan():
            yield from _row_expressions(plan.situations)
            yield from _row_expressions(plan.trend)
