"""The rows of one query, or of each query of a workload: what tells them apart, in which order they are, how they are
told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trendweave import IntervalPlan, Query
from trendweave.cli.options import Asked
from trendweave.cli.tables import write_cell

#: The column of a workload's result that tells whose a row is.
QUERY = "query"
#: Columns that tell windows apart.
_OF_WINDOWS = ("window_start", "window_end", "time")


@dataclass(frozen=True, slots=True)
class Answers:
    """Rows of a workload. Per query, the columns that tell its rows apart, all that it has, and those of groups; the
    name of a query that runs alone is empty."""

    keys: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries; none where there is nothing to tell apart."""
        return tuple(self.keys) if "" not in self.keys else ()

    def _whose(self, row: Mapping[str, Any]) -> str:
        return "" if "" in self.keys else row[QUERY]

    def key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """What tells a row apart from others."""
        whose = self._whose(row)
        return (whose, *(row[name] for name in self.keys[whose]))

    def tell(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row without the columns of other queries."""
        whose = self._whose(row)
        return {name: row[name] for name in (QUERY, *self.columns[whose])} if whose else row

    def sort(self, rows: pa.Table) -> pa.Table:
        """Rows by query, and those of each by what tells them apart."""
        if "" in self.keys:
            return _sort_by(rows, self.keys[""])
        whose = rows.column(QUERY)
        present = set(whose.unique().to_pylist())
        parts = [_sort_by(rows.filter(pc.equal(whose, name)), self.keys[name]) for name in self.keys if name in present]
        return pa.concat_tables(parts) if parts else rows

    def show(self, rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table:
        """Rows as a table for a terminal, which has no room for the columns of all queries."""
        if "" in self.keys:
            return pa.Table.from_pylist(list(rows), schema=schema)
        told = [", ".join(f"{name} {write_cell(row[name])}" for name in self.columns[row[QUERY]]) for row in rows]
        whose = pa.array([row[QUERY] for row in rows], pa.string())
        return pa.table({QUERY: whose, "row": pa.array(told, pa.string())})


def describe_answers(asked: Asked, result: Any, time: str, type_: str | None) -> Answers:
    """What tells the rows of a result apart.

    Args:
        asked: What was run.
        result: Its result: an Arrow table, or a Spark DataFrame.
        time: The column of time that it was run with.
        type_: The column of the type.
    """
    if isinstance(asked, Query):
        queries, columns = {"": asked}, {"": _columns(result)}
    else:
        queries = {name: asked[name] for name in asked}
        columns = {name: _columns(asked.rows(result, name, time, type_)) for name in asked}
    keys = {name: _keys(queries[name], own) for name, own in columns.items()}
    return Answers(keys, columns, {name: _groups(queries[name], own) for name, own in columns.items()})


def _sort_by(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Rows ordered by some columns; as they are where there are none."""
    return rows.sort_by([(name, "ascending") for name in names]) if names else rows


def _columns(result: Any) -> tuple[str, ...]:
    return tuple(result.column_names if isinstance(result, pa.Table) else result.columns)


def _keys(query: Query, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(columns[: len(columns) - query.value_count])


def _groups(query: Query, columns: Sequence[str]) -> tuple[str, ...]:
    plan = query.plan
    if isinstance(plan, IntervalPlan):
        return tuple(output.name for output in plan.outputs if output.function is None)
    return tuple(name for name in _keys(query, columns) if name not in _OF_WINDOWS)
