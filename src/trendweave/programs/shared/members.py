"""Rows of several members in one table, where the number of the member is one more group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from trendweave.errors import TrendweaveError
from trendweave.planning.plan import GroupColumn
from trendweave.programs.program import PartialResults, Scope
from trendweave.programs.shared.unit import MEMBER, telling_member
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.program import TrendAggregates
from trendweave.results.partial_table import WINDOW, group_names

T = TypeVar("T")
Trends = TypeVar("Trends", bound=BoundTrends)
_NUMBER = pa.int32()


def group_by_member(program: Trends) -> Trends:
    """A program whose first group is the member."""
    groups = (GroupColumn(MEMBER, (MEMBER,), None, apart=True), *program.plan.groups)
    events = program.events.append(pa.field(MEMBER, _NUMBER))
    return replace(program, plan=replace(program.plan, groups=groups), events=events)


def by_member(table: pa.Table) -> pa.Table:
    """Rows by member, with its number in front: it stands behind the window, where a group stands."""
    table = table.select([MEMBER, *(name for name in table.column_names if name != MEMBER)])
    numbers = table.column(MEMBER).to_numpy()
    if (numbers[1:] >= numbers[:-1]).all():
        return table
    return table.take(pa.array(np.argsort(numbers, kind="stable")))


def name_member(
    table: T, numbers: np.ndarray, take: Callable[[np.ndarray], T], compute: Callable[[T], pa.Table]
) -> pa.Table:
    """Compute something of the rows of several members; where that fails, the error says whose it is.

    Args:
        table: The rows.
        numbers: The member of each.
        take: Gives some of the rows, by a mask.
        compute: What is done with them.
    """
    try:
        return compute(table)
    except TrendweaveError:
        for member in np.unique(numbers):
            with telling_member(int(member)):
                compute(take(numbers == member))
        raise


def parts_by_member(program: TrendAggregates) -> PartialResults:
    """Parts of aggregates of several members, merged by member, window and group.

    Args:
        program: Its first group is the member. Where rows are limited, groups of a window meet: those of one member.
    """
    names = group_names(program.plan)
    inner = program.parts_by(WINDOW, *(names if program.plan.limit is None else names[:1]))

    def merge(parts: pa.Table, scope: Scope) -> pa.Table:
        numbers = parts.column(names[0]).to_numpy()

        def take(own: np.ndarray) -> pa.Table:
            return parts.filter(pa.array(own))

        return by_member(name_member(parts, numbers, take, lambda some: inner.merge(some, scope)))

    return replace(inner, merge=merge)
