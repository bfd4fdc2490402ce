"""Conditions on whole matches: what they compute of each trend, and which trends meet them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.language import syntax_tree as st
from trendweave.language.syntax_tree import Expression
from trendweave.planning.matches.bounds import Bounds, find_bounds
from trendweave.planning.matches.conditions import match_columns, with_columns
from trendweave.planning.plan import AggregateColumn
from trendweave.programs.trends.aggregates import PartitionTask
from trendweave.results.each_columns import EachColumns, fold_columns
from trendweave.results.shown_trends import FoldedOutput, FoldedTrends, ShownTrends
from trendweave.results.types import column_type, single_aggregate_type


@dataclass(frozen=True, slots=True)
class MatchConditions:
    """Row expressions over a table with a row per trend; its columns are folded over the events of each."""

    conditions: tuple[Expression, ...]
    folded: EachColumns
    types: tuple[pa.DataType, ...]
    prepared: pa.Schema
    bounds: Bounds

    @staticmethod
    def of(task: PartitionTask) -> MatchConditions | None:
        """None where a plan asks nothing of whole matches."""
        plan, matched, rows = task.plan, task.preparation.matched, task.rows
        if not plan.match_conditions:
            return None
        columns = match_columns(plan.match_conditions)
        names = {aggregate: column.name for aggregate, column in columns.items()}
        # Of prepared rows: a column has the name that it was prepared under.
        aggregates = tuple(
            replace(column, path=None if name is None else (name,))
            for column, name in zip(columns.values(), matched, strict=True)
        )
        prepared = rows.table.schema
        kinds = [None if column.path is None else column_type(prepared, column.path) for column in aggregates]
        # Sums of whole numbers as decimals, which are compared exactly and hold those that 64 bits cannot.
        types = [
            single_aggregate_type(column.function, kind, "decimal")
            for column, kind in zip(aggregates, kinds, strict=True)
        ]
        folded = fold_columns(plan, aggregates, matched, rows.table)
        directions = {
            name: _direction(column, fold.values, fold.known)
            for name, column, fold in zip(names.values(), aggregates, folded.folds, strict=True)
        }
        conditions = tuple(with_columns(condition, names) for condition in plan.match_conditions)
        return MatchConditions(conditions, folded, tuple(types), prepared, find_bounds(conditions, directions))

    def choose(self, trends: ShownTrends) -> ShownTrends:
        """Keep the trends for which all conditions are true."""
        if not trends.count:
            return trends
        holds = self._are_true(self.conditions, self._tabulate(trends))
        return trends if holds.all() else trends.take(np.flatnonzero(holds))

    def judge(self, outputs: list[FoldedOutput], count: int) -> Verdict:
        """Judge trends by what was folded of each.

        Args:
            outputs: What was folded, per column.
            count: The number of trends.
        """
        nothing = np.empty(count, np.int64)
        table = self._tabulate(FoldedTrends(outputs, nothing, nothing))
        may_be_longer = np.ones(count, np.bool_)
        for bound in self.bounds.upper:
            # Of NULL nothing is known as yet.
            may_be_longer &= ~is_true(st.Inverse(bound), table)
        holds, may_be_shorter = (self._are_true(asked, table) for asked in (self.conditions, self.bounds.lower))
        return Verdict(holds, may_be_shorter, may_be_longer, np.ones(count, np.bool_))

    def _tabulate(self, trends: ShownTrends | FoldedTrends) -> pa.Table:
        names = [column.name for column in self.folded.aggregates]
        return pa.table(self.folded.write(trends, list(self.types), self.prepared, "decimal", {}), names=names)

    @staticmethod
    def _are_true(conditions: Iterable[Expression], table: pa.Table) -> np.ndarray:
        holds = np.ones(table.num_rows, np.bool_)
        for condition in conditions:
            holds &= is_true(condition, table)
        return holds


@dataclass(frozen=True, slots=True)
class Verdict:
    """Per trend: whether it meets all that is asked; whether it could were it shorter, and were it longer, and whether
    any trend of its beginning could that ends sooner."""

    holds: np.ndarray
    may_be_shorter: np.ndarray
    may_be_longer: np.ndarray
    may_end_sooner: np.ndarray


def _direction(column: AggregateColumn, values: np.ndarray | None, known: np.ndarray | None) -> int | None:
    """How a number changes while a trend grows: 1 never falls, -1 never rises, 0 stays as soon as it is known; None:
    anything."""
    if column.needs_all_values:
        return None
    if column.function == "SUM":
        assert values is not None, "a sum is one of numbers"
        added = values if known is None else values[known]
        # NaN is neither.
        return 1 if (added >= 0).all() else -1 if (added <= 0).all() else None
    return {"COUNT": 1, "MAX": 1, "MIN": -1, "FIRST": 0}.get(column.function)
