"""Judges of workloads: each query's rows are those of the query alone, and those of the reference twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
from hypothesis import assume

import trendweave
from tests.reference.comparer import same_value
from tests.reference.workloads.members import Member
from tests.runners.reference_tables import rows_of
from trendweave.errors import PlanningError

SHARINGS = ("auto", "always", "never")
#: What the planner refuses although it is legal, with the reason in its error.
REFUSED = {"TW206", "TW207", "TW209", "TW211", "TW223", "TW231", "TW232", "TW234", "TW236"}

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """The queries that the planner takes, alone and as one workload."""

    members: tuple[Member, ...]
    queries: Mapping[str, trendweave.Query]
    workload: trendweave.Workload

    def __str__(self) -> str:
        return "\n".join(f"-- {member.name}\n{member.written}" for member in self.members)


def planned(members: Sequence[Member], at_least: int = 2) -> Case:
    queries = {member.name: query for member in members if (query := _planned(member)) is not None}
    assume(len(queries) >= at_least)
    taken = tuple(member for member in members if member.name in queries)
    return Case(taken, queries, trendweave.workload({member.name: member.written for member in taken}))


def _planned(member: Member) -> trendweave.Query | None:
    try:
        return trendweave.query(member.written)
    except PlanningError as refused:
        assert {problem.code for problem in refused.problems} <= REFUSED, refused  # noqa: PT017
        return None


def own_rows(case: Case, member: Member, found: pa.Table) -> pa.Table:
    """The rows of one query in the table of all, with its own columns."""
    return case.workload.rows(found, member.name)


def from_united(rows: Rows, name: str, columns: Sequence[str]) -> Rows:
    """The same for rows as dicts, as push sessions give them."""
    return [{column: row[column] for column in columns} for row in rows if row["query"] == name]


# ------------------------------------------------------------------------------------------------------------ verdicts


def assert_equal_tables(expected: pa.Table, found: pa.Table, context: str, in_order: bool = True) -> None:
    """The same columns and types, the same rows in the same order; or windows in the same order, groups in any."""
    assert found.schema.names == expected.schema.names, context
    assert found.schema.types == expected.schema.types, context
    assert_equal_rows(rows_of(expected), rows_of(found), context, in_order)
    if "window_start" in expected.column_names:
        assert found.column("window_start").to_pylist() == expected.column("window_start").to_pylist(), context


def assert_equal_rows(expected: Rows, found: Rows, context: str, in_order: bool = True) -> None:
    """The same rows the same number of times, in the same order or in any; floats within the comparer's tolerance."""
    unexpected, missing = list(found), []
    for place, row in enumerate(expected):
        if in_order:
            here = [place] if place < len(found) and same(row, found[place]) else []
        else:
            here = [other for other, candidate in enumerate(unexpected) if same(row, candidate)][:1]
        if not here:
            missing.append(row)
        elif not in_order:
            del unexpected[here[0]]
    wrong = bool(missing) or len(expected) != len(found)
    assert not wrong, f"{context}\nexpected: {_shown(expected)}\nfound:    {_shown(found)}"


def same(left: Any, right: Any) -> bool:
    """As `same_value`, inside lists and rows too."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return same_value(left, right)


def _shown(rows: Rows) -> str:
    return "".join(f"\n  {row}" for row in rows) or "nothing"


def assert_tables_as_alone(case: Case, alone: Mapping[str, pa.Table], found: pa.Table, context: str) -> None:
    """One table in which queries stand in the order of the workload, each with the rows it has alone."""
    shown = found.column("query").to_pylist()
    assert shown == sorted(shown, key=[member.name for member in case.members].index), context
    assert_rows_as_alone(case, alone, found, context)


def assert_rows_as_alone(case: Case, alone: Mapping[str, pa.Table], found: pa.Table, context: str) -> None:
    """One table in which the rows of a query are together, and are those it has alone."""
    assert found.schema.names[0] == "query", context
    runs = [name for name, _ in groupby(found.column("query").to_pylist())]
    assert len(runs) == len(set(runs)), context
    for member in case.members:
        where = f"{context}, {member.name}\n{case}"
        query = member.query
        ordered = query is None or member.kind != "aggregates" or not query.group_by or bool(query.order_by)
        assert_equal_tables(alone[member.name], own_rows(case, member, found), where, ordered)
