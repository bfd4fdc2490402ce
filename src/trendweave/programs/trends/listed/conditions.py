"""Conditions on whole matches: what they compute of each trend, and which trends meet them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.language.syntax_tree import Expression
from trendweave.planning.matches.conditions import match_columns, with_columns
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.results.each_columns import EachColumns, fold_columns
from trendweave.results.shown_trends import ShownTrends
from trendweave.results.types import column_type, single_aggregate_type
from trendweave.rows.encoded import EncodedRows


@dataclass(frozen=True, slots=True)
class MatchConditions:
    """Row expressions over a table with a row per trend; its columns are folded over the events of each."""

    conditions: tuple[Expression, ...]
    folded: EachColumns
    types: tuple[pa.DataType, ...]
    prepared: pa.Schema

    @staticmethod
    def of(plan: Plan, preparation: Preparation, rows: EncodedRows) -> MatchConditions | None:
        """None where a plan asks nothing of whole matches."""
        if not plan.match_conditions:
            return None
        columns = match_columns(plan.match_conditions)
        names = {aggregate: column.name for aggregate, column in columns.items()}
        # Of prepared rows: a column has the name that it was prepared under.
        aggregates = tuple(
            replace(column, path=None if name is None else (name,))
            for column, name in zip(columns.values(), preparation.matched, strict=True)
        )
        prepared = rows.table.schema
        kinds = [None if column.path is None else column_type(prepared, column.path) for column in aggregates]
        # Sums of whole numbers as decimals, which are compared exactly and hold those that 64 bits cannot.
        types = [
            single_aggregate_type(column.function, kind, "decimal")
            for column, kind in zip(aggregates, kinds, strict=True)
        ]
        return MatchConditions(
            tuple(with_columns(condition, names) for condition in plan.match_conditions),
            fold_columns(plan, aggregates, preparation.matched, rows.table),
            tuple(types),
            prepared,
        )

    def choose(self, trends: ShownTrends) -> ShownTrends:
        """Keep the trends for which all conditions are true."""
        if not trends.count:
            return trends
        names = [column.name for column in self.folded.aggregates]
        values = self.folded.write(trends, list(self.types), self.prepared, "decimal", {})
        table = pa.table(values, names=names)
        holds = np.ones(trends.count, np.bool_)
        for condition in self.conditions:
            holds &= is_true(condition, table)
        return trends if holds.all() else trends.take(np.flatnonzero(holds))
